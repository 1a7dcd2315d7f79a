"""Passages as of an earlier time: those the file had then, cited from that version, as long as the store keeps it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.calls import handler
from accounts.principals import find_space, shell
from flux.calls.stores import ChangePolicy
from fluxcore import clock
from fluxcore.work import worker
from memory.artifacts import upkeep as store_upkeep
from memory.artifacts.models import File, FileChange
from memory.grains.models import Grain
from memory.passages import upkeep
from memory.passages.models import GrainSource
from tests.passages.conftest import HeldJob, ask, ask_now

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

SOWN = "When are the beans sown?"


def text(month: str) -> str:
    return f"The beans are sown in {month}."


def write(api, *months: str, path: str = "plan.md", store: str = "notes") -> list[str]:
    """Write versions one after the other, each of them indexed; the times at which they were the newest."""
    times = list[str]()
    for month in months:
        answer = api.write(path, text(month), store)
        assert answer.status_code in (200, 201), answer.content
        worker.drain()
        times.append(clock.rfc3339(clock.now()))
    return times


def found(api, **more) -> list[tuple[str, int]]:
    """Month and cited version of each result, best first."""
    return [
        (one["content"].split()[-1].rstrip("."), one["citation"]["version"])
        for one in ask_now(api, SOWN, **more)["grains"]
    ]


def policy(**change) -> None:
    handler(ChangePolicy)(shell(find_space("home")), store="notes", **change)
    worker.drain()


def test_a_text_that_comes_back_was_not_there_in_between(alice):
    times = write(alice, "March", "April", "March")
    assert found(alice) == [("March", 3)]
    assert [found(alice, as_of=moment) for moment in times] == [[("March", 1)], [("April", 2)], [("March", 3)]]
    assert Grain.objects.count() == 2, "what was learned about it stays"


def test_each_version_is_cited_at_its_own_lines(alice):
    times = write(alice, "March")
    alice.write("plan.md", "# Beans\n\n" + "Long words about beans. " * 20 + "\n\n" + text("March"))
    worker.drain()
    (now,) = (one["citation"] for one in ask(alice, "sown in March")["grains"] if one["content"] == text("March"))
    assert (now["version"], now["first_line"]) == (2, 5)
    (then,) = (one["citation"] for one in ask(alice, "sown in March", as_of=times[0])["grains"])
    assert (then["version"], then["first_line"]) == (1, 1)


def test_versions_that_nobody_indexed_are_not_bridged_unless_they_were_appended(alice):
    (first,) = write(alice, "March")
    alice.write("plan.md", text("April"))
    unseen = clock.rfc3339(clock.now())
    write(alice, "March")
    assert found(alice, as_of=unseen) == []
    assert found(alice, as_of=first) == [("March", 1)] and found(alice) == [("March", 3)]
    for number in range(3):
        alice.append("plan.md", "\n\n" + f"More words of entry {number}. " * 10)
    worker.drain()
    assert GrainSource.objects.filter(grain__text=text("March")).count() == 2, "lines that stay take no new row"


def test_history_is_found_again_after_a_deletion_is_undone(alice):
    times = write(alice, "March", "April")
    expected = [[("March", 1)], [("April", 2)]]

    def seen():
        worker.drain()
        return [found(alice, as_of=moment) for moment in times]

    assert seen() == expected
    alice.delete("/stores/notes")
    assert seen() == [[], []]
    alice.post("/stores/notes/undelete", {})
    assert seen() == expected
    policy(recallable=False)
    assert seen() == [[], []]
    policy(recallable=True)
    assert seen() == expected
    alice.delete("/stores/notes/files/plan.md")
    assert seen() == [[], []]
    alice.post("/stores/notes/restore/plan.md", {"version": 2})
    assert seen() == expected and found(alice) == [("April", 4)]
    File.objects.update(written_at=clock.now() - timedelta(days=900))
    upkeep.erase_removed(None)
    assert seen() == expected


def test_deleted_files_and_stores_are_gone_before_any_job_runs(alice):
    (before,) = write(alice, "March")
    grain = Grain.objects.get()
    alice.delete("/stores/notes/files/plan.md")
    for moment in ({}, {"as_of": before}):
        assert found(alice, **moment) == []
    assert alice.get(f"/grains/{grain.uuid}").status_code == 404
    (before,) = write(alice, "April", path="other.md")
    alice.delete("/stores/notes")
    for moment in ({}, {"as_of": before}):
        assert found(alice, **moment) == []


def test_a_file_deleted_while_a_job_reads_it_stays_away(alice):
    alice.write("plan.md", text("March"))
    held = HeldJob("passages.index_file")
    alice.delete("/stores/notes/files/plan.md")
    worker.drain()
    held.finish()
    worker.drain()
    assert not GrainSource.objects.filter(current=True).exists() and found(alice) == []


def test_versions_beyond_the_most_that_are_kept_are_recalled_and_stored_no_more(alice):
    policy(max_versions=1)
    times = write(alice, "March", "April", "May")
    assert [found(alice, as_of=moment) for moment in times] == [[], [("April", 2)], [("May", 3)]]
    assert alice.file("plan.md", version=1).status_code == 410
    upkeep.erase_removed(None)
    assert sorted(Grain.objects.values_list("text", flat=True)) == [text("April"), text("May")]
    assert [found(alice, as_of=moment) for moment in times] == [[], [("April", 2)], [("May", 3)]]


def test_a_store_without_versions_has_no_passages_of_earlier_ones(alice):
    alice.post("/stores", {"key": "bare", "recallable": True, "keep_versions": False})
    times = write(alice, "March", "April", store="bare")
    assert found(alice, as_of=times[0]) == [] and found(alice) == [("April", 2)]
    alice.write("plan.md", text("May"), "bare")
    assert found(alice) == [], "its text is nowhere any more, and the new one is not indexed yet"
    worker.drain()
    assert found(alice) == [("May", 3)]
    upkeep.erase_removed(None)
    assert [grain.text for grain in Grain.objects.all()] == [text("May")]


def test_versions_older_than_the_retention_are_recalled_and_stored_no_more(alice):
    policy(retention_days=10)
    times = write(alice, "March", "April")
    long_ago = clock.now() - timedelta(days=20)
    FileChange.objects.update(at=long_ago)  # a version is as old as the one that replaced it
    File.objects.update(created_at=long_ago)

    class Log:
        def say(self, line: str) -> None:
            raise AssertionError(line)

    store_upkeep.sweep(Log())  # type: ignore[arg-type]
    assert found(alice, as_of=times[0]) == [] and found(alice) == [("April", 2)]
    upkeep.erase_removed(None)
    assert [grain.text for grain in Grain.objects.all()] == [text("April")]


def test_a_renamed_file_is_found_by_those_who_may_read_its_new_path(alice, with_recall):
    readers = {folder: with_recall(f"artifacts.read:notes/{folder}/**", name=folder) for folder in ("old", "new")}
    write(alice, "March", path="old/plan.md")
    assert {folder: len(found(api)) for folder, api in readers.items()} == {"old": 1, "new": 0}
    alice.post("/stores/notes/move", {"path": "old/plan.md", "to": "new/plan.md"})
    worker.drain()
    assert {folder: len(found(api)) for folder, api in readers.items()} == {"old": 0, "new": 1}
    alice.post("/stores/notes/move", {"path": "new/plan.md", "to": "old/plan.md"})
    worker.drain()
    assert {folder: len(found(api)) for folder, api in readers.items()} == {"old": 1, "new": 0}
    assert Grain.objects.count() == 1


def test_a_renamed_file_keeps_what_was_learned_about_its_passages(alice):
    write(alice, "March", path="a/plan.md")
    write(alice, "April", path="a/other.md")
    alice.write("a/copy.md", text("March"))
    answer = ask(alice, SOWN)
    grain = next(one for one in answer["grains"] if one["citation"]["path"] in ("a/plan.md", "a/copy.md"))
    vote = {"trace_id": answer["trace_id"], "grain_id": grain["id"], "useful": True}
    assert alice.post("/feedback", vote).status_code == 200
    before = {one.pk: one.session for one in Grain.objects.all()}
    moved = alice.post("/stores/notes/move", {"path": "a", "to": "b", "recursive": True})
    assert moved.status_code == 200, moved.content
    alice.post("/stores/notes/move", {"path": "b/other.md", "to": "last.md"})
    worker.drain()
    paths = dict(GrainSource.objects.filter(current=True).values_list("grain", "file"))
    assert paths.keys() == before.keys(), "no new grains"
    named = dict(File.objects.values_list("pk", "path"))
    assert sorted(named[file] for file in paths.values()) == ["b/copy.md", "b/plan.md", "last.md"]
    same = {old.path.removeprefix("a/"): old.pk for old in File.objects.filter(path__startswith="a/")}
    for number, file in paths.items():
        first = GrainSource.objects.filter(grain=number).order_by("id").first()
        assert same[named[file].removeprefix("b/").replace("last.md", "other.md")] == first.file
    listed = alice.get("/stores/notes/passages/" + grain["citation"]["path"].replace("a/", "b/", 1)).json()
    assert [(one["id"], one["useful"]) for one in listed["passages"]] == [(grain["id"], 1)]
    # A new file of the old name begins anew, and keeps its own when the renamed one changes.
    write(alice, "March", path="a/plan.md")
    own = Grain.objects.exclude(pk__in=before).get()
    alice.append("b/plan.md", "\nMore.")
    worker.drain()
    assert Grain.objects.get(pk=own.pk).session == own.session
    assert GrainSource.objects.filter(grain=own, current=True).exists()
