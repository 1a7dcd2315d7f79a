"""/ for somebody who has signed in: the frame, the space they look at, and its overview"""

from __future__ import annotations

import html
import re
import shlex
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents, grants, tokens
from accounts.models import Agent, AuditEntry, Membership, Space, Token
from accounts.principals import shell
from dashboard.templatetags.shell import browser_name
from fluxcore import clock
from fluxcore.models import Event, Job
from fluxcore.version import VERSION
from memory.grains.models import Grain
from memory.grains.store import store, store_batch
from tests.dashboard.conftest import post

pytestmark = pytest.mark.storage

MOST_STATEMENTS = 12


def words(answer) -> str:
    """What a page says, without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def title(answer) -> str:
    return re.search(r"<h1>(.*?)</h1>", answer.content.decode()).group(1)


def navigation(answer) -> dict[str, str]:
    found = re.search(r'<nav class="tabs".*?</nav>', answer.content.decode(), re.DOTALL).group()
    return {label: html.unescape(address) for address, label in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)<', found)}


def numbers(answer) -> dict[str, str]:
    found = re.search(r'<ul class="numbers">.*?</ul>', answer.content.decode(), re.DOTALL).group()
    return {says: count for count, says in re.findall(r"<strong>(\d+)</strong> <span>([^<]+)</span>", found)}


@pytest.fixture
def two_spaces(make_token):
    """A token in each of `home` and `office`."""
    return make_token("alice", space="home"), make_token("bob", space="office")


# The frame -----------------------------------------------------------------------------------------
def test_it_shows_the_space_the_role_and_who_is_signed_in(person, space):
    page = person("grace", administrator=False, roles={"home": "viewer"}).sign_in().get("/")
    assert page.status_code == 200 and title(page) == "home"
    assert '<span class="role" title="Your role in this space">viewer</span>' in page.content.decode()
    assert "signed in as grace" in words(page) and VERSION in words(page)


def test_somebody_with_one_space_has_no_switcher(person, two_spaces):
    page = person("grace", administrator=False, roles={"home": "owner"}).sign_in().get("/")
    assert "<select" not in page.content.decode() and "office" not in words(page)


def test_the_switcher_offers_only_spaces_the_person_has_a_role_in(person, two_spaces):
    agents.create_space(shell(), name="secret")
    page = person("grace", administrator=False, roles={"home": "owner", "office": "viewer"}).sign_in().get("/")
    offered = re.findall(r"<option[^>]*>([^<]+)</option>", page.content.decode())
    assert sorted(offered) == ["home", "office"]


def test_a_chosen_space_is_remembered(person, two_spaces):
    client = person("grace", administrator=False, roles={"home": "owner", "office": "viewer"}).sign_in()
    assert title(client.get("/")) == "home"
    assert client.get("/?space=office")["Location"] == "/"
    assert title(client.get("/")) == "office"
    assert "viewer" in words(client.get("/account"))


def test_a_foreign_space_is_answered_like_one_that_is_not_there(person, two_spaces):
    client = person("grace", administrator=False, roles={"home": "owner"}).sign_in()
    foreign, unknown = client.get("/?space=office"), client.get("/?space=nowhere")
    assert foreign.status_code == unknown.status_code == 404
    assert words(foreign) == words(unknown)
    assert title(client.get("/")) == "home"
    noted = AuditEntry.objects.filter(action="spaces.open", outcome="refused", actor="user:grace", chain="instance")
    assert list(noted.order_by("id").values_list("object", flat=True)) == ["office", "nowhere"]


@pytest.mark.parametrize("name", ["", "%00", "%ff", "é" * 5000, "<script>", "../home", "home%20", "HOME"])
def test_an_odd_space_name_is_a_404(person, space, name):
    client = person("grace", administrator=False, roles={"home": "owner"}).sign_in()
    answer = client.get(f"/?space={name}")
    assert answer.status_code == 404 and "<script>" not in answer.content.decode()


def test_a_space_somebody_lost_their_role_in_is_not_shown_again(person, two_spaces):
    grace = person("grace", administrator=False, roles={"home": "owner", "office": "viewer"})
    client = grace.sign_in()
    client.get("/?space=office")
    Membership.objects.filter(user=grace.user, space__name="office").delete()
    assert title(client.get("/")) == "home"


def test_the_navigation_leads_to_pages_of_this_space_alone(person, two_spaces):
    for token, text in zip(two_spaces, ("of the home", "of the office"), strict=True):
        store(tokens.authenticate(token), content=text)
    client = person("grace", administrator=False, roles={"home": "viewer", "office": "owner"}).sign_in()
    leads = navigation(client.get("/"))
    assert list(leads) == [
        "Overview",
        "Recall",
        "Graph",
        "Live",
        "Board",
        "Files",
        "Transcripts",
        "Review",
        "Traces",
        "Vitals",
        "Memories",
        "Agents",
        "Audit",
        "Admin",
    ]
    for label, address in leads.items():
        assert client.get(address).status_code == 200, label
    assert '<a class="own" href="/account">Your account</a>' in client.get("/").content.decode()
    assert '<a class="own" href="/account" aria-current="page">' in client.get("/account").content.decode()
    grains, callers = client.get(leads["Memories"]), client.get(leads["Agents"])
    assert "of the home" in words(grains) and "of the office" not in words(grains)
    assert "alice" in words(callers) and "bob" not in words(callers)


def test_the_audit_link_shows_the_chain_of_this_space(ada, two_spaces):
    for token in two_spaces:
        store(tokens.authenticate(token), content="something")
    client = ada.sign_in()
    audit = client.get(navigation(client.get("/"))["Audit"])
    assert audit.status_code == 200
    rows = re.search(r'id="result_list".*</table>', audit.content.decode(), re.DOTALL).group()
    assert "agent:alice" in rows and "agent:bob" not in rows


@pytest.mark.parametrize("role", ["viewer", "operator", "owner"])
def test_every_number_leads_to_its_rows(person, token, role):
    client = person("grace", administrator=False, roles={"home": role}).sign_in()
    found = re.search(r'<ul class="numbers">.*?</ul>', client.get("/").content.decode(), re.DOTALL).group()
    addresses = [html.unescape(address) for address in re.findall(r'href="([^"]+)"', found)]
    assert len(addresses) == 6
    for address in addresses:
        assert client.get(address).status_code == 200, address


def test_signing_out_is_a_form_and_not_a_link(ada, space):
    client = ada.sign_in()
    page = client.get("/").content.decode()
    assert re.search(r'<form class="leave" method="post" action="/sign-out">\s*<input type="hidden" name="csrf', page)
    assert 'href="/sign-out"' not in page
    assert post(client, "/sign-out").status_code == 302
    assert "signed in as" not in words(client.get("/"))


def test_a_session_without_the_second_factor_sees_the_visitors_page(ada, space):
    client = ada.sign_in()
    session = client.session
    del session["otp_device_id"]
    session.save()
    page = client.get("/")
    assert page.status_code == 200 and "<nav" not in page.content.decode()


@pytest.mark.parametrize("path", ["/account", "/account/password", "/account/authenticator"])
def test_the_pages_of_the_account_have_the_same_frame(ada, space, path):
    page = ada.sign_in().get(path)
    assert page.status_code == 200
    assert navigation(page)["Overview"] == "/"


# The overview --------------------------------------------------------------------------------------
def test_it_counts_what_is_in_the_space_and_nothing_else(person, two_spaces):
    mine = tokens.authenticate(two_spaces[0])
    store_batch(mine, items=[{"content": f"fact {number}"} for number in range(5)])
    store(tokens.authenticate(two_spaces[1]), content="elsewhere")
    Grain.objects.filter(text="fact 4").update(status="dormant")
    agents.apply_agent(shell(), space="home", name="idle", capabilities=[], trust="trusted", parent=None)
    agents.switch_agent(shell(), space="home", name="idle", active=False)
    for column in ("expires_at", "revoked_at"):
        tokens.mint(shell(), space="home", agent="alice", ceiling="ai_stated")
        Token.objects.filter(pk=Token.objects.latest("id").pk).update(**{column: clock.now() - timedelta(seconds=1)})
    grants.request(mine, capability="artifacts.write:reports/*", reason="the weekly report")
    here = Space.objects.get(name="home").pk
    for number, state in ((here, "parked"), (here, "queued"), (Space.objects.get(name="office").pk, "parked")):
        Job.objects.create(space=number, kind="x", state=state, due_at=clock.now(), created_at=clock.now())
    page = person("grace", administrator=False, roles={"home": "viewer"}).sign_in().get("/")
    assert numbers(page) == {
        "active memories": "4",
        "active agents": "1",
        "valid tokens": "1",
        "grant requests": "1",
        "parked jobs": "1",
    }
    assert "Also: 1 dormant memory, 1 suspended agent." in words(page)


def test_it_says_what_needs_the_person_now(person, principal):
    calm = person("grace", administrator=False, roles={"home": "owner"}).sign_in()
    assert "Nothing needs your attention" in words(calm.get("/"))
    grants.request(principal, capability="artifacts.write:reports/*", reason="the weekly report")
    assert re.search(r"Needs your attention 1 grant requests? waits? ", words(calm.get("/")))
    assert "Nothing needs your attention" in words(
        person("heidi", administrator=False, roles={"home": "viewer"}).sign_in().get("/")
    )


def test_it_shows_the_latest_events_of_the_space_newest_first(person, two_spaces):
    mine = tokens.authenticate(two_spaces[0])
    made = [store(mine, content=f"secret words {number}")["grain_id"] for number in range(20)]
    elsewhere = store(tokens.authenticate(two_spaces[1]), content="elsewhere")["grain_id"]
    page = person("grace", administrator=False, roles={"home": "viewer"}).sign_in().get("/").content.decode()
    shown = re.findall(r'data-part="subject">([0-9a-f-]{36})<', page)
    assert shown == made[::-1][:12]
    assert elsewhere not in page and "secret words" not in page
    assert "memory stored" in page and "agent:alice" in page and "provenance ai_stated" in page


def test_the_live_feed_takes_over_where_the_list_ends(ada, principal):
    client = ada.sign_in()
    assert 'data-since="0.0"' in client.get("/").content.decode()
    store_batch(principal, items=[{"content": f"fact {number}"} for number in range(3)])
    oldest = Event.objects.filter(space=principal.space).earliest("xid", "id")
    page = client.get("/").content.decode()
    assert f'data-since="{oldest.xid}.{oldest.pk}"' in page and 'data-space="home"' in page


def test_events_are_shown_as_text(ada, space):
    hostile = "<img src=x onerror=alert(1)>"
    Event.objects.create(
        space=space.pk,
        kind=hostile,
        at=clock.now(),
        actor=hostile,
        subject=hostile,
        data={hostile: hostile, "list": [1]},
    )
    page = ada.sign_in().get("/").content.decode()
    assert "<img src=x" not in page and page.count("&lt;img src=x") == 5


@pytest.mark.parametrize("much", [False, True], ids=["little", "much"])
@pytest.mark.parametrize("administrator", [False, True], ids=["owner", "administrator"])
def test_it_costs_few_statements_whatever_there_is(person, principal, make_token, administrator, much):
    spaces = ["home"]
    if much:
        for number in range(12):
            spaces.append(f"space-{number}")
            make_token(f"agent-{number}", space=spaces[-1])
            make_token(f"agent-{number}", space="home")
        store_batch(principal, items=[{"content": f"fact {number}"} for number in range(100)])
        grants.request(principal, capability="artifacts.write:reports/*", reason="the weekly report")
        Job.objects.create(space=principal.space, kind="x", state="parked", due_at=clock.now(), created_at=clock.now())
    client = person("grace", administrator=administrator, roles=dict.fromkeys(spaces, "owner")).sign_in()
    client.get("/")  # once a minute it is noted that the session is in use
    with CaptureQueriesContext(connection) as statements:
        assert client.get("/").status_code == 200
    assert len(statements) <= MOST_STATEMENTS, [one["sql"][:120] for one in statements]


# What it teaches -----------------------------------------------------------------------------------
def test_without_a_space_an_administrator_is_told_to_make_one(ada):
    client = ada.sign_in()
    page = client.get("/")
    assert page.status_code == 200 and "Create the first space" in words(page)
    address = re.search(r'class="button" href="([^"]+)"', page.content.decode()).group(1)
    assert client.get(address).status_code == 200
    call_command(*command_on(page)[0])
    assert title(client.get("/")) == "main"


def test_without_a_role_a_person_is_told_whom_to_ask(person, ada, space):
    person("gone").user.__class__.objects.filter(username="gone").update(is_active=False)
    page = person("grace", administrator=False).sign_in().get("/")
    assert page.status_code == 200 and "No space for you yet" in words(page)
    assert re.findall(r"<li>(\w+)</li>", page.content.decode()) == ["ada"]
    assert "home" not in words(page)


def command_on(page) -> list[list[str]]:
    """The commands to paste; a sentence may name one too."""
    pasted = re.findall(r"<pre><code>(.*?)</code></pre>", html.unescape(page.content.decode()), re.DOTALL)
    return [shlex.split(line)[1:] for text in pasted for line in re.findall(r"(?m)^manage\.py .*$", text)]


def test_each_step_leads_to_the_next_until_agents_can_call(ada, space):
    client = ada.sign_in()
    page = client.get("/")
    assert "No agents yet" in words(page)
    assert client.get("/admin/accounts/agent/add/").status_code == 200
    create, mint = command_on(page)
    assert create[-2:] == ["--name", settings.HOME.name]  # this instance is not the default one
    call_command(*create[:-2])
    page = client.get("/")
    assert "No agent has a token yet" in words(page) and command_on(page)[0][:3] == ["flux_token", "mint", "AGENT"]
    call_command(*mint[:-2])
    page = client.get("/")
    assert "No memories yet" in words(page) and "/store" in words(page)
    store(shell(space), content="The launch is on Friday")
    page = client.get("/")
    assert "How agents connect" in words(page) and "No memories yet" not in words(page)


def test_who_may_not_make_agents_is_told_who_may(person, space):
    page = person("grace", administrator=False, roles={"home": "operator"}).sign_in().get("/")
    assert "Owners of the space create agents" in words(page) and command_on(page) == []
    assert "/admin/accounts/agent/add/" not in page.content.decode()


def test_a_stopped_agent_is_no_agent_that_can_call(ada, token):
    Agent.objects.update(active=False)
    assert "No agents yet" in words(ada.sign_in().get("/"))


# Browsers in words ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on Windows"),
        ("curl/8.5", "curl/8.5"),
        ("", "An unknown browser"),
    ],
)
def test_a_browser_is_named_as_people_name_it(header, name):
    assert browser_name(header) == name
