"""Checkpoints: signed heads of the chains, and no alarm for unchanged chains."""

from __future__ import annotations

import stat
import time
from datetime import timedelta

import pytest

from accounts import agents, audit
from accounts.audit import checkpoints, signing
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import StorageUnavailable
from fluxsite.home import DataHome
from tests.accounts.audit_chains import CHAIN, OTHER, edit, kinds, log_of, remove, write
from tests.core.threads import together

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_a_checkpoint_says_how_many_entries_each_chain_has_and_the_last_ones_hash(desk):
    write(5)
    write(3, chain=OTHER)
    made = checkpoints.make_checkpoint()
    wanted = {chain: (head.seq, head.hash) for chain, head in audit.heads().items()}
    assert made.heads == wanted == log_of(desk.log)[-1].heads
    assert {chain: of[0] for chain, of in wanted.items()} == {CHAIN: 5, OTHER: 3}
    assert kinds(desk.log) == ["key", "checkpoint"]
    assert desk.outside.read_bytes() == desk.log.read_bytes()


def test_only_chains_that_moved_get_a_new_one(desk):
    write(5)
    write(3, chain=OTHER)
    checkpoints.make_checkpoint()
    write(1, chain=OTHER)
    assert set(checkpoints.make_checkpoint().heads) == {OTHER}
    before = desk.log.read_bytes()
    assert checkpoints.make_checkpoint().heads == {}
    assert desk.log.read_bytes() == before


def test_nothing_is_made_where_there_is_nothing_to_sign(desk):
    checkpoints.make_checkpoint()
    assert desk.log.read_bytes() == b""
    assert not desk.private.exists()
    assert checkpoints.verify_chains().sound


def test_log_and_keys_are_the_owners_alone_and_the_private_key_stays_there(desk):
    write(1)
    checkpoints.make_checkpoint()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (desk.log, desk.outside, desk.public, desk.private)} == {
        0o600
    }
    private = desk.private.read_text()
    assert desk.public.read_text().split() == [signing.public_half(private)]
    assert private not in desk.log.read_text() + desk.outside.read_text() + str(list(AuditEntry.objects.values()))


@pytest.mark.django_db(transaction=True)
def test_eight_makers_at_once_make_one_key_and_one_log(desk):
    write(20)
    found = together(8, lambda number: (write(1, chain=f"{number:032}"), checkpoints.make_checkpoint())[1])
    assert {type(one) for one in found} == {checkpoints.NewCheckpoint}
    made = log_of(desk.log)
    assert [line.kind for line in made].count("key") == 1
    assert len({(chain, of[0]) for line in made for chain, of in line.heads.items()}) == 9
    assert sum(len(line.heads) for line in made) == 9  # nobody signed what another had signed
    checkpoints.make_checkpoint()
    assert checkpoints.verify_chains().sound


def test_a_chain_whose_new_links_do_not_hold_is_not_signed(desk, caplog):
    write(5)
    write(3, chain=OTHER)
    checkpoints.make_checkpoint()
    write(5, start=5)
    write(1, chain=OTHER)
    edit("actor", "agent:mallory", 8)
    made = checkpoints.make_checkpoint()
    assert set(made.heads) == {OTHER}
    assert [(one.chain, one.broken_at) for one in made.broken] == [(CHAIN, 8)]
    assert "entry 8 was changed" in caplog.text
    assert log_of(desk.log)[-1].heads.keys() == {OTHER}


def test_a_chain_that_became_shorter_is_not_signed(desk):
    write(10)
    checkpoints.make_checkpoint()
    remove(8, 10)
    assert [(one.chain, one.broken_at) for one in checkpoints.make_checkpoint().broken] == [(CHAIN, 8)]


def test_half_a_line_that_a_kill_left_is_no_alarm_and_gives_way(desk):
    write(5)
    checkpoints.make_checkpoint()
    for path in (desk.log, desk.outside):
        path.write_bytes(path.read_bytes() + b'{"at":"2026-01-01T')
    assert checkpoints.verify_chains().sound
    write(5, start=5)
    checkpoints.make_checkpoint()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint"]
    assert checkpoints.verify_chains().sound


def test_with_durability_normal_the_entries_reach_the_disk_first(desk, settings):
    settings.DURABILITY = "normal"
    write(5)
    assert checkpoints.make_checkpoint().heads
    assert checkpoints.verify_chains().sound


def test_a_home_that_cannot_be_written_is_said(desk, settings):
    write(5)
    settings.HOME = DataHome("desk", desk.home.path / "nowhere")
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        checkpoints.make_checkpoint()


def test_the_status_of_every_chain_takes_two_statements(desk, django_assert_num_queries):
    for number in range(12):
        write(number + 1, chain=f"{number:032}")
    agents.create_space(shell(), name="home")
    agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    checkpoints.make_checkpoint()
    write(2, chain=f"{3:032}", start=4)
    with django_assert_num_queries(2):
        found = checkpoints.chain_statuses()
    assert len(found) == 14
    moved = next(one for one in found if one.chain == f"{3:032}")
    assert (moved.entries, moved.checkpoint_entries, moved.space) == (6, 4, None)
    assert next(one for one in found if one.space == "home").checkpoint_entries == 1
    assert all(clock.parse(one.checkpoint_at) <= clock.now() for one in found)


def test_a_chain_without_a_checkpoint_has_none(desk):
    write(2)
    (one,) = checkpoints.chain_statuses()
    assert (one.entries, one.checkpoint_entries, one.checkpoint_at) == (2, None, None)
    report = checkpoints.verify_chains()
    assert (report.sound, report.checkpoints) == (True, {})


def test_an_old_entry_without_a_checkpoint_is_worth_a_warning(desk):
    write(2)
    assert checkpoints.checkpoint_warnings() == []
    AuditEntry.objects.update(at=clock.now() - timedelta(hours=3))
    assert "1 audit chain(s) wait for a checkpoint" in checkpoints.checkpoint_warnings()[0]


@pytest.mark.either_database
def test_twenty_clean_runs_raise_no_alarm(desk):
    for number in range(20):
        write(number % 4, chain=CHAIN, start=number)
        write(1, chain=f"{number:032}")
        if number % 3:
            checkpoints.make_checkpoint()
        if number % 7 == 6:
            checkpoints.rotate_key(shell(), reason="as every week")
        report = checkpoints.verify_chains()
        assert report.sound, report
    assert checkpoints.checkpoint_warnings() == []


@pytest.mark.django_db(transaction=True)
def test_verification_beside_writers_and_checkpoints_raises_no_alarm(desk):
    until = time.monotonic() + 2
    write(1)

    def work(number):
        count = 0
        while time.monotonic() < until:
            if number < 2:
                write(3, chain=[CHAIN, OTHER][number])
            elif number == 2:
                checkpoints.make_checkpoint()
            else:
                report = checkpoints.verify_chains()
                assert report.sound, report
            count += 1
        return count

    found = together(5, work)
    assert all(isinstance(one, int) and one > 2 for one in found), found
