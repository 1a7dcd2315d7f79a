"""Atomic files: complete or absent after a kill, and readable only by their owner."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fluxcore import files
from tests.instances import ROOT


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o000, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_a_file_is_replaced_whole_and_readable_only_by_its_owner(tmp_path, umask):
    path = tmp_path / "x"
    files.replace_file(path, "one\r\n")
    files.replace_file(path, b"two\n")
    assert (path.read_bytes(), mode(path)) == (b"two\n", 0o600)
    assert [found.name for found in tmp_path.iterdir()] == ["x"]


def test_another_mode_is_set_before_the_file_has_its_name(tmp_path, umask):
    files.replace_file(tmp_path / "x", "shared", mode=0o644)
    assert mode(tmp_path / "x") == 0o644


def test_after_an_exception_only_the_old_file_exists(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(RuntimeError), files.replacing_file(path) as file:
        file.write(b"half of the new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["x"]


def test_a_file_written_without_flush_is_whole(tmp_path, umask, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("the disk was waited for"))
    files.replace_file(tmp_path / "x", "quick", durable=False)
    assert ((tmp_path / "x").read_text(), mode(tmp_path / "x")) == ("quick", 0o600)


def test_a_folder_gets_its_name_when_it_is_whole(tmp_path, umask, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    target = tmp_path / "all"
    with files.new_folder(target) as folder:
        with files.new_file(folder / "one") as file:
            file.write(b"1")
        assert not target.exists() and folder.name.startswith(".")
    assert ((target / "one").read_bytes(), mode(target)) == (b"1", 0o700)
    assert synced[-2:] == [folder, tmp_path]
    with pytest.raises(OSError, match="not empty"), files.new_folder(target):
        pass
    with pytest.raises(RuntimeError), files.new_folder(tmp_path / "other") as folder:
        (folder / "half").touch()
        raise RuntimeError
    assert [found.name for found in tmp_path.iterdir()] == ["all"]


def test_a_long_name_of_any_script_has_a_temporary_one(tmp_path):
    path = tmp_path / ("記" * 80)
    files.replace_file(path, "kept")
    assert path.read_text() == "kept"


def test_of_many_processes_that_make_a_file_one_wins_and_all_read_the_same(tmp_path):
    path, won, start = tmp_path / "key", [], threading.Barrier(8)

    def make(number: int) -> None:
        start.wait()
        if files.create_file(path, f"made by {number}"):
            won.append(number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == f"made by {won[0]}" and len(won) == 1
    assert [found.name for found in tmp_path.iterdir()] == ["key"]


def test_a_new_file_does_not_replace_an_existing_one(tmp_path):
    (tmp_path / "x").write_text("old")
    with pytest.raises(FileExistsError), files.new_file(tmp_path / "x"):
        pass
    assert (tmp_path / "x").read_text() == "old"


def test_folders_are_readable_only_by_their_owner(tmp_path, umask):
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")
    assert {mode(tmp_path / "a"), mode(tmp_path / "a" / "b")} == {0o700}


WRITER = """
import sys, time
from pathlib import Path
from fluxcore import files
with files.replacing_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_old_file_and_a_leftover_that_is_swept_once_it_is_old(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
    assert path.read_text() == "old"
    (left,) = [found for found in tmp_path.iterdir() if found != path]
    assert files.remove_leftovers(tmp_path, older_than_seconds=3600) == 0  # it may still be written to
    os.utime(left, (0, 0))
    assert files.remove_leftovers(tmp_path, older_than_seconds=3600) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_the_module_imports_no_framework():
    code = "import sys, fluxcore.files; assert not {'django', 'numpy', 'yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
