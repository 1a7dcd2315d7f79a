"""The capability matrix: every operation with its capability granted, scoped and missing, however it is granted."""

from __future__ import annotations

import pytest

from accounts import agents, grants, tokens
from accounts.authorise import authorise
from accounts.capabilities import OPERATIONS, SCOPED
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.errors import Forbidden
from memory.api import urls
from tests.rest.routes import ROUTES, refused

pytestmark = pytest.mark.either_database  # rights are decided in Python; test_who_may.py asks on both

# Which calls ask for which operation. A new call without a place here fails the tests.
CALLS: dict[str, list[str]] = {
    "grains.read": [
        "GET grains",
        "GET grains/<str:grain>",
        "POST retrieve",
        "GET extract/<str:grain>",
        "GET traces/<str:trace>",
        "GET clusters",
        "GET clusters/<str:cluster>",
    ],
    "grains.write": ["POST store", "POST store/batch", "POST extract"],
    "grains.manage": [
        f"POST grains/<str:grain>/{verb}"
        for verb in ("pin", "unpin", "close", "archive", "restore", "quarantine", "release", "delete", "undelete")
    ],
    "grains.feedback": [
        "POST feedback",
        "POST feedback/batch",
        "DELETE feedback/<str:trace>/<str:grain>",
        "GET pending_feedback",
    ],
    "graph.export": ["GET graph/export"],
    "metrics.read": ["GET metrics"],
    **{
        operation: [call for call, route in ROUTES.items() if route.needs == operation]
        for operation in sorted({route.needs for route in ROUTES.values() if route.named})
    },
    "health.read": ["GET health"],
}
# Open, or for every agent whatever it holds.
WITHOUT_A_CAPABILITY = {
    *("GET ", "GET readyz", "GET me", "GET grant-requests", "POST grant-requests"),
    *("GET reviews", "GET reviews/<str:item>"),  # their own; tests/review/test_rights.py
}
# Answered to everybody, with more for those who hold the operation.
MORE_FOR_HOLDERS = {"GET health"}
WHOLE_BOARD = (  # a whole board or memory is no name inside of one
    "POST boards",
    "DELETE boards/<str:board>",
    *(
        f"{method} {place}/recallable"
        for method in ("GET", "PUT", "DELETE")
        for place in ("agents/<str:agent>", "boards/<str:board>")
    ),
)
# Lets writes of files through in place of artifacts.write, under a staging prefix: tests/review/test_rights.py.
IN_PLACE_OF_ANOTHER = {"artifacts.propose"}
WITHOUT_A_CALL = {
    "snapshots.create",
    "snapshots.read",
}
EVERYTHING = tuple(sorted(OPERATIONS))
PAIRS = [(operation, call) for operation, calls in CALLS.items() for call in calls]
ON_NAMES = [call for call, route in ROUTES.items() if route.named]
NAMED = {operation for operation in OPERATIONS if operation.split(".")[0] in SCOPED}


def test_every_operation_and_every_call_has_its_place():
    methods = ("get", "post", "put", "patch", "delete")
    calls = {  # by name, in both tables
        f"{method.upper()} {route}" for route, view in urls.CALLS for method in methods if hasattr(view.cls, method)
    }
    placed = [call for listed in CALLS.values() for call in listed]
    assert sorted([*placed, *WITHOUT_A_CAPABILITY]) == sorted(calls)
    assert sorted([*CALLS, *IN_PLACE_OF_ANOTHER, *WITHOUT_A_CALL]) == sorted(OPERATIONS)
    # What is called on names is asked with a name inside and one outside of its scope, below.
    assert NAMED & set(CALLS) == {ROUTES[call].needs for call in ON_NAMES}


@pytest.fixture(params=["own", "granted", "left by its parent"])
def holder(request, make_token):
    """A token of an agent that holds exactly these capabilities, in each way of holding them."""

    def make(*capabilities: str) -> str:
        if request.param == "own":
            return str(make_token(capabilities=capabilities))
        if request.param == "granted":
            token = make_token(capabilities=())
            for capability in capabilities:
                grants.give(shell(), space="home", agent="alice", capability=capability)
            return str(token)
        # It was given everything, and its parent has been narrowed since.
        make_token("parent", capabilities=EVERYTHING)
        token = make_token(capabilities=EVERYTHING, parent="parent")
        agents.apply_agent(shell(), space="home", name="parent", capabilities=list(capabilities))
        return str(token)

    make.way = request.param
    return make


