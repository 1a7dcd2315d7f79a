"""Table of all REST calls with an example of each; a new call without an entry fails the tests."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from accounts.capabilities import SCOPED, parsed
from accounts.models import Agent, Space
from accounts.principals import shell
from flux.calls import registry
from flux.calls.base import Call, CallAtPlace, calls_at_places
from fluxcore import clock
from memory.api.calls import route
from memory.artifacts import files, stores, transcripts
from memory.artifacts.contents import NewContent
from memory.artifacts.models import Content, File, FileChange, Message, Store
from memory.grains.models import Cluster, Grain, JudgedQuestion, Trace, Vote
from memory.keyvalue import locks, queues, verbs
from memory.keyvalue.models import Lock, Namespace, Task
from memory.recall.trace_record import pack_trace
from memory.review import kinds
from memory.review.models import ReviewItem
from tests.conftest import Api


@dataclass(frozen=True)
class Route:
    method: str
    route: str  # as the table of addresses has it
    needs: str | None = None  # the capability
    body: Any = None
    open: bool = False  # to everybody, without a token
    ignores_token: bool = False  # an open call that does not even look at it
    missing: str = ""  # as the refusal names it, where that is more than the capability
    besides: tuple[str, ...] = ()  # capabilities it takes beside its own
    query: str = ""
    names: dict[str, str] = field(default_factory=dict)  # of the address, where it is not one of those made here

    @property
    def scope(self) -> str:
        """Names within which the call of the table is."""
        domain = (self.needs or "").partition(".")[0]
        return {"artifacts": f"{STORE}/**", "transcript": STORE}.get(domain, "kept/**")

    @property
    def refusal(self) -> str | None:
        return self.missing or self.needs

    @property
    def path(self) -> str:
        """Below the door, with {grain}, {trace} and the like for what exists."""
        return re.sub(r"<\w+:(\w+)>", r"{\1}", self.route)

    @property
    def named(self) -> bool:
        """Whether its capability is held for single names."""
        return (self.needs or "").partition(".")[0] in SCOPED

    def url(self, prefix: str, grain: str = "") -> str:
        made = (voted_on if self.method == "DELETE" else trace_of) if "{trace}" in self.path else str
        cluster = cluster_of(grain) if "{cluster}" in self.path else ""
        item = ""
        if "stores" in self.route:
            a_store(self)
        elif "{item}" in self.path:
            item = an_item(self)
        elif self.named:
            remember(self.method)
        board = a_board() if self.route == "boards/<str:board>" else "main"
        return (
            prefix
            + self.path.format(
                **{
                    "agent": "alice",
                    "board": board,
                    "key": KEY,
                    "cluster": cluster,
                    "store": STORE,
                    "path": FILE,
                    "item": item,
                    **self.names,
                },
                grain=grain,
                trace=made(grain),
            )
            + self.query
        )

    def call(self, api: Api, prefix: str = "/", grain: str = "", headers: dict[str, str] | None = None) -> Any:
        if self.method == "GET":
            return api.get(self.url(prefix, grain), headers=headers)
        if self.method == "DELETE":
            return api.delete(self.url(prefix, grain), headers=headers)
        return api.send(self.method, self.url(prefix, grain), self.said(grain), headers)

    def said(self, grain: str = "") -> Any:
        """The body, made for a grain where it names one."""
        return self.body(grain) if callable(self.body) else self.body


def trace_of(grain: str) -> str:
    """Id of the trace of a recall by agent alice in the grain's space; any id without a grain."""
    found = Grain.objects.filter(uuid=grain).first() if len(grain) == 36 else None
    if found is None:
        return str(uuid.uuid4())
    body = pack_trace(
        {
            "features": [],
            "terms": [],
            "k": 5,
            "bounds": {},
            "weights": {},
            "caps": [],
            "fallback": False,
            "grains": [_returned(grain)],
        }
    )
    made = Trace.objects.create(
        space_id=found.space_id,
        actor="agent:alice",
        at=clock.now(),
        query="q",
        rung="warm",
        confidence=0,
        hop_count=0,
        body=body,
        rated=False,
    )
    return str(made.uuid)


KEY = "kept/by the table"
STORE, FILE = "notes", "a.md"


def no_lock() -> dict[str, Any]:
    """Name of a lock that nobody holds."""
    Lock.objects.all().delete()
    return {"lock": KEY}


