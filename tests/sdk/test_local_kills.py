"""Writes of a local store that are killed, or for which the disk is full: all of a write is there, or nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from flux.memory import MemoryStore, journal
from flux.memory.journal import Journal
from fluxcore import files
from tests.sdk.memory_messages import said, sha, user

pytestmark = pytest.mark.storage
# What changes files. The lines of these functions are the steps of a write.
_WRITES = {
    code.__code__
    for code in (
        Journal.write,
        Journal._put,
        Journal._log,
        Journal._complete,
        Journal._take_back,
        Journal._forget,
        files.new_file.__wrapped__,
        files.replacing_file.__wrapped__,
    )
}


def killed_at(step, work):
    """Run in a process that kills itself before a line of the modules that write; whether it came so far."""
    child = os.fork()
    if child == 0:
        lines = 0

        def trace(frame, event, argument):
            nonlocal lines
            if frame.f_code not in _WRITES:
                return None
            lines += event == "line"
            if lines == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        failed = 1
        try:
            signal.alarm(60)
            sys.settrace(trace)
            work()
            failed = 0
        finally:
            os._exit(failed)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), "it neither failed nor waited for ever"
    return status == signal.SIGKILL


def open_and_check(root):
    """Open a store and check that its log, its versions, its facts and its contents agree."""
    store = MemoryStore(root=root, keep_versions=True)
    digests, versions = {}, set()
    for line in (root / "audit/log.jsonl").read_text().splitlines():
        event = json.loads(line)
        assert event["old_sha"] == digests.get(event["path"], ""), "the log is a chain"
        digests[event["path"]] = event["new_sha"]
        versions |= {event["version_file"]} - {""}
    assert {path: store.current_sha(path) for path in digests} == digests
    assert store.list_paths() == sorted(digests)
    found = {path.relative_to(root).as_posix() for path in (root / "versions").rglob("*.txt")}
    assert found == versions, "each version has its line in the log"
    for path, digest in digests.items():
        meta = store.get_meta(path)
        assert (meta.sha256, meta.updated_by) == (digest, "writer"), "no file lost its facts"
    assert not [path for path in root.rglob(".*") if files.is_temporary(path.name)], "nothing is left over"
    return store


@pytest.fixture
def kept(tmp_path):
    """A store with one file in two versions."""
    store = MemoryStore(root=tmp_path / "kept", keep_versions=True, messages=[user("1")])
    for text in ("one", "two"):
        store.write_text("notes/a.md", text, actor="writer")
    store.save()
    return store.root


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("notes/a.md", "two", "three"), ("new.md", "", "first"), ("notes/a.md", "two", "two")],
    ids=["update", "create", "same"],
)
def test_killed_at_every_step_of_a_write(kept, tmp_path, path, before, after):
    def write():
        MemoryStore(root=root, keep_versions=True).write_text(path, after, actor="writer")

    seen, step, killed = set[str](), 0, True
    while killed:
        step += 1
        root = tmp_path / f"tree{step}"
        shutil.copytree(kept, root)
        killed = killed_at(step, write)
        if step % 3 == 0:
            killed_at(step // 3, partial(MemoryStore, root=root))  # who ends the write may be killed as well
        store = open_and_check(root)
        seen.add(store.read_text(path))
        if not killed:
            assert store.read_text(path) == after
        store.write_text(path, "next", actor="writer")
        open_and_check(root)
    assert step > 5 and seen == {before, after}


def test_killed_at_every_step_of_a_save(kept, tmp_path):
    def save():
        store = MemoryStore(root=root)
        store.append(user("2"))
        store.save()

    seen, step, killed = set[int](), 0, True
    while killed:
        step += 1
        root = tmp_path / f"tree{step}"
        shutil.copytree(kept, root)
        killed = killed_at(step, save)
        seen.add(len(said(open_and_check(root))))
    assert step > 5 and seen == {1, 2}


WRITER = """
import itertools, os, sys
from flux.memory import MemoryStore
store = MemoryStore(root=sys.argv[1], keep_versions=True)
for number in itertools.count():
    store.write_text(f"{number % 3}.md", f"{os.getpid()} {number} " * 500, actor="writer")
    store.append({"role": "user", "content": str(number)})
    store.save()
"""


def test_kills_of_a_writer_in_a_loop(tmp_path):
    root = tmp_path / "store"
    log = root / "audit/log.jsonl"
    for number in range(4):
        size = log.stat().st_size if log.exists() else 0
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)])
        until = time.monotonic() + 60
        while not log.exists() or log.stat().st_size < size + 4_000 + 100 * number:
            assert writer.poll() is None and time.monotonic() < until
            time.sleep(0.001)
        writer.kill()
        writer.wait()
        store = open_and_check(root)
        assert all(len(set(store.read_text(path).split(" ")[::2])) <= 2 for path in store.list_paths()), "never a mix"


FULL = """
import resource, sys
from flux.memory import MemoryStore, MemoryStoreError
store = MemoryStore(root=sys.argv[1], keep_versions=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    store.write_text("notes/a.md", sys.argv[3], actor="writer")
except MemoryStoreError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["log", "content", "journal"])
def test_a_full_disk(kept, tmp_path, what):
    """A limit on the size of files, that the log or the content reaches, or already the note of what is to be done."""
    store, log = MemoryStore(root=kept, keep_versions=True), kept / "audit/log.jsonl"
    while log.stat().st_size < 5_000:
        store.write_text("other.md", str(log.stat().st_size), actor="writer")
    limit = {"log": log.stat().st_size + 20, "content": 20_000, "journal": 20}[what]
    content = "x" * (30_000 if what == "content" else 10)
    before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(kept), str(limit), content], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout, done.stdout
    assert {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == before
    open_and_check(kept)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"part": "../outside.txt"},
        {"part": "../.x.0123456789abcdef.part"},
        {"meta_part": "../.x.0123456789abcdef.part"},
        {"meta_part": ""},
        {"version": "../outside.txt"},
        {"version": "versions/notes%2Fa.md/../../../outside.txt"},
        {"place": "../outside.txt"},
        {"meta": "../outside.txt"},
        {"part": None},
        {"log_size": "1"},
        {"unknown": 1},
        None,
    ],
)
def test_a_journal_from_elsewhere_reaches_only_its_store(kept, spoiled):
    """A folder may come from somebody else, and is opened all the same."""
    outside = [kept.parent / "outside.txt", kept.parent / ".x.0123456789abcdef.part"]
    for file in outside:
        file.write_text("mine")
    intent = {"place": "notes/a.md", "meta": "meta/notes%2Fa.md.json", "meta_text": "changed"}
    intent |= {"new_sha": sha("two"), "meta_part": "meta/.x.0123456789abcdef.part"}
    text = "{" if spoiled is None else json.dumps(intent | spoiled)
    (kept / journal.JOURNAL).write_text(text)
    open_and_check(kept)
    assert [file.read_text() for file in outside] == ["mine", "mine"]
    (kept / journal.JOURNAL).symlink_to(outside[0])
    open_and_check(kept).write_text("notes/a.md", "three", actor="writer")
    assert outside[0].read_text() == "mine"


def test_old_temporary_files_are_removed(kept):
    old, young = kept / "notes" / ".a.md.0123456789abcdef.part", kept / ".b.0123456789abcdef.part"
    for file in (old, young):
        file.write_text("half")
    os.utime(old, (1, 1))
    MemoryStore(root=kept)
    assert not old.exists() and young.exists(), "a copy may be writing the young one"
    os.utime(young, (1, 1))
    MemoryStore(root=kept).save(kept.parent / "copy")
    assert not young.exists()
