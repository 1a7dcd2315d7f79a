"""Outside checkpoint logs, and logs and keys that a person kept: what they reveal; failures never block."""

from __future__ import annotations

import os
import time

import pytest

from accounts.audit import checkpoints
from accounts.audit.checkpoints import timeout
from accounts.principals import shell
from fluxcore.errors import Invalid
from fluxsite.home import DataHome, make_home
from tests.accounts.audit_chains import problems, rewrite, write

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_an_outside_folder_that_is_away_is_loud_and_stops_nothing(desk, caplog, monkeypatch):
    desk.folder.rmdir()
    write(5)
    made = checkpoints.make_checkpoint()
    assert made.heads
    assert "No such file" in made.outside
    assert "could not be copied to the outside folder" in caplog.text
    assert not desk.folder.exists()  # where a disk is not mounted, its place does not fill up
    assert problems() == ["", "cannot be read: its folder does not exist"]
    assert "cannot be read" in checkpoints.checkpoint_warnings()[0]


def test_a_folder_that_hangs_holds_up_nobody(desk, caplog, monkeypatch):
    """As a network drive does whose server is gone; here a file that waits for somebody to write into it."""
    write(5)
    checkpoints.make_checkpoint()
    desk.outside.unlink()
    os.mkfifo(desk.outside)
    monkeypatch.setattr(timeout, "SECONDS", 4)
    started = time.monotonic()
    try:
        assert problems() == ["", "cannot be read: does not answer"]
        waited = time.monotonic() - started
        assert any("does not answer" in warning for warning in checkpoints.checkpoint_warnings())
        write(5, start=5)
        made = checkpoints.make_checkpoint()
        assert made.heads and "does not answer" in made.outside
        assert "could not be copied to the outside folder" in caplog.text
        assert time.monotonic() - started < waited + 8  # whoever comes later does not wait again, each for four seconds
    finally:
        with desk.outside.open("wb"):
            pass  # lets go of the thread that was left behind
        timeout._running.clear()


def test_the_outside_log_catches_up_when_its_folder_is_back(desk):
    desk.folder.rmdir()
    for part in range(3):
        write(2, start=part * 2)
        checkpoints.make_checkpoint()
    desk.folder.mkdir()
    write(2, start=6)
    assert checkpoints.make_checkpoint().outside == ""
    assert desk.outside.read_bytes() == desk.log.read_bytes()
    assert checkpoints.verify_chains().sound


def test_no_line_is_ever_taken_from_the_outside_log(desk):
    write(2)
    checkpoints.make_checkpoint()
    desk.outside.write_bytes(desk.outside.read_bytes() + b"of another instance\n")
    before = desk.outside.read_bytes()
    write(2, start=2)
    assert "differs from" in checkpoints.make_checkpoint().outside
    assert desk.outside.read_bytes() == before


def test_two_instances_have_a_file_each(desk, settings, tmp_path):
    write(2)
    checkpoints.make_checkpoint()
    other = DataHome("other", tmp_path / "flux" / "other")
    make_home(other)
    checkpoints.make_checkpoint(other)
    assert sorted(path.name for path in desk.folder.iterdir()) == ["desk.jsonl", "other.jsonl"]
    assert checkpoints.verify_chains().sound and checkpoints.verify_chains(home=other).sound


@pytest.fixture
def stolen(desk, settings, tmp_path):
    """Somebody took machine and key, wrote the chain anew and signed it; a person kept a log and the public key."""
    settings.CHECKPOINTS = None
    write(10)
    checkpoints.make_checkpoint()
    (tmp_path / "kept.jsonl").write_bytes(desk.log.read_bytes())
    (tmp_path / "kept.key").write_text(desk.public.read_text())
    rewrite(6, actor="agent:mallory")
    desk.log.unlink()
    desk.public.unlink()
    return tmp_path


def test_a_log_that_a_person_kept_tells_on_whoever_took_the_key_too(stolen):
    checkpoints.make_checkpoint()
    assert checkpoints.verify_chains().sound  # nothing here can know
    report = checkpoints.verify_chains(kept=[stolen / "kept.jsonl"])
    assert not report.sound
    assert [one.broken_at for one in report.chains] == [10]
    assert "line 1 differs from" in report.places[1].problem


def test_a_public_key_that_a_person_kept_tells_on_another_identity(desk, stolen):
    desk.private.unlink()
    checkpoints.make_checkpoint()
    assert checkpoints.verify_chains().sound
    report = checkpoints.verify_chains(public_keys=stolen / "kept.key")
    assert not report.sound
    assert "other keys than those in" in report.places[0].problem


def test_an_older_copy_of_log_and_keys_is_no_alarm(desk, tmp_path):
    write(10)
    checkpoints.make_checkpoint()
    (tmp_path / "kept.jsonl").write_bytes(desk.log.read_bytes())
    (tmp_path / "kept.key").write_text(desk.public.read_text())
    checkpoints.rotate_key(shell())
    write(10, start=10)
    checkpoints.make_checkpoint()
    assert checkpoints.verify_chains(kept=[tmp_path / "kept.jsonl"], public_keys=tmp_path / "kept.key").sound


@pytest.mark.parametrize("text", ["", "banana", "ff", "\xff", "0" * 63 + "g"])
def test_a_file_that_holds_no_public_key_is_refused(desk, tmp_path, text):
    (tmp_path / "key").write_text(text)
    with pytest.raises(Invalid, match=r"cannot be read|not a list of public keys"):
        checkpoints.verify_chains(public_keys=tmp_path / "key")
    with pytest.raises(Invalid, match="does not exist"):
        checkpoints.verify_chains(kept=[tmp_path / "nowhere"])
