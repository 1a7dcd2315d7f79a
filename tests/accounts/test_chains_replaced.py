"""Chains replaced by a reset, a restore or a move: reported, and no alarm."""

from __future__ import annotations

import pytest

from accounts.audit import checkpoints
from accounts.models import AuditEntry
from fluxsite.home import DataHome, make_home
from tests.accounts.audit_chains import CHAIN, kinds, remove, write

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


@pytest.mark.parametrize("kind", ["reset", "restore"])
def test_chains_that_an_operator_replaced_are_no_alarm_but_are_said(desk, kind):
    write(10)
    checkpoints.make_checkpoint()
    checkpoints.start_over(desk.home, kind)
    AuditEntry.objects.all().delete()
    assert checkpoints.verify_chains().sound
    write(3, start=50)
    checkpoints.make_checkpoint()
    report = checkpoints.verify_chains()
    assert report.sound
    assert [(one.kind, one.entries) for one in report.replaced] == [(kind, {CHAIN: 10})]
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", kind, "checkpoint"]
    remove(3)
    assert [one.broken_at for one in checkpoints.verify_chains().chains] == [3]


def test_a_reset_looks_at_the_chains_a_last_time(desk):
    write(10)
    checkpoints.start_over(desk.home, "reset")
    assert kinds(desk.log) == ["key", "checkpoint", "reset"]
    assert checkpoints.verify_chains().replaced[0].entries == {CHAIN: 10}


def test_a_broken_log_does_not_stand_in_the_way_of_a_reset_and_is_not_made_good_by_it(desk, caplog):
    write(10)
    checkpoints.make_checkpoint()
    desk.log.write_bytes(desk.log.read_bytes() + b"nonsense\n")
    before = desk.log.read_bytes()
    checkpoints.start_over(desk.home, "reset")
    assert desk.log.read_bytes() == before
    assert "this reset could not be noted" in caplog.text
    assert not checkpoints.verify_chains().sound


def test_an_instance_that_moves_takes_up_the_outside_log(desk, settings, tmp_path):
    """The machine is lost; the backup is older than the folder outside. The log goes on where that one ends."""
    write(4)
    checkpoints.make_checkpoint()
    backup = DataHome("desk", tmp_path / "backup")
    make_home(backup)
    backup.checkpoints.write_bytes(desk.log.read_bytes())
    for name in ("audit_signing_key", "audit_public_keys"):
        backup.keep_secret(name, (desk.home.keys / name).read_text())
    write(4, start=4)
    checkpoints.make_checkpoint()
    settings.HOME = backup
    remove(5, 8)
    checkpoints.hand_over(DataHome("desk", tmp_path / "lost"), backup)
    checkpoints.make_checkpoint()
    assert (
        kinds(backup.checkpoints) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint", "restore", "checkpoint"]
    )
    report = checkpoints.verify_chains()
    assert report.sound, report
    assert report.replaced[0].entries == {CHAIN: 8}
