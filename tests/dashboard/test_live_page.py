"""/live: what happened in the space in readable lines, and nothing of what somebody may not know"""

from __future__ import annotations

import html
import json
import re
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from dashboard import event_sentences, live_page
from fluxcore import events
from fluxcore.events import Position
from fluxcore.models import Event, Job
from fluxcore.work import jobs
from fluxcore.writes import booth
from memory.arena.cache import arena_cache as arenas
from memory.artifacts import files, stores, transcripts
from memory.artifacts.models import Store
from memory.grains import graph_picture
from memory.grains.models import Grain
from tests.dashboard.conftest import Person, browser
from tests.event_log import wait_for_log
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

MOST_STATEMENTS = 13  # of a whole request, the frame and the session included


@pytest.fixture
def memory(people_client, transactional_db) -> Iterator[Memory]:
    for space in arenas().spaces():
        arenas().drop(space)
    graph_picture._pictures.clear()
    yield Memory()
    for space in arenas().spaces():
        arenas().drop(space)


@pytest.fixture
def vera(memory):
    return Person("vera", administrator=False, roles={"home": "viewer"}).sign_in()


@pytest.fixture
def oz(memory):
    return Person("oz", administrator=False, roles={"home": "operator"}).sign_in()


def lines(answer) -> list[str]:
    """As a reader sees them, newest first."""
    found = re.findall(r'<li data-key="[^"]+".*?</li>', answer.content.decode(), re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", one)).split()) for one in found]


def test_stores_recalls_votes_and_jobs_are_readable_lines(memory, oz):
    grain = memory.store("Anna works as a nurse in Lisbon")
    memory.drain()
    answer = memory.ask("Where does Anna work?")
    memory.vote(answer["trace_id"], grain, useful=True)
    memory.drain()
    page = oz.get("/live")
    said = " / ".join(lines(page)[:6])
    for one in (
        "agent:alice stored a memory, provenance ai stated memory",
        "agent:alice recalled 1 memory, confidence ",
        "agent:alice gave feedback on a memory: useful memory",
        "worker learned from feedback on 1 result",
        "worker finished learning.apply in ",
    ):
        assert one in said, said
    text = page.content.decode()
    assert f'href="/live/grain/{grain}"' in text and f'href="/traces/{answer["trace_id"]}"' in text
    assert "nurse" not in text and "Where does Anna" not in text, "neither memory nor question travels with an event"


def test_a_recall_of_somebody_else_leads_nowhere_for_a_viewer(memory, vera):
    answer = memory.ask("a private question")
    text = vera.get("/live").content.decode()
    assert "agent:alice" in text and answer["trace_id"] in text  # that it happened is no secret
    assert f"/traces/{answer['trace_id']}" not in text
    assert vera.get(f"/live/touched?trace={answer['trace_id']}").json() == {"recalls": []}


def test_whoever_manages_grains_learns_what_was_asked_and_what_answered(memory, oz):
    grain = memory.store("Anna works as a nurse in Lisbon")
    asked = [memory.ask(query)["trace_id"] for query in ("Where does Anna work?", "Who is a nurse?")]
    found = oz.get("/live/touched", {"trace": [*asked, asked[0], str(uuid.uuid4())]}).json()["recalls"]
    assert {one["trace"]: (one["query"], one["grains"]) for one in found} == {
        asked[0]: ("Where does Anna work?", [grain]),
        asked[1]: ("Who is a nurse?", [grain]),
    }
    elsewhere = Memory("elsewhere").ask("of another space")["trace_id"]
    assert oz.get("/live/touched", {"trace": elsewhere}).json() == {"recalls": []}


@pytest.mark.parametrize("query", ["trace=x", "trace=", "&".join(f"trace={uuid.uuid4()}" for _ in range(21))])
def test_nonsense_and_too_much_at_once_is_refused(oz, query):
    answer = oz.get(f"/live/touched?{query}")
    assert answer.status_code == 422 and answer.json()["message"]


def test_without_javascript_the_form_narrows_the_list(memory, oz):
    memory.store("one")
    memory.ask("two?")
    assert len(lines(oz.get("/live?show=stores"))) == 1
    page = oz.get("/live?show=recalls&show=nonsense")
    assert [("recalled" in line) for line in lines(page)] == [True]
    checked = re.findall(r'value="(\w+)" checked', page.content.decode())
    assert checked == ["recalls"]
    assert "Show these" in page.content.decode()


def test_the_feed_takes_over_where_the_page_ends(memory, oz):
    """Whatever is committed after the page was made stands behind its position; what stands before it is on it."""
    memory.store("before")
    page = oz.get("/live").content.decode()
    since = Position.parse(re.search(r'data-since="([^"]+)"', page).group(1))
    later = memory.store("after")
    wait_for_log()
    changes, _ = events.follow(since, space=memory.principal.space)
    new = [change.subject for change in changes if f'data-key="{change.position}"' not in page]
    assert new == [later]


def test_a_person_sees_the_space_they_look_at_and_no_other(memory, vera):
    other = Memory("elsewhere")
    other.store("theirs")
    memory.store("ours")
    assert len([line for line in lines(vera.get("/live")) if "stored" in line]) == 1
    grain = str(Grain.objects.get(text="theirs").uuid)
    assert vera.get(f"/live/grain/{grain}").status_code == 404


def test_events_of_stores_lead_to_their_pages(memory, oz):
    me = shell(Space.objects.get(pk=memory.principal.space))
    for key in ("notes", "old"):
        files.write_file(me, store=key, path="a.md", text="x", create=True)
    transcripts.append_messages(me, store="notes", messages=[{"role": "user", "content": "hello"}])
    stores.delete_store(me, store="old")
    page = oz.get("/live?show=files").content.decode()
    leads = re.findall(r'data-part="link" href="([^"]+)"', page)
    number = Store.objects.get(key="notes").uuid
    assert leads[0] == f"/transcripts/{number}" and leads.count(f"/files/{number}") == 2 and len(leads) == 5
    assert oz.get(leads[0]).status_code == oz.get(f"/files/{number}").status_code == 200


def test_ids_lead_to_pages(memory, oz):
    grain = memory.store("one")
    number = Grain.objects.get().pk
    assert oz.get(f"/live/grain/{grain}")["Location"] == f"/admin/grains/grain/{number}/change/"
    assert oz.get(f"/live/grain/{uuid.uuid4()}").status_code == 404
    job = Job.objects.get()
    assert oz.get(f"/live/job/{job.uuid}")["Location"] == f"/admin/fluxcore/job/{job.pk}/change/"
    Job.objects.update(space=None)
    assert oz.get(f"/live/job/{job.uuid}").status_code == 404


def test_the_page_costs_as_many_statements_whatever_happened(standing_clock, memory, oz):
    memory.store("one")
    oz.get("/live")
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as sent:
            assert oz.get("/live").status_code == 200
        counts.append(len(sent))
        for number in range(20):
            memory.ask(f"question {number}")
    assert counts[0] == counts[1] <= MOST_STATEMENTS, counts


def test_an_empty_space_says_what_will_come(people_client, transactional_db):
    agents.create_space(shell(), name="home")
    Event.objects.filter(space=Space.objects.get().pk).delete()
    client = Person("ada").sign_in(browser())
    assert "appear here as they happen" in client.get("/live").content.decode()
    assert "graph.js" not in client.get("/live").content.decode(), "nothing is there to be drawn"


# The words -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "data", "says"),
    [
        ("vote.recorded", {"trace": "t", "useful": False, "missed": False}, "gave feedback on a memory: not useful"),
        ("vote.recorded", {"trace": "t", "useful": True, "missed": True}, "gave feedback on a memory: missed"),
        ("votes.applied", {"votes": 2}, "learned from feedback on 2 results"),
        ("job.parked", {"job": "a.b", "tries": 5}, "parked a.b after 5 tries: somebody has to look at it"),
        ("grain.archived", {"why": "not_used", "from": "dormant"}, "archived a memory: not used"),
        ("grain.dormant", {"why": "faded"}, "made a memory dormant: link decayed"),
        ("grain.renamed", {}, "memory renamed"),
        ("grain.renamed", {"reason": "unused", "days": 3, "who": ["a"]}, "memory renamed: reason unused · days 3"),
        ("file.written", {"store": "x", "path": "a.md", "version": 2}, "wrote a.md, version 2"),
        ("messages.removed", {"store": "x", "count": 1}, "removed 1 message from a transcript"),
        ("votes.applied", {}, "feedback applied"),  # without the value its sentence wants
    ],
)
def test_an_event_has_a_sentence(kind, data, says):
    assert event_sentences.event_sentence(kind, data) == says


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("grain.stored", "stores"),
        ("grain.archived", "lifecycle"),
        ("grains.recalled", "recalls"),
        ("votes.undone", "votes"),
        ("cluster.split", "clusters"),
        ("job.done", "jobs"),
        ("warning.raised", "health"),
        ("file.written", "files"),
        ("messages.appended", "files"),
        ("token.minted", "people"),
        ("nobody.knows", "people"),
    ],
)
def test_every_kind_belongs_to_a_filter(kind, group):
    assert event_sentences.event_group(kind) == group and group in event_sentences.GROUPS


