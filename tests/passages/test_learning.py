"""Feedback, learning, clusters, decay and health in a space that has passages, messages and values beside memories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth, write_locks
from memory.arena.cache import arena_cache
from memory.clusters import jobs as cluster_jobs
from memory.engine.kinds import MADE_KINDS
from memory.grains.lifecycle import jobs as lifecycle_jobs
from memory.grains.models import Grain, Member, Vote
from memory.health import jobs as health_jobs
from memory.learning import ranker_weights
from tests.artifacts.conftest import FILES, MESSAGES, Stores

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

KEYS = ("memory.read", "memory.write")
BEANS = "What about the runner beans?"


@pytest.fixture
def with_recall(make_token):
    def make(*capabilities, name="alice"):
        held = ("grains.read", "grains.write", "grains.feedback", "graph.export", *capabilities)
        return Stores(make_token(name, capabilities=held))

    return make


@pytest.fixture
def alice(with_recall):
    """An agent with one memory, passage, message and value about the same."""
    api = with_recall(*FILES, *MESSAGES, *KEYS)
    api.post("/stores", {"key": "notes", "recallable": True})
    api.put("/agents/alice/recallable", {})
    api.post("/store", {"content": "Runner beans need a pole of two metres."})
    api.write("garden/plan.md", "# Beans\n\nThe runner beans are sown in March.\n")
    api.post(
        "/stores/notes/messages", {"messages": [{"role": "user", "name": "Ada", "content": "My runner beans climb."}]}
    )
    api.put("/agents/alice/kv/beans", {"value": "The runner beans are red."})
    worker.drain()
    return api


def ask(api: Stores, query: str = BEANS) -> Any:
    worker.drain()
    answer = api.post("/retrieve", {"query": query})
    assert answer.status_code == 200, answer.content
    return answer.json()


def by_kind(answer: Any) -> dict[str, Any]:
    return {grain["kind"]: grain for grain in answer["grains"]}


def vote(api: Stores, answer: Any, **given: Any) -> Any:
    return api.post("/feedback", {"trace_id": answer["trace_id"], **given})


def test_votes_missed_and_undo_work_on_every_kind(alice, with_recall):
    answer = ask(alice)
    found = by_kind(answer)
    assert set(found) == {"memory", *MADE_KINDS}
    before = {grain.pk: grain.status for grain in Grain.objects.all()}
    for kind in MADE_KINDS:
        recorded = vote(alice, answer, grain_id=found[kind]["id"], useful=True)
        assert recorded.status_code == 200 and recorded.json()["changed"] is True, kind
    worker.drain()
    assert Vote.objects.filter(applied=True).count() == 3
    learned = ask(alice)
    parts = {
        one["grain_id"]: {part["name"] for part in one["parts"]}
        for one in alice.get(f"/traces/{learned['trace_id']}").json()["grains"]
    }
    assert all("learning" in parts[found[kind]["id"]] for kind in MADE_KINDS)
    assert "learning" not in parts[found["memory"]["id"]]
    for kind in MADE_KINDS:
        assert alice.delete(f"/feedback/{answer['trace_id']}/{found[kind]['id']}").json()["changed"] is True
    worker.drain()
    again = alice.get(f"/traces/{ask(alice)['trace_id']}").json()
    assert not any(part["name"] == "learning" for one in again["grains"] for part in one["parts"])
    # What was missed can be named by those who may read it.
    other = ask(alice, "Who sings in the choir?")
    missed = [found[kind]["id"] for kind in MADE_KINDS]
    assert vote(alice, other, missed=missed).status_code == 200
    blind = with_recall(name="blind")
    for one in missed:
        refused = vote(blind, ask(blind, "Who sings in the choir?"), missed=[one])
        assert refused.status_code == 404, refused.content
    worker.drain()
    assert set(missed) <= {grain["id"] for grain in ask(alice, "Who sings in the choir?")["grains"]}
    assert {grain.pk: grain.status for grain in Grain.objects.all()} == before


def test_the_dossier_leads_to_the_source_and_back(alice, with_recall):
    answer = ask(alice)
    found = by_kind(answer)
    vote(alice, answer, grain_id=found["passage"]["id"], useful=True)
    vote(alice, answer, grain_id=found["message"]["id"], useful=False)
    ask(alice)
    sources = {}
    for kind in MADE_KINDS:
        dossier = alice.get(f"/grains/{found[kind]['id']}").json()
        assert (dossier["kind"], dossier["status"]) == (kind, "active")
        sources[kind] = alice.client.get(dossier["citation"]["address"], headers=alice._headers(None))
        assert sources[kind].status_code == 200, dossier["citation"]
    assert b"sown in March" in b"".join(sources["passage"])
    assert [one["message"]["content"] for one in sources["message"].json()["messages"]] == ["My runner beans climb."]
    assert sources["value"].json()["value"] == "The runner beans are red."
    back = {
        "passage": "/stores/notes/passages/garden/plan.md",
        "message": "/stores/notes/passages?message=1",
        "value": "/agents/alice/passages/beans",
    }
    numbers = {"passage": (2, 1, 0), "message": (2, 0, 1), "value": (2, 0, 0)}
    lists = {kind: alice.client.get(address, headers=alice._headers(None)).json() for kind, address in back.items()}
    for kind, listed in lists.items():
        (one,) = listed["passages"]
        assert (one["id"], one["content"]) == (found[kind]["id"], found[kind]["content"])
        assert (one["recalls"], one["useful"], one["not_useful"]) == numbers[kind], kind
        assert one["current"] is True and listed["next_cursor"] is None
    assert (lists["passage"]["passages"][0]["first_line"], lists["passage"]["passages"][0]["heading"]) == (1, "Beans")
    # Pages, and what only earlier versions have.
    alice.write("garden/plan.md", "\n\n".join(f"# {number}\n\nBeans of the year {number}." for number in range(5)))
    worker.drain()
    address = back["passage"]
    page = alice.get(address, limit=3).json()
    rest = alice.get(address, limit=3, cursor=page["next_cursor"]).json()
    assert (page["count"], rest["count"], rest["next_cursor"]) == (3, 2, None)
    earlier = alice.get(address, earlier="true").json()
    assert [one["current"] for one in earlier["passages"]] == [False, *[True] * 5]
    # Only for those who may read it, and recall.
    for held in ((), ("artifacts.read:notes/other/*",)):
        for path in back.values():
            stranger = with_recall(*held, name=f"stranger{len(held)}")
            assert stranger.client.get(path, headers=stranger._headers(None)).status_code == 403, (held, path)
    alice.delete("/stores/notes/files/garden/plan.md")
    alice.delete("/agents/alice/kv/beans")
    worker.drain()
    for kind in ("passage", "value"):
        assert alice.client.get(back[kind], headers=alice._headers(None)).json()["passages"] == []


def test_clusters_decay_cleanup_and_health_leave_them_as_they_are(alice):
    for number in range(8):
        alice.post("/store", {"content": f"Tomatoes in bed {number} belong to Anna of the Garden Club."})
        alice.write(f"bed{number}.md", f"Beans in bed {number} belong to Anna of the Garden Club.")
    worker.drain()
    space = Grain.objects.first().space_id
    made = Grain.objects.filter(status__in=MADE_KINDS)
    state = list(made.order_by("pk").values_list("pk", "status", "decay_class", "valid_to", "confidence"))
    assert len(state) == 11

    def request() -> None:
        cluster_jobs.ask_for_clustering(space, anyway=True)
        lifecycle_jobs.age(space)
        lifecycle_jobs.clean(space)
        health_jobs.ask_to_gather()
        health_jobs.ask_to_measure(space)

    with time_machine.travel(clock.now() + timedelta(days=900), tick=False):
        booth.write(request, lock=write_locks.lock_name(space))
        worker.drain()
        assert list(made.order_by("pk").values_list("pk", "status", "decay_class", "valid_to", "confidence")) == state
        assert not Member.objects.filter(grain__in=made).exists()
    assert alice.get("/grains", limit=100).json()["count"] == Grain.objects.filter(status="active").count()
    exported = b"".join(alice.client.get("/graph/export", headers=alice._headers(None))).decode()
    assert "Beans in bed" not in exported


def test_own_weights_are_fitted_to_votes_on_passages_too(alice):
    answer = ask(alice)
    vote(alice, answer, grain_id=by_kind(answer)["passage"]["id"], useful=True)
    worker.drain()
    space = Grain.objects.first().space_id
    (asked,) = ranker_weights._asked(space)
    with arena_cache().arena(space) as (arena, _):
        fitting = ranker_weights._fitting_question(arena, asked)
        assert fitting is not None and fitting.useful.sum() == 1 and len(fitting.useful) == 4