def a_lock() -> dict[str, Any]:
    """Name of a lock that alice holds."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is None:
        return {"lock": KEY, "token": 1}
    who = replace(shell(agent.space), kind="agent", name="alice", capabilities=parsed(("bb.write",)), agent=agent.pk)
    Lock.objects.update(holder="")
    return {"lock": KEY, "token": locks.acquire(who, lock=KEY)["token"]}


def a_board() -> str:
    """Name of a board that alice has created."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is not None:
        given = {"created_by": "agent:alice", "created_at": clock.now()}
        Namespace.objects.get_or_create(space=agent.space, kind="board", name="disposable", defaults=given)
    return "disposable"


def a_task() -> dict[str, Any]:
    """Id of a task that alice has claimed."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is None:
        return {"queue": KEY, "task": str(uuid.uuid4()), "token": 1}
    held = parsed(("bb.read", "bb.write"))
    who = replace(shell(agent.space), kind="agent", name="alice", capabilities=held, agent=agent.pk)
    Task.objects.all().delete()
    queues.add(who, queue=KEY, value=1)
    claimed = queues.claim(who, queue=KEY)
    return {"queue": KEY, "task": claimed["task"], "token": claimed["token"]}


def remember(method: str) -> None:
    """Something exact under the one key of the table: the agent alice's own and on the board, with a history."""
    space = Space.objects.filter(agents__name="alice").first()
    for where in ("agents/alice", "boards/main") if space else ():
        verbs.set_key(shell(space), place=where, key=KEY, value=1)


def a_store(route: Route) -> None:
    """The one store of the table with a file in a folder and one beside it, or what the call needs instead."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is None:
        return
    for model in (Message, FileChange, File, Content, Store):
        model.objects.all().delete()
    if route.route == "stores":
        return
    held = parsed(("artifacts.write", "transcript.write"))
    who = replace(shell(agent.space), kind="agent", name="alice", capabilities=held, agent=agent.pk)
    stores.create_store(who, key=STORE)
    if "<text:path>" in route.route or route.route.endswith(("move", "delete")):
        for path in (FILE, "old/b.md"):
            files.put_file(who, store=STORE, path=path, content=NewContent.of(b"kept by the table"))
    if route.route.endswith("undelete"):
        stores.delete_store(who, store=STORE)


def an_item(route: Route) -> str:
    """Id of a proposal for the file of the table: alice's own to read it, carl's to decide it."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is None:
        return str(uuid.UUID(int=0))
    ReviewItem.objects.all().delete()
    for model in (Message, FileChange, File, Content, Store):
        model.objects.all().delete()
    stores.create_store(shell(agent.space), key=STORE, staging_prefix="proposals")
    held, name = parsed(("artifacts.write",)), "alice" if route.method == "GET" else "carl"
    who = replace(shell(agent.space), kind="agent", name=name, capabilities=held)
    content = NewContent.of(b"proposed by the table")
    return str(files.put_file(who, store=STORE, path=f"proposals/{FILE}", content=content)["proposal"])


def a_decision() -> dict[str, Any]:
    """Body of the acceptance of the one open item."""
    item = ReviewItem.objects.first()
    return {"seen": "unknown" if item is None else kinds.find(item.kind).describe(item)["seen"]}


def a_removal() -> dict[str, Any]:
    """A removal of alice's messages that can be undone."""
    agent = Agent.objects.filter(name="alice").select_related("space").first()
    if agent is None:
        return {"removal": "0" * 32}
    held = parsed(("artifacts.write", "transcript.write"))
    who = replace(shell(agent.space), kind="agent", name="alice", capabilities=held, agent=agent.pk)
    transcripts.append_messages(who, store=STORE, messages=[{"role": "user"}], create=True)
    return {"removal": transcripts.clear_messages(who, store=STORE)["removal"]}


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
    """Id of a trace of alice with a vote of hers on the grain."""
    trace, found = trace_of(grain), Grain.objects.filter(uuid=grain).first() if len(grain) == 36 else None
    if found is not None:
        judged = JudgedQuestion.objects.create(
            uuid=trace, space_id=found.space_id, actor="agent:alice", asked_at=clock.now(), query="q", terms=b""
        )
        Vote.objects.create(
            space_id=found.space_id, judged=judged, grain=found, useful=True, strength=1, scale=1, at=clock.now()
        )
    return trace