def test_a_flush_of_recalls_is_a_line_each_newest_first(memory, oz):
    recall = {"actor": "agent:a", "confidence": 0.5, "hops": 1, "fallback": False, "grains": 2, "rung": "warm"}
    told = [{**recall, "trace": str(uuid.uuid4())} for _ in range(3)]
    booth.write(
        lambda: events.append(
            "grains.recalled", space=memory.principal.space, actor="", subject="", data={"recalls": told}
        )
    )
    text = oz.get("/live?show=recalls").content.decode()
    assert re.findall(r'href="/traces/([^"]+)"', text) == [one["trace"] for one in reversed(told)]
    assert lines(oz.get("/live?show=recalls"))[0].endswith("agent:a recalled 2 memories, confidence 50 %, 1 hop trace")


def test_a_hostile_name_is_only_text(memory, oz):
    booth.write(
        lambda: events.append(
            "x.</script><b>", space=memory.principal.space, actor="<i>", subject="s", data={"<u>": "</script>"}
        )
    )
    text = oz.get("/live").content.decode()
    assert "<i>" not in text and "<u>" not in text and "</script><b>" not in text
    assert json.loads(re.search(r'id="telling"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))["sentences"]


def test_a_page_begins_with_so_many_lines_and_no_more(memory, oz, monkeypatch):
    monkeypatch.setattr(live_page, "LINES", 3)
    for number in range(5):
        memory.ask(f"{number}")
    assert len(lines(oz.get("/live"))) == 3
    assert jobs.counts()["parked"] == 0