@pytest.fixture
def grain(make_token, as_agent) -> str:
    return str(as_agent(make_token("keeper")).post("/store", {"content": "kept"}).json()["grain_id"])


def _allowed(answer, call):
    if call in MORE_FOR_HOLDERS:
        assert answer.status_code == 200
        return len(answer.json()) > 1
    return answer.status_code == 200


# On REST -------------------------------------------------------------------------------------------


ONE_CALL_EACH = [(operation, calls[0]) for operation, calls in CALLS.items()]


def asked(holder, scope=""):
    """Every call of a plain right that is the agent's own; one call for each right that is held in another way."""
    return PAIRS if holder.way == "own" and not scope else ONE_CALL_EACH


@pytest.mark.parametrize("scope", ["", ":*"])
def test_granted_it_is_answered(holder, as_agent, grain, cases, scope):
    for operation, call in asked(holder, scope):
        with cases.case(call):
            api = as_agent(holder(operation + scope, *ROUTES[call].besides))
            assert _allowed(ROUTES[call].call(api, grain=grain), call)


def test_missing_it_is_refused_whatever_else_is_held(holder, as_agent, grain, cases):
    for operation, call in asked(holder):
        with cases.case(call):
            api = as_agent(holder(*sorted(OPERATIONS - {operation})))
            answer = ROUTES[call].call(api, grain=grain)
            if call in MORE_FOR_HOLDERS:
                assert not _allowed(answer, call)
                continue
            details = refused(answer, 403, "forbidden")
            assert details["missing"].startswith(str(ROUTES[call].refusal))
            entry = AuditEntry.objects.filter(outcome="refused").latest("id")
            assert (entry.actor, operation in entry.details) == ("agent:alice", True)


OF_ONE_STORE = {f"GET stores/<str:store>{tail}" for tail in ("", "/files", "/audit", "/search")}


def test_on_a_name_inside_its_scope_it_is_answered_and_outside_refused(make_token, as_agent, space, cases):
    for call in ON_NAMES:
        with cases.case(call):
            route = ROUTES[call]
            inside = (f"{route.needs}:{route.scope}", *route.besides)
            if call not in WHOLE_BOARD:
                assert route.call(as_agent(make_token(capabilities=inside))).status_code == 200
            outside = route.call(as_agent(make_token(capabilities=(f"{route.needs}:other/*", *route.besides))))
            if call == "GET boards":
                assert outside.json()["count"] == 1
            elif call in OF_ONE_STORE:
                refused(outside, 404, "not_found")  # it says nothing of a store of which nothing may be read
            elif route.method == "GET" and outside.status_code == 200:
                assert outside.json()["count"] == 0  # a list shows what lies inside and says nothing of the rest
            else:
                refused(outside, 403, "forbidden")


@pytest.mark.parametrize("call", sorted(WITHOUT_A_CAPABILITY))
def test_some_calls_ask_for_no_capability(make_token, as_agent, call):
    assert ROUTES[call].call(as_agent(make_token(capabilities=()))).status_code == 200


# By the one call every door makes -------------------------------------------------------------------


def may(token, operation, target=None):
    try:
        authorise(tokens.authenticate(token), operation, target)
    except Forbidden:
        return False
    return True


def test_every_operation_granted_and_missing(holder, cases):
    for operation in sorted(OPERATIONS):
        with cases.case(operation):
            token = holder(operation)
            others = sorted(OPERATIONS - {operation})
            assert may(token, operation)
            assert may(token, operation, "any/name")
            assert [other for other in others if may(token, other) or may(token, other, "any/name")] == []


def test_every_operation_on_names_inside_and_outside_its_scope(holder, cases):
    outsides = (None, "", "notes", "notes/a/b", "Notes/a", "plans/a", "notes/../a", "*", "notes/*/x", "\0" * 600)
    for operation in sorted(NAMED):
        with cases.case(operation):
            token = holder(f"{operation}:notes/*")
            assert may(token, operation, "notes/a")
            assert may(token, operation, "notes/")
            assert [outside for outside in outsides if may(token, operation, outside)] == []
            assert not any(may(token, other, "notes/a") for other in OPERATIONS - {operation})
