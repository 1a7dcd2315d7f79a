"""/agents: who stores and asks, what each may do, how the model is; and a fresh token inside what a program is told"""

from __future__ import annotations

import html
import json
import re
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents, grants, tokens
from accounts.models import Agent, AuditEntry, Space, Token
from accounts.principals import shell
from accounts.signin.sessions import FRESH
from dashboard.agents import hour_bars
from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth, limits
from mcp_bridge.clients.programs import CLIENTS
from memory.extraction.models import AgentSpend, Extraction, ModelServer, ModelSpend
from memory.grains.models import Grain
from memory.grains.store import store
from memory.health import activity
from memory.health import jobs as health_jobs
from memory.health.event_sums import hour_of
from memory.health.models import HourlySum
from memory.keyvalue import boards, verbs
from tests.dashboard.conftest import Person, browser, post
from tests.event_log import wait_for_log

MOST_STATEMENTS = 14  # of a whole request, the frame and the session included


def words(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.fixture
def home(people_client, make_token) -> Space:
    make_token("alice")
    return Space.objects.get(name="home")


@pytest.fixture
def grace(home):
    """A viewer of the space, signed in."""
    return Person("grace", administrator=False, roles={"home": "viewer"}).sign_in()


@pytest.fixture
def olga(home):
    """Its owner."""
    return Person("olga", administrator=False, roles={"home": "owner"}).sign_in()


def tally(space, who, name, value, *, ago=0):
    HourlySum.objects.create(space=space, who=who, hour=hour_of(clock.now().timestamp()) - ago, name=name, value=value)


def card(page, name) -> str:
    """What the card of one agent says."""
    _, _, rest = page.content.decode().partition(f'id="agent-{name}">')
    own = re.split(r'<li class="card caller|<p class="small">Counted', rest)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", own)).split())


# The page ------------------------------------------------------------------------------------------
def test_it_shows_what_each_agent_did_in_the_last_day(grace, home):
    for ago, name, value in (
        (0, "stores", 7),
        (3, "stores", 5),
        (3, "stated", 4),
        (2, "answered", 9),
        (2, "judged", 6),
    ):
        tally(home, "agent:alice", name, value, ago=ago)
    tally(home, "agent:alice", "stores", 1000, ago=25)
    text = card(grace.get("/agents"), "alice")
    assert "Memories stored 12 of these user-stated 4 Recalls answered 9 With feedback 6" in text


@pytest.mark.django_db(transaction=True)
def test_it_counts_what_agents_really_did(olga, home, make_token):
    principal = tokens.authenticate(make_token("bob"))
    for number in range(3):
        store(principal, content=f"said {number}", provenance="user_stated")
    wait_for_log()
    booth.write(health_jobs.ask_to_gather)
    worker.drain()
    assert "Memories stored 3 of these user-stated 3" in card(olga.get("/agents"), "bob")


def test_the_share_of_each_limit_that_the_minute_has_used(grace, home, make_token, configure):
    principal = tokens.authenticate(make_token("bob"))
    for label in ("", "desk", "desk"):
        store(principal.labelled(label), content=f"said {label}")
    text = card(grace.get("/agents"), "bob")
    assert "This minute Memories 3 of 2,000 Busiest caller 2 of 500" in text
    assert "Feedback 0 of 3,000" in text and "near its limit" not in text
    configure(MAX_GRAINS_PER_MINUTE=2)
    assert "near its limit" in card(grace.get("/agents"), "bob")


def test_what_each_agent_has_stored_of_its_quotas(grace, home, make_token, configure):
    principal = tokens.authenticate(make_token("bob", capabilities=("grains.write", "memory.write", "bb.write")))
    store(principal, content="x" * 1536)
    for value in ("a" * 98, "b" * 98):
        verbs.set_key(principal, place="agents/bob", key="k", value=value)
    boards.make(principal, board="ops")
    text = card(grace.get("/agents"), "bob")
    assert "Memories 1 of 1,000,000 Size of memories 1.5 KiB of 1 GiB" in text
    assert "Keys with history 300 B of 256 MiB Boards 1 of 20" in text and "Model calls" not in text
    assert "Memories 0 of 1,000,000" in card(grace.get("/agents"), "alice")
    configure(MAX_BOARDS_PER_AGENT=1, OPERATING_MODE="flux_extracts", LLM_CALLS_PER_DAY=10)
    AgentSpend.objects.create(space=home, day=clock.now().date(), who="agent:bob", calls=4, tokens=700)
    text = card(grace.get("/agents"), "bob")
    assert "near its limit" in text
    assert "Model calls today 4 of 5 Model tokens today 700 of 2,000,000" in text


def test_what_is_over_does_not_count(home):
    assert limits.read_use(["grains:1"]) == {}
    limits.LimitWindow.objects.create(key="grains:1", counts={"1": 5})
    assert limits.read_use(["grains:1"]) == {}


def test_it_says_who_was_seen_last_and_who_never(grace, home, make_token):
    make_token("bob")
    Token.objects.filter(agent__name="bob").update(last_used_at=clock.now() - timedelta(days=2))
    page = grace.get("/agents")
    assert "Last seen" in card(page, "bob") and "Never used" in card(page, "alice")
    assert page.content.decode().index("agent-bob") < page.content.decode().index("agent-alice")


def test_capabilities_are_those_held_now(grace, home):
    grants.give(shell(), space="home", agent="alice", capability="metrics.read")
    assert "metrics.read" in card(grace.get("/agents"), "alice")
    agents.set_trust(shell(), space="home", name="alice", trust="untrusted")
    text = card(grace.get("/agents"), "alice")
    assert "grains.read" in text and "grains.write" not in text and "untrusted" in text


def test_agents_of_other_spaces_are_not_there(grace, home, make_token):
    make_token("mallory", space="elsewhere")
    tally(Space.objects.get(name="elsewhere"), "agent:alice", "stores", 99)
    page = words(grace.get("/agents"))
    assert "mallory" not in page and "99" not in page


def test_names_are_text(grace, home):
    """The database holds what an attacker may have put there."""
    Agent.objects.filter(name="alice").update(name="<script>alert(1)</script>")
    assert b"<script>alert" not in grace.get("/agents").content


def test_a_space_without_agents_says_what_comes_next(people_client):
    agents.create_space(shell(), name="empty")
    client = Person("olga", administrator=False, roles={"empty": "owner"}).sign_in()
    assert "No agents yet. Create the first agent" in words(client.get("/agents"))


def test_visitors_are_sent_to_the_sign_in(people_client):
    assert browser().get("/agents")["Location"] == "/sign-in?next=%2Fagents"


def test_a_page_costs_the_same_for_one_agent_and_for_thirty(grace, home, make_token):
    grace.get("/agents")
    with CaptureQueriesContext(
        connection,
    ) as few:
        grace.get("/agents")
    for number in range(29):
        make_token(f"agent{number}", parent="alice" if number % 2 else None)
        tally(home, f"agent:agent{number}", "stores", number)
    with CaptureQueriesContext(connection) as many:
        assert len(re.findall('class="card caller', grace.get("/agents").content.decode())) == 30
    assert len(few) == len(many) <= MOST_STATEMENTS


def test_no_more_agents_are_shown_than_a_page_holds(grace, home, monkeypatch, make_token):
    for number in range(4):
        make_token(f"agent{number}")
    monkeypatch.setattr(activity, "MOST", 3)
    page = grace.get("/agents")
    assert len(re.findall('class="card caller', page.content.decode())) == 3
    assert "the 3 most recently used agents are shown" in words(page)


def test_bars_share_one_scale_and_stay_in_the_picture():
    caller = activity.AgentActivity(
        number=1,
        uuid=None,
        name="a",
        trust="trusted",
        active=True,
        parent=None,
        capabilities=(),
        tokens=0,
        last_seen=None,
        totals={},
        hours=((0, 0), (10, 0), (5, 5), (0, 2)),
        shares=(),
        quotas=(),
    )
    drawn = hour_bars(caller, 20)
    assert [(bar.x, bar.y, bar.height, bar.kind) for bar in drawn] == [
        (10, 20.0, 20.0, "stores"),
        (20, 30.0, 10.0, "stores"),
        (20, 20.0, 10.0, "answers"),
        (30, 36.0, 4.0, "answers"),
    ]
    assert hour_bars(caller, 0) == []


# The model -----------------------------------------------------------------------------------------
def test_without_the_mode_it_says_that_no_model_is_asked(grace):
    assert "no model is used" in words(grace.get("/agents"))


def test_with_it_the_page_shows_state_and_spend(standing_clock, grace, home, configure):
    configure(OPERATING_MODE="flux_extracts", LLM_CALLS_PER_DAY=10)
    assert "not used yet" in words(grace.get("/agents"))
    from memory.extraction import circuit_breaker

    moment = clock.now()
    booth.write(lambda: circuit_breaker.record_failure("no answer within 30 seconds"))
    ModelSpend.objects.create(space=home, day=moment.date(), calls=9, failed=2, tokens=12_345)
    store(shell(home), content="a text")
    Extraction.objects.create(space=home, grain=Grain.objects.get(), ceiling=1, asked_at=moment, due_at=moment)
    text = words(grace.get("/agents"))
    assert "Local model not answering" in text and "Last problem: no answer within 30 seconds." in text
    assert "Calls today 9 of 10" in text and "Tokens today 12,345 of 4,000,000" in text
    assert "2 failed calls today" in text and "1 text waiting" in text and "next try" in text
    ModelServer.objects.update(failures=0, next_at=None, well_at=moment)
    assert "Local model working" in words(grace.get("/agents"))


# Connecting a program ------------------------------------------------------------------------------
def address(name="alice") -> str:
    return f"/agents/{Agent.objects.get(name=name).uuid}/connect"


def test_a_fresh_token_is_shown_once_inside_what_to_paste(olga, home):
    page = post(olga, address(), ceiling="ai_stated", expires_at="7d", note="editor")
    assert page.status_code == 200
    (token,) = set(re.findall(r"flux_\w{8}_[\w-]+", page.content.decode()))
    assert page.content.decode().count(token) >= 3
    assert "no-store" in page["Cache-Control"]
    found = tokens.authenticate(token)
    assert (found.name, found.ceiling) == ("alice", "ai_stated")
    row = Token.objects.get(prefix=token.split("_")[1])
    assert row.note == "editor" and timedelta(days=6) < row.expires_at - clock.now() < timedelta(days=8)
    assert AuditEntry.objects.filter(action="tokens.mint", actor="user:olga").count() == 1
    assert token not in olga.get("/agents").content.decode() + olga.get(address()).content.decode()


def test_the_form_asks_in_plain_words_and_says_yes_for_an_agent_of_one_s_own(olga, home, make_token):
    page = olga.get(address())
    assert "May this program pass on what a person said as that person's own words?" in words(page)
    chosen = r'value="([a-z_]+)"[^>]*checked'
    assert re.findall(chosen, page.content.decode()) == ["user_stated"]
    make_token("child", parent="alice")
    assert re.findall(chosen, olga.get(address("child")).content.decode()) == ["ai_stated"]


def test_every_client_is_told_in_its_own_way(olga, home):
    """Each snippet is what that client reads, with the token and the address of the MCP door in it."""
    page = html.unescape(post(olga, address(), ceiling="ai_stated", expires_at="").content.decode())
    told = dict(re.findall(r'<pre class="paste" tabindex="0" id="([\w-]+)">(.*?)</pre>', page, re.DOTALL))
    assert set(told) == {"token", "shell", "curl", *CLIENTS}
    for name, client in CLIENTS.items():
        read = tomllib.loads(told[name]) if client.toml else json.loads(told[name])
        (server,) = read[client.table].values()
        assert told["token"] in told[name] and "7464" in told[name], name
        assert server
    assert "~/.codex/config.toml" in page and str(Path.home()) not in page.replace(sys.prefix, "")


def test_minting_wants_a_fresh_code(olga, home):
    session = olga.session
    session[FRESH] = clock.rfc3339(clock.now() - timedelta(minutes=6))
    session.save()
    before = Token.objects.count()
    answer = olga.get(address())
    assert answer["Location"].startswith("/fresh-code?next=")
    olga.cookies["csrftoken"] = "c" * 32
    assert post(olga, address(), ceiling="ai_stated", expires_at="").status_code in (302, 403)
    assert Token.objects.count() == before


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_who_manages_agents_may_mint(home, role):
    client = Person("otto", administrator=False, roles={"home": role}).sign_in()
    assert "Connect a program" not in words(client.get("/agents"))
    assert client.get(address()).status_code == 403
    assert Token.objects.count() == 1


def test_an_agent_of_another_space_is_not_there(olga, make_token):
    make_token("mallory", space="elsewhere")
    assert olga.get(address("mallory")).status_code == 404


@pytest.mark.parametrize(
    "given", [{"ceiling": "user_confirmed"}, {"ceiling": ""}, {"expires_at": "9y"}, {"note": "x" * 201}]
)
def test_what_cannot_be_minted_is_told_so(olga, home, given):
    before = Token.objects.count()
    page = post(olga, address(), **{"ceiling": "ai_stated", "expires_at": "", "note": "", **given})
    assert (page.status_code, Token.objects.count()) == (422, before)
