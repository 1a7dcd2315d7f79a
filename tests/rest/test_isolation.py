"""Three spaces, two agents each, canaries of each, every read path: no agent meets a canary of another space."""

from __future__ import annotations

import re
from itertools import product

from fluxcore import errors
from memory.grains.models import Grain
from tests.concurrency.databases import few_or_many
from tests.rest.routes import ROUTES

SPACES, AGENTS = ("north", "south", "west"), ("anna", "bert")
CAPABILITIES = ("grains.read", "grains.write", "health.read", "metrics.read")
CANARY = re.compile(rb"canary-(\w+)-\w+-\d+")


@few_or_many("canaries", 8, 30)
def test_no_read_path_shows_a_foreign_canary(make_token, as_agent, configure, canaries):
    configure(MAX_GRAINS_PER_MINUTE=10_000)
    callers = {
        (space, name): as_agent(make_token(name, space=space, capabilities=CAPABILITIES))
        for space, name in product(SPACES, AGENTS)
    }
    planted: dict[tuple[str, str], list[str]] = {}
    for (space, name), api in callers.items():
        items = [{"content": f"canary-{space}-{name}-{n}"} for n in range(canaries)]
        body = {"items": items, "caller_id": f"canary-{space}-{name}-999", "reason": f"canary-{space}-{name}-998"}
        planted[space, name] = api.post("/store/batch", body).json()["grain_ids"]
    assert Grain.objects.count() == len(SPACES) * len(AGENTS) * canaries

    reads, own, foreign = 0, 0, []
    cursors = [api.get("/grains", limit=5).json()["next_cursor"] for api in callers.values()]
    for (space, name), api in callers.items():

        def look(answer, space=space, name=name):
            nonlocal reads, own
            reads += 1
            assert answer.status_code < 500
            seen = answer.content + repr(sorted(answer.headers.items())).encode()
            for found in CANARY.finditer(seen):
                if found.group(1).decode() == space:
                    own += 1
                else:
                    foreign.append((space, name, found.group()))
            return answer

        for (other, _), grains in planted.items():
            for grain in grains:
                for path in (f"/grains/{grain}", f"/api/v1/grains/{grain.upper()}"):
                    answer = look(api.get(path))
                    assert answer.status_code == (200 if other == space else 404)
        for status, limit in product(Grain.Status.values, (1, 50, 200)):
            look(api.get("/grains", status=status, limit=limit))
        for cursor in cursors:
            page = look(api.get("/grains", cursor=cursor, limit=200))
            assert page.json()["count"] <= len(AGENTS) * canaries
        for other in SPACES:
            # What a hostile caller would try: naming the other space everywhere it can.
            for headers in ({"X-Caller-Id": f"{other}/agent:anna"}, {"X-Space": other}, {"Cookie": f"space={other}"}):
                look(api.get("/grains", headers=headers, limit=200))
            for query in ({"space": other}, {"status": f"active' OR space='{other}"}, {"cursor": other}):
                assert look(api.get("/grains", **query)).status_code == errors.Invalid.status
            for body in ({"space": other}, {"space_id": 1}, {"agent": "anna"}):
                look(api.post("/store", {"content": "mine", **body}))
        for route in ROUTES.values():
            if route.method == "GET" and "{grain}" not in route.path:
                answer = route.call(api)
                if "grains" not in route.path:
                    look(answer)
        metrics = api.get("/metrics").content.decode()
        mine = Grain.objects.filter(space__name=space).count()
        assert re.search(rf"(?m)^flux_grains {float(mine)}$", metrics)
    print(f"{reads} reads, {own} own canaries seen, {len(foreign)} foreign")
    assert foreign == []
    assert own >= len(callers) * len(AGENTS) * canaries


def test_storing_a_foreign_text_does_not_say_that_it_is_known(make_token, as_agent):
    owner, stranger = as_agent(make_token("anna", space="north")), as_agent(make_token("anna", space="south"))
    first = owner.post("/store", {"content": "a guess"}, headers={"Idempotency-Key": "k"}).json()
    second = stranger.post("/store", {"content": "a guess"}, headers={"Idempotency-Key": "k"}).json()
    assert second["status"] == "stored"
    assert second["grain_id"] != first["grain_id"]
    assert owner.get(f"/grains/{first['grain_id']}").json()["corroborations"] == 0
