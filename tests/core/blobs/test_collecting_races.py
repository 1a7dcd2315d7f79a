"""Puts and collections of one digest in every order of their steps: a put that succeeds is never lost."""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fluxcore import clock
from fluxcore.blob_backends import StoredFile
from fluxcore.blobs import GRACE, BlobStore, name_of
from fluxcore.errors import Busy


class SteppedPlace:
    """Files in a dict. Each thread waits before each step until the schedule names it; afterwards all run on."""

    moves = False

    def __init__(self) -> None:
        self.found: dict[str, StoredFile] = {}
        self.turns: dict[str, threading.Semaphore] = {}
        self.done: dict[str, threading.Semaphore] = {}
        self.free = False

    def _step(self) -> None:
        name = threading.current_thread().name
        if not self.free and name in self.turns:
            self.done[name].release()
            self.turns[name].acquire()

    def info(self, name):
        self._step()
        return self.found.get(name)

    def take(self, staged, name):
        self._step()
        self.found[name] = StoredFile(name, staged.stat().st_size, clock.now())

    def open(self, name, start):
        self._step()
        return io.BytesIO() if name in self.found else None

    def remove(self, name):
        self._step()
        self.found.pop(name, None)

    def folders(self):
        return [name.partition("/")[0] for name in self.found]

    def list(self, folder):
        if folder == "collecting":  # the folders of blobs are read before anything is done
            self._step()
        return iter([one for name, one in sorted(self.found.items()) if name.startswith(f"{folder}/")])


def run(schedule, folder):
    """Two collections and two puts of one old blob; the outcome of each put."""
    place = SteppedPlace()
    store = BlobStore(place, Path(folder))
    digest = store.put([b"same"]).digest
    name = name_of(digest)
    place.found[name] = place.found[name]._replace(at=clock.now() - GRACE - timedelta(hours=1))
    references: set[str] = set()
    outcomes: list[str] = []

    def put() -> None:
        try:
            store.put([b"same"])
            references.add(digest)  # the caller's commit
            outcomes.append("stored")
        except Busy:
            outcomes.append("busy")

    def collect() -> None:
        store.collect(lambda digests: references & set(digests))

    finished: set[str] = set()

    def to_its_end(who: str, target: Callable[[], None]) -> None:
        try:
            target()
        finally:
            finished.add(who)
            place.done[who].release()

    work = {"put 1": put, "put 2": put, "collect 1": collect, "collect 2": collect}
    threads = {who: threading.Thread(target=to_its_end, args=(who, work[who]), name=who) for who in work}
    for who in work:
        place.turns[who], place.done[who] = threading.Semaphore(0), threading.Semaphore(0)
    for thread in threads.values():
        thread.start()
    for who in schedule:
        if who not in finished:
            place.done[who].acquire()
            place.turns[who].release()
    place.free = True
    for who, thread in threads.items():
        place.turns[who].release()
        thread.join(timeout=10)
        assert not thread.is_alive()
    return place, name, outcomes


WHO = ["put 1", "put 2", "collect 1", "collect 2"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WHO), min_size=4, max_size=40))
def test_a_blob_whose_put_succeeded_can_be_read(schedule):
    with tempfile.TemporaryDirectory() as folder:
        place, name, outcomes = run(schedule, folder)
    assert len(outcomes) == 2
    if "stored" in outcomes:
        assert name in place.found


def test_a_put_during_a_collection_is_refused_and_succeeds_when_repeated(tmp_path):
    """The collection has looked at the blob's age and is about to delete it."""
    steps = ["collect 1"] * 2  # its mark is set, the blob's age is read: the deletion is next
    place, name, outcomes = run([*steps, *["put 1"] * 6, "collect 1", *["put 2"] * 6], tmp_path)
    assert "busy" in outcomes
    BlobStore(place, tmp_path).put([b"same"])
    assert name in place.found
