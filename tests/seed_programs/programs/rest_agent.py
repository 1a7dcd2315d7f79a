"""An agent that keeps its notes over flux-memory's REST API, with nothing but the standard library.

The one line its author had to add: the Authorization header.
"""

import json
import os
import urllib.error
import urllib.request


def call(method, path, body=None, caller="agent-name"):
    request = urllib.request.Request(os.environ["FLUX_URL"] + path, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['FLUX_TOKEN']}")
    request.add_header("X-Caller-Id", caller)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, json.dumps(body).encode() if body is not None else None) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


_, root = call("GET", "/")
_, health = call("GET", root["health"])
_, stored = call("POST", "/store", {"content": "The plumber comes on Friday", "provenance": "user_stated"})
_, again = call("POST", "/store", {"content": "The plumber comes on Friday", "provenance": "user_stated"})
_, batch = call("POST", "/store/batch", {"items": [{"content": "Milk is out"}, {"content": "Rent is due"}]})
_, found = call("POST", "/retrieve", {"query": "When does the plumber come?"})
_, voted = call(
    "POST", "/feedback", {"trace_id": found["trace_id"], "grain_id": found["grains"][0]["id"], "useful": True}
)
_, listed = call("GET", "/grains?status=active&limit=50")
first = [call("POST", "/store", {"content": f"chore {n}"}, caller="first")[0] for n in range(7)]
second = [call("POST", "/store", {"content": f"errand {n}"}, caller="second")[0] for n in range(1)]
bad = [call("POST", "/store", body)[0] for body in ({}, {"content": "   "}, {"content": "x", "provenance": "mine"})]

print(
    json.dumps(
        {
            "name": root["name"],
            "health": "status" in health,
            "actions": [stored["action"], again["action"]],
            "same": stored["grain_id"] == again["grain_id"],
            "batch": [batch["count"], len(batch["grain_ids"])],
            "found": found["grains"][0]["id"] == stored["grain_id"],
            "answer": sorted(found)[:6],
            "grain": sorted(found["grains"][0])[:4],
            "voted": [voted["ok"], voted["action"], voted["signal"] > 0],
            "listed": "The plumber comes on Friday" in [one["content_snippet"] for one in listed["grains"]],
            "first": first,
            "second": second,
            "bad": bad,
        }
    )
)
