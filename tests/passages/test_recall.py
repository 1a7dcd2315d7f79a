"""One recall finds memories, passages of files and messages, with citations, within the caller's rights."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from fluxcore import clock
from fluxcore.models import UptimeClock
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.artifacts.models import File, Store
from memory.grains.models import Conduit, Grain, Relation
from memory.passages import jobs, upkeep
from memory.passages.models import GrainSource
from tests.artifacts.conftest import FILES, MESSAGES
from tests.passages.conftest import ask

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

PLAN = (
    "# Garden\n\nThe runner beans are sown in March under glass.\n\n## Water\n\nThe tomatoes get water each morning.\n"
)


def cited(api, query, **more):
    return [
        (grain["citation"]["path"], grain["citation"]["version"], grain["citation"]["first_line"])
        for grain in ask(api, query, **more)["grains"]
        if grain["kind"] == "passage"
    ]


def test_a_question_is_answered_from_a_file_before_and_after_an_edit(alice):
    alice.write("garden/plan.md", PLAN)
    grain = ask(alice, "When are the runner beans sown?")["grains"][0]
    assert grain["content"] == "# Garden\n\nThe runner beans are sown in March under glass."
    assert (grain["kind"], grain["status"], grain["session"]) == ("passage", "active", None)
    store = Store.objects.get()
    assert grain["citation"] == {
        "store": str(store.uuid),
        "key": "notes",
        "reference": "notes",
        "path": "garden/plan.md",
        "version": 1,
        "first_line": 1,
        "last_line": 3,
        "heading": "Garden",
    }
    before = clock.rfc3339(clock.now())
    alice.write("garden/plan.md", PLAN.replace("March", "April").replace("# Garden\n", "# Garden\n\nNew line.\n"))
    answer = ask(alice, "When are the runner beans sown?")
    texts = [grain["content"] for grain in answer["grains"]]
    assert "April" in texts[0] and not any("March" in text for text in texts)
    assert answer["grains"][0]["citation"]["version"] == 2
    earlier = ask(alice, "When are the runner beans sown?", as_of=before)["grains"][0]
    assert "March" in earlier["content"] and earlier["citation"]["version"] == 1
    # What both versions share keeps its grain, with its present lines.
    water = next(one for one in ask(alice, "Who gets water each morning?")["grains"] if "tomatoes" in one["content"])
    assert (water["citation"]["version"], water["citation"]["first_line"]) == (2, 7)
    assert Grain.objects.filter(text__contains="tomatoes").count() == 1


def test_memories_and_messages_are_found_beside_passages(alice):
    alice.post("/store", {"content": "Runner beans need a pole of two metres."})
    alice.write("plan.md", PLAN)
    alice.post(
        "/stores/notes/messages",
        {
            "session": "monday",
            "messages": [{"role": "user", "name": "Ada", "content": "My runner beans climb the fence."}],
        },
    )
    found = {grain["kind"]: grain for grain in ask(alice, "What about the runner beans?")["grains"]}
    assert set(found) == {"memory", "passage", "message"}
    message = found["message"]
    assert message["citation"]["message"] == 1 and message["citation"]["session"] == "monday"
    assert (message["speaker"], message["session"]) == ("Ada", "monday")
    assert "citation" not in found["memory"]
    kinds = {grain["kind"] for grain in ask(alice, "What about the runner beans?", kinds=["message"])["grains"]}
    assert kinds == {"message"}
    kinds = {grain["kind"] for grain in ask(alice, "What about the runner beans?", kinds=["memory"])["grains"]}
    assert kinds == {"memory"}


def test_neighbours_are_in_the_order_of_the_file_and_the_transcript(alice):
    said = [{"role": "user", "content": f"Turn {number} is about the shed."} for number in (0, 1, 1, 2, 3)]
    alice.post("/stores/notes/messages", {"messages": said, "session": "monday"})
    alice.write("a.md", "\n\n".join(f"# Part {number}\n\nPart {number} is about the barn." for number in range(4)))
    worker.drain()
    for kind in ("passage", "message"):
        rows = dict(Grain.objects.filter(status=kind).order_by("ordinal").values_list("text", "pk"))
        assert [text.split()[text.split().index("is") - 1] for text in rows] == ["0", "1", "2", "3"], kind
        numbers = list(rows.values())
        links = Conduit.objects.filter(relation=Relation.NEXT, from_grain__in=numbers)
        assert sorted(links.values_list("from_grain", "to_grain")) == sorted(pairwise(numbers)), kind


def test_nobody_recalls_what_they_may_not_read(alice, with_recall):
    alice.write("public/a.md", "The runner beans are public.")
    alice.write("secret/b.md", "The runner beans are secret.")
    alice.post("/stores/notes/messages", {"messages": [{"role": "user", "content": "Runner beans, privately."}]})
    question = "What about the runner beans?"
    assert len(cited(alice, question)) == 2
    blind = with_recall(name="blind")
    assert ask(blind, question)["grains"] == []
    scoped = with_recall("artifacts.read:notes/public/**", name="scoped")
    assert [path for path, _, _ in cited(scoped, question)] == ["public/a.md"]
    assert {grain["kind"] for grain in ask(scoped, question)["grains"]} == {"passage"}
    listener = with_recall("transcript.read:notes", name="listener")
    assert {grain["kind"] for grain in ask(listener, question)["grains"]} == {"message"}
    elsewhere = with_recall(*FILES, *MESSAGES, name="stranger", space="office")
    assert ask(elsewhere, question)["grains"] == []
    # Nor do lists, exports and single grains show them.
    for grain in Grain.objects.all():
        for api in (alice, blind):
            answer = api.get(f"/grains/{grain.uuid}")
            assert answer.status_code == (200 if api is alice else 404), answer.content
    for status in Grain.Status.values:
        assert alice.get("/grains", status=status).json()["grains"] == []


def test_deletion_removes_passages_and_restoring_brings_them_back(alice):
    alice.write("plan.md", PLAN)
    assert cited(alice, "When are the beans sown?")
    before = clock.rfc3339(clock.now())
    alice.delete("/stores/notes/files/plan.md")
    assert cited(alice, "When are the beans sown?") == []
    assert cited(alice, "When are the beans sown?", as_of=before) == []
    alice.post("/stores/notes/restore/plan.md", {"version": 1})
    assert cited(alice, "When are the beans sown?")[0] == ("plan.md", 3, 1)
    alice.delete("/stores/notes")
    assert cited(alice, "When are the beans sown?") == []
    alice.post("/stores/notes/undelete", {})
    assert cited(alice, "When are the beans sown?")[0] == ("plan.md", 3, 1)


def test_a_renamed_file_is_cited_by_its_new_name(alice):
    alice.write("plan.md", PLAN)
    ask(alice, "anything")
    alice.post("/stores/notes/move", {"path": "plan.md", "to": "garden.md"})
    assert [path for path, _, _ in cited(alice, "When are the beans sown?")][:1] == ["garden.md"]
    assert "plan.md" not in [path for path, _, _ in cited(alice, "When are the beans sown?")]


def test_removed_messages_are_recalled_no_more(alice):
    said = [{"role": "user", "content": f"The number of the shed is {number}."} for number in (17, 23)]
    alice.post("/stores/notes/messages", {"messages": said})
    assert len(ask(alice, "What is the number of the shed?")["grains"]) == 2
    removal = alice.post("/stores/notes/messages/pop", {}).json()["removal"]
    assert [one["citation"]["message"] for one in ask(alice, "What is the number of the shed?")["grains"]] == [1]
    alice.post("/stores/notes/messages/restore", {"removal": removal})
    assert len(ask(alice, "What is the number of the shed?")["grains"]) == 2


def test_a_store_becomes_recallable_later_and_stops_being_so(alice):
    from accounts.calls import handler
    from accounts.principals import find_space, shell
    from flux.calls.stores import ChangePolicy

    alice.post("/stores", {"key": "later"})
    alice.write("a.md", "The ferry leaves at nine.", "later")
    assert cited(alice, "When does the ferry leave?") == []
    owner = shell(find_space("home"))
    handler(ChangePolicy)(owner, store="later", recallable=True)
    assert cited(alice, "When does the ferry leave?") == [("a.md", 1, 1)]
    handler(ChangePolicy)(owner, store="later", recallable=False)
    assert cited(alice, "When does the ferry leave?") == []


def test_provenance_is_that_of_the_writer(alice, with_recall):
    low = with_recall(*FILES, name="low", ceiling="external_source")
    low.write("web.md", "The ferry costs nine euros.")
    grain = ask(alice, "What does the ferry cost?")["grains"][0]
    assert (grain["provenance"], grain["authority"]) == ("external_source", "external_source")
    assert ask(alice, "What does the ferry cost?", origin_floor="ai_stated")["grains"] == []


def test_feedback_on_a_passage_counts_and_memories_are_not_counted(alice):
    alice.write("plan.md", PLAN)
    answer = ask(alice, "When are the runner beans sown?")
    vote = {"trace_id": answer["trace_id"], "grain_id": answer["grains"][0]["id"], "useful": True}
    assert alice.post("/feedback", vote).status_code == 200
    worker.drain()
    trace = alice.get(f"/traces/{answer['trace_id']}").json()
    assert trace["texts"][answer["grains"][0]["id"]] == answer["grains"][0]["content"]
    assert alice.get("/grains").json()["count"] == 0
    from memory.grains import usage
    from memory.grains.models import Grain as GrainRow

    assert usage.load_usage(GrainRow.objects.first().space_id) == {}


def test_a_memory_with_the_text_of_a_passage_is_a_memory_of_its_own(alice):
    alice.write("a.md", "The ferry leaves at nine.")
    worker.drain()
    stored = alice.post("/store", {"content": "The ferry leaves at nine."}).json()
    assert stored["status"] == "stored"
    alice.delete("/stores/notes/files/a.md")
    kinds = [grain["kind"] for grain in ask(alice, "When does the ferry leave?")["grains"]]
    assert kinds == ["memory"]


def test_passages_take_no_action_of_memories(alice, with_recall):
    keeper = with_recall("grains.manage", *FILES, name="keeper")
    alice.write("a.md", "The ferry leaves at nine.")
    worker.drain()
    grain = Grain.objects.get()
    for act in ("pin", "archive", "delete", "quarantine", "close"):
        answer = keeper.post(f"/grains/{grain.uuid}/{act}", {"reason": "because"})
        assert answer.status_code == 409 and "file" in answer.json()["message"], (act, answer.content)
    grain.refresh_from_db()
    assert grain.status == "passage"


def test_indexing_again_changes_nothing(alice):
    alice.write("plan.md", PLAN)
    worker.drain()
    state = list(GrainSource.objects.values_list("grain", "version", "first_line", "current"))
    file = File.objects.get()
    booth.write(lambda: jobs.ask_for_file(file.store.space_id, file.pk))
    worker.drain()
    assert list(GrainSource.objects.values_list("grain", "version", "first_line", "current")) == state


def test_old_passages_are_gone_after_a_while(alice, configure):
    alice.write("plan.md", PLAN)
    worker.drain()
    alice.delete("/stores/notes/files/plan.md")
    worker.drain()
    configure(STORE_UNDELETE_DAYS=1)
    File.objects.update(written_at=clock.now() - timedelta(days=2))
    jumped = UptimeClock.objects.create(pk=1, at=clock.now() - timedelta(days=900), lived=10.0)
    booth.write(jobs.ask_to_erase)
    worker.drain()
    assert Grain.objects.exists(), "a clock in doubt erases nothing"
    jumped.delete()
    upkeep.erase_removed(None)
    assert not Grain.objects.exists() and not GrainSource.objects.exists()
