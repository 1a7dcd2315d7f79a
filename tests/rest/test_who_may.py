"""Every route under every kind of caller. The table of routes decides; a route without an entry fails."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts import agents, tokens
from accounts.capabilities import OPERATIONS
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import clock
from tests.rest.routes import ROUTES, refused

EVERYTHING = tuple(sorted(OPERATIONS))
LOOKS_AT_TOKENS = [route for route, call in ROUTES.items() if not call.ignores_token]


@pytest.fixture
def grain(make_token, as_agent) -> str:
    return str(as_agent(make_token("keeper")).post("/store", {"content": "kept"}).json()["grain_id"])


def test_with_its_capability_alone_it_works(make_token, as_agent, grain, cases):
    for name, route in ROUTES.items():
        with cases.case(name):
            api = as_agent(make_token(capabilities=(route.needs, *route.besides) if route.needs else ()))
            assert route.call(api, grain=grain).status_code == 200


@pytest.mark.either_database
def test_without_a_token_only_open_calls_work(as_agent, grain, cases):
    for name, route in ROUTES.items():
        with cases.case(name):
            answer = route.call(as_agent(None), grain=grain)
            if route.open:
                assert answer.status_code == 200
            else:
                refused(answer, 401, "unauthenticated")


def test_with_every_capability_but_its_own_it_is_forbidden_and_on_the_chain(make_token, as_agent, grain, cases):
    for name, route in ROUTES.items():
        if not route.needs:
            continue
        with cases.case(name):
            api = as_agent(make_token(capabilities=tuple(one for one in EVERYTHING if one != route.needs)))
            details = refused(route.call(api, grain=grain), 403, "forbidden")
            assert details["missing"].startswith(str(route.refusal))
            entry = AuditEntry.objects.filter(outcome="refused").latest("id")
            assert entry.actor == "agent:alice" and route.needs in entry.details


def revoked(make_token) -> str:
    token = make_token(capabilities=EVERYTHING)
    tokens.revoke(shell(), prefix=token[:13])
    return str(token)


def expired(make_token) -> str:
    soon = clock.rfc3339(clock.now() + timedelta(seconds=60))
    token = make_token(capabilities=EVERYTHING, expires_at=soon)
    from accounts.models import Token

    Token.objects.filter(prefix=token[5:13]).update(expires_at=clock.now() - timedelta(microseconds=1))
    return str(token)


def switched_off(make_token) -> str:
    token = make_token(capabilities=EVERYTHING)
    agents.switch_agent(shell(), space="home", name="alice", active=False)
    return str(token)


def never_minted(make_token) -> str:
    make_token(capabilities=EVERYTHING)
    return "flux_abcdefgh_" + "A" * 43


def another_secret(make_token) -> str:
    """The prefix of a real token with somebody else's secret behind it."""
    return str(make_token(capabilities=EVERYTHING))[:14] + "A" * 43


@pytest.mark.parametrize("dead", [revoked, expired, switched_off, never_minted, another_secret])
def test_a_dead_token_gets_the_one_refusal(make_token, as_agent, grain, dead):
    _refused_as_any_other(as_agent(dead(make_token)), as_agent, grain, LOOKS_AT_TOKENS[0])


@pytest.mark.either_database  # every call looks at the token in the same way; which tokens are dead is asked above
def test_no_call_takes_a_dead_token(make_token, as_agent, grain, cases):
    api = as_agent(revoked(make_token))
    for route in LOOKS_AT_TOKENS:
        with cases.case(route):
            _refused_as_any_other(api, as_agent, grain, route)


def _refused_as_any_other(api, as_agent, grain, route):
    answer = ROUTES[route].call(api, grain=grain)
    assert refused(answer, 401, "unauthenticated") == {}
    assert answer.json()["message"] == ROUTES[route].call(as_agent("x"), grain=grain).json()["message"]