# Bodies of declared calls that take something that is there already.
_MADE: dict[str, Any] = {
    "acquire_lock": no_lock,
    "renew_lock": a_lock,
    "release_lock": a_lock,
    "finish_task": a_task,
    "renew_task": a_task,
    "release_task": a_task,
    "restore_messages": a_removal,
    "accept_review": a_decision,
    "deny_review": lambda: {"reason": "not so"},
}


def declared(calls: Iterable[type[Call]]) -> list[Route]:
    """The rows of declared calls: address, capability and what a refusal names follow from the declaration."""
    found = []
    for offer in calls_at_places(calls):
        if offer.method:
            *besides, needs = offer.needs or (None,)
            found.append(
                Route(
                    offer.method,
                    route(offer.path),
                    needs,
                    _body(offer),
                    missing=needs + _target(offer) if needs else "",
                    besides=tuple(besides),
                    query=_query(offer),
                    names={name: offer.call.example[name] for name in offer.in_path if name in offer.call.example},
                )
            )
    return found


def _body(offer: CallAtPlace) -> Any:
    if offer.method in ("GET", "DELETE"):
        return None
    if offer.sdk in _MADE:
        return lambda grain: _MADE[offer.sdk]()
    given = {name: value for name, value in offer.call.example.items() if name not in offer.in_path}
    return {**({"queue": KEY} if "queue" in offer.fields else {}), **given}


def _query(offer: CallAtPlace) -> str:
    if offer.method not in ("GET", "DELETE"):
        return ""
    given = {name: value for name, value in offer.call.example.items() if name not in offer.in_path}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def _target(offer: CallAtPlace) -> str:
    """`@BOARD:NAME` as far as the call says which board and which name."""
    if offer.path.startswith("stores"):
        return ""  # without any scope the refusal names the capability
    board = offer.call.example.get("board", "disposable" if offer.path == "boards/{board}" else "main")
    at = f"@{board}" if "board" in offer.fields else ""
    named = {"key", "lock", "queue", "operations"} & set(offer.fields)
    return f"{at}:{KEY}" if named else at


# A call that is not open and needs no capability is for every agent.
ROUTES: dict[str, Route] = {
    f"{one.method} {one.route}": one
    for one in (
        Route("GET", "", open=True, ignores_token=True),
        Route("POST", "store", "grains.write", {"content": "stored by the table of routes"}),
        Route("POST", "store/batch", "grains.write", {"items": [{"content": "a batch of one"}]}),
        Route("POST", "extract", "grains.write", {"content": "handed over by the table of routes"}),
        Route("GET", "extract/<str:grain>", "grains.read"),
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
        *declared(registry.calls()),
        *(Route(method, "stores/<str:store>/files/<text:path>", "artifacts.write", {}) for method in ("PUT", "POST")),
        Route("DELETE", "stores/<str:store>/files/<text:path>", "artifacts.write"),
        Route("GET", "stores/<str:store>/files/<text:path>", "artifacts.read"),
        Route("GET", "watch", "bb.read", query="?place=boards/main&wait=0", missing="bb.read@main"),
        Route(
            "POST",
            "ipc",
            "memory.write",
            {"MemoryWrite": {"agent_id": "alice", "key": KEY, "value": 1}},
            missing=f"memory.write:{KEY}",
        ),
        Route("GET", "clusters", "grains.read"),
        Route("GET", "clusters/<str:cluster>", "grains.read"),
        Route("GET", "graph/export", "graph.export"),
        Route("GET", "me"),
        Route("GET", "grant-requests"),
        # The one capability no other call and no test of callers holds, so that there is something to ask for.
        Route("POST", "grant-requests", body={"capability": "snapshots.create", "reason": "to look"}),
        Route("GET", "health", open=True),
        Route("GET", "readyz", open=True, ignores_token=True),
        Route("GET", "metrics", "metrics.read"),
    )
}


def plain(answer: Any) -> tuple[int, dict[str, str], Any]:
    """An answer without the fields that differ from request to request."""
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
    """Check the shape of an error and return its details."""
    assert answer.status_code == status, (answer.status_code, answer.content[:500])
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"code", "message", "details", "request_id"}
    assert body["code"] == code, body
    assert isinstance(body["message"], str) and body["message"] and isinstance(body["details"], dict)
    assert body["request_id"] == answer.headers["X-Request-Id"]
    assert b"Traceback" not in answer.content and b'File "' not in answer.content
    return dict(body["details"])
