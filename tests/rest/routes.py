"""Every call of the REST door with an example of its use; a new call without an entry fails the tests."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import Any

from fluxcore import clock
from memory.grains.models import Cluster, Grain, Judged, Trace, Vote
from memory.grains.receipt import packed
from tests.conftest import Api


@dataclass(frozen=True)
class Route:
    method: str
    route: str  # as the table of addresses has it
    needs: str | None = None  # the capability
    body: Any = None
    open: bool = False  # to everybody, without a token
    ignores_token: bool = False  # an open call that does not even look at it

    @property
    def path(self) -> str:
        """Below the door, with {grain}, {trace} and {cluster} for ids that exist."""
        return re.sub(r"<\w+:(\w+)>", r"{\1}", self.route)

    def url(self, prefix: str, grain: str = "") -> str:
        made = (voted_on if self.method == "DELETE" else trace_of) if "{trace}" in self.path else str
        cluster = cluster_of(grain) if "{cluster}" in self.path else ""
        return prefix + self.path.format(grain=grain, trace=made(grain), cluster=cluster)

    def call(self, api: Api, prefix: str = "/", grain: str = "", headers: dict[str, str] | None = None) -> Any:
        if self.method == "GET":
            return api.get(self.url(prefix, grain), headers=headers)
        if self.method == "DELETE":
            return api.delete(self.url(prefix, grain), headers=headers)
        return api.post(self.url(prefix, grain), self.said(grain), headers=headers)

    def said(self, grain: str = "") -> Any:
        """The body, made for a grain where it names one."""
        return self.body(grain) if callable(self.body) else self.body


def trace_of(grain: str) -> str:
    """The receipt of a recall that the agent alice made in the grain's space; any id where there is no grain."""
    found = Grain.objects.filter(uuid=grain).first() if len(grain) == 36 else None
    if found is None:
        return str(uuid.uuid4())
    body = packed({"features": [], "terms": [], "k": 5, "bounds": {}, "weights": {}, "caps": [], "fallback": False,
                   "grains": [_returned(grain)]})  # fmt: skip
    made = Trace.objects.create(
        space_id=found.space_id, actor="agent:alice", at=clock.now(), query="q", rung="warm", confidence=0,
        hop_count=0, body=body, rated=False,
    )  # fmt: skip
    return str(made.uuid)


def cluster_of(grain: str) -> str:
    """A cluster in the grain's space; any id where there is no grain."""
    found = Grain.objects.filter(uuid=grain).first() if len(grain) == 36 else None
    if found is None:
        return str(uuid.uuid4())
    moment = clock.now()
    given = {"name": "a, b, c", "made_at": moment, "changed_at": moment}
    made, _ = Cluster.objects.get_or_create(space_id=found.space_id, layer=0, defaults=given)
    return str(made.uuid)


def _returned(grain: str) -> dict[str, Any]:
    return {"id": grain, "score": 0.5, "source": "words", "parts": {}, "matched": [], "path": [], "same": 0}


def a_vote(grain: str = "") -> dict[str, Any]:
    return {"trace_id": trace_of(grain), "grain_id": grain or str(uuid.uuid4()), "useful": True}


def voted_on(grain: str) -> str:
    """A trace whose asker, alice, has judged the grain."""
    trace, found = trace_of(grain), Grain.objects.filter(uuid=grain).first() if len(grain) == 36 else None
    if found is not None:
        judged = Judged.objects.create(
            uuid=trace, space_id=found.space_id, actor="agent:alice", asked_at=clock.now(), query="q", terms=b""
        )
        Vote.objects.create(
            space_id=found.space_id, judged=judged, grain=found, useful=True, strength=1, scale=1, at=clock.now()
        )
    return trace


# A call that is not open and needs no capability is for every agent.
ROUTES: dict[str, Route] = {
    f"{one.method} {one.route}": one
    for one in (
        Route("GET", "", open=True, ignores_token=True),
        Route("POST", "store", "grains.write", {"content": "stored by the table of routes"}),
        Route("POST", "store/batch", "grains.write", {"items": [{"content": "a batch of one"}]}),
        Route("POST", "retrieve", "grains.read", {"query": "what the table of routes knows"}),
        Route("GET", "traces/<str:trace>", "grains.read"),
        Route("POST", "feedback", "grains.feedback", a_vote),
        Route("POST", "feedback/batch", "grains.feedback", lambda grain: {"items": [a_vote(grain)]}),
        Route("DELETE", "feedback/<str:trace>/<str:grain>", "grains.feedback"),
        Route("GET", "pending_feedback", "grains.feedback"),
        Route("GET", "grains", "grains.read"),
        Route("GET", "grains/<str:grain>", "grains.read"),
        Route("POST", "grains/<str:grain>/pin", "grains.manage", {"reason": "it matters"}),
        Route("POST", "grains/<str:grain>/unpin", "grains.manage", {}),
        Route("POST", "grains/<str:grain>/close", "grains.manage", {"reason": "no longer so"}),
        Route("POST", "grains/<str:grain>/archive", "grains.manage", {"reason": "done with"}),
        Route("POST", "grains/<str:grain>/restore", "grains.manage", {}),
        Route("POST", "grains/<str:grain>/quarantine", "grains.manage", {"reason": "doubtful"}),
        Route("POST", "grains/<str:grain>/release", "grains.manage", {}),
        Route("POST", "grains/<str:grain>/delete", "grains.manage", {"reason": "wrong"}),
        Route("POST", "grains/<str:grain>/undelete", "grains.manage", {}),
        Route("GET", "clusters", "grains.read"),
        Route("GET", "clusters/<str:cluster>", "grains.read"),
        Route("GET", "me"),
        Route("GET", "grant-requests"),
        # The one capability no other call and no test of callers holds, so that there is something to ask for.
        Route("POST", "grant-requests", body={"capability": "transcript.read:asked/for", "reason": "to look"}),
        Route("GET", "health", open=True),
        Route("GET", "readyz", open=True, ignores_token=True),
        Route("GET", "metrics", "metrics.read"),
    )
}


def plain(answer: Any) -> tuple[int, dict[str, str], Any]:
    """An answer without what differs from request to request."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    headers.pop("x-request-id", None)
    if headers["content-type"] != "application/json":
        return answer.status_code, headers, answer.content
    body = json.loads(answer.content) if answer.content else None
    if isinstance(body, dict):
        body.pop("trace_id", None)
    if isinstance(body, dict) and "request_id" in body:
        assert body.pop("request_id") == answer.headers["X-Request-Id"]
    return answer.status_code, headers, body


def refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The one error shape; its details."""
    assert answer.status_code == status, (answer.status_code, answer.content[:500])
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"code", "message", "details", "request_id"}
    assert body["code"] == code, body
    assert isinstance(body["message"], str) and body["message"] and isinstance(body["details"], dict)
    assert body["request_id"] == answer.headers["X-Request-Id"]
    assert b"Traceback" not in answer.content and b'File "' not in answer.content
    return dict(body["details"])