def test_another_space_sees_nothing_of_ours(make_token, as_agent, grain, cases):
    asked_for = "snapshots.create"  # by the table's example; whoever holds it need not ask
    everything_else = tuple(name for name in EVERYTHING if name != asked_for)
    stranger = as_agent(make_token("stranger", space="elsewhere", capabilities=everything_else))
    for route in ROUTES:
        with cases.case(route):
            _nothing_of_ours(ROUTES[route].call(stranger, grain=grain), route, grain)


def _nothing_of_ours(answer, route, grain):
    if "{agent}" in ROUTES[route].path or route == "POST ipc":
        refused(answer, 403, "forbidden")  # what lies in somebody else's memory is not even looked for
    elif ROUTES[route].named:
        _finds_its_own_board_empty(answer)
    elif "{" in ROUTES[route].path or route == "POST feedback":
        refused(answer, 404, "not_found")
    else:
        assert answer.status_code == 200
        assert b"kept" not in answer.content and grain.encode() not in answer.content


def _finds_its_own_board_empty(answer):
    """Every space has a board of that name: the stranger may write on its own, and finds nothing there."""
    if answer.status_code != 200:
        assert answer.status_code in (404, 409), answer.content
        assert answer.json()["details"].get("current_version", 0) == 0
    elif answer.json().get("version"):
        assert answer.json()["version"] == 1
    assert b"agent:alice" not in answer.content


WRONG_SCHEMES = [
    "{0}",
    "Basic {0}",
    "Token {0}",
    "Bearer",
    "Bearer ",
    "Bearer{0}",
    "Bearer\t{0}",
    "Bearer: {0}",
    "Bearer {0} {0}",
    "Bearer {0},",
    'Bearer "{0}"',
    "Bearer token={0}",
    " Bearer {0}",
    "Bearer {0}\0",
    "Bearer {0}x",
    "Bearer \u00a0{0}",
    "Bearer {0}, Bearer {0}",
    "",
    "Bearer null",
    "Bearer undefined",
    "Bearer é",
    "Bearer " + "A" * 12_000,
]


@pytest.mark.either_database
@pytest.mark.parametrize("pattern", WRONG_SCHEMES, ids=ascii)
def test_a_token_in_the_wrong_dress_is_no_token(token, as_agent, pattern):
    answer = as_agent(None).get("/grains", headers={"Authorization": pattern.format(token)})
    refused(answer, 401, "unauthenticated")


@pytest.mark.parametrize(
    "change", [str.lower, str.upper, str.swapcase, lambda token: token[:-1], lambda token: token * 2]
)
def test_a_token_is_compared_exactly(token, as_agent, change):
    refused(as_agent(change(token)).get("/grains"), 401, "unauthenticated")


@pytest.mark.parametrize("pattern", ["bearer {0}", "BEARER {0}", "Bearer  {0}", "Bearer {0} "])
def test_the_scheme_is_read_without_regard_to_case_and_spaces(token, as_agent, pattern):
    assert as_agent(None).get("/grains", headers={"Authorization": pattern.format(token)}).status_code == 200


@pytest.mark.parametrize("place", ["query", "cookie", "x-api-key", "body"])
def test_a_token_is_taken_from_nowhere_else(token, as_agent, place):
    nobody = as_agent(None)
    if place == "query":
        answer = nobody.get("/grains", access_token=token, token=token)
    elif place == "body":
        answer = nobody.post("/store", {"content": "x", "token": token})
    else:
        answer = nobody.get("/grains", headers={place: f"Bearer {token}"})
    refused(answer, 401, "unauthenticated")


def test_capabilities_taken_away_hold_for_the_next_request(make_token, as_agent):
    api = as_agent(make_token())
    assert api.get("/grains").status_code == 200
    agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.write"])
    refused(api.get("/grains"), 403, "forbidden")


def test_nobodys_requests_are_counted_by_the_peer_and_not_by_what_they_claim(db, as_agent):
    from accounts.models import RefusalMinute

    for n in range(3):
        as_agent(None).get("/grains", headers={"X-Forwarded-For": f"10.0.0.{n}", "Forwarded": f"for=10.1.0.{n}"})
    assert set(RefusalMinute.objects.values_list("source", flat=True)) <= {"127.0.0.1"}
