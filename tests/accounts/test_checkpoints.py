"""Checkpoints: signed lines about where the chains stood, in two places, that nobody can be without noticing."""

from __future__ import annotations

import json
import os
import stat
import time
from datetime import timedelta

import pytest

from accounts import agents, audit, checkpoints, signing
from accounts.checkpoints import book, lines, patience, schedule
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import booth, clock
from fluxcore.errors import Conflict, Invalid, StorageUnavailable
from fluxsite.home import Home, make_home
from tests.accounts.chains import CHAIN, OTHER, edit, remove, rewrite, write
from tests.core.threads import together

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def log_of(path):
    found = lines.read(path)
    assert not found.problem
    return found.lines


def kinds(path):
    return [line.kind for line in log_of(path)]


def problems():
    return [place.problem for place in checkpoints.verdicts().places]


# Making them -----------------------------------------------------------------------------------------------------


def test_a_checkpoint_says_how_many_entries_each_chain_has_and_the_last_ones_hash(desk):
    write(5)
    write(3, chain=OTHER)
    made = checkpoints.make()
    wanted = {chain: (head.seq, head.hash) for chain, head in audit.heads().items()}
    assert made.heads == wanted == log_of(desk.log)[-1].heads
    assert {chain: of[0] for chain, of in wanted.items()} == {CHAIN: 5, OTHER: 3}
    assert kinds(desk.log) == ["key", "checkpoint"]
    assert desk.outside.read_bytes() == desk.log.read_bytes()


def test_only_chains_that_moved_get_a_new_one(desk):
    write(5)
    write(3, chain=OTHER)
    checkpoints.make()
    write(1, chain=OTHER)
    assert set(checkpoints.make().heads) == {OTHER}
    before = desk.log.read_bytes()
    assert checkpoints.make().heads == {}
    assert desk.log.read_bytes() == before


def test_nothing_is_made_where_there_is_nothing_to_sign(desk):
    checkpoints.make()
    assert desk.log.read_bytes() == b""
    assert not desk.private.exists()
    assert checkpoints.verdicts().sound


def test_log_and_keys_are_the_owners_alone_and_the_private_key_stays_there(desk):
    write(1)
    checkpoints.make()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (desk.log, desk.outside, desk.public, desk.private)} == {
        0o600
    }
    private = desk.private.read_text()
    assert desk.public.read_text().split() == [signing.public_half(private)]
    assert private not in desk.log.read_text() + desk.outside.read_text() + str(list(AuditEntry.objects.values()))


@pytest.mark.django_db(transaction=True)
def test_eight_makers_at_once_make_one_key_and_one_log(desk):
    write(20)
    found = together(8, lambda number: (write(1, chain=f"{number:032}"), checkpoints.make())[1])
    assert {type(one) for one in found} == {checkpoints.Made}
    made = log_of(desk.log)
    assert [line.kind for line in made].count("key") == 1
    assert len({(chain, of[0]) for line in made for chain, of in line.heads.items()}) == 9
    assert sum(len(line.heads) for line in made) == 9  # nobody signed what another had signed
    checkpoints.make()
    assert checkpoints.verdicts().sound


def test_a_chain_whose_new_links_do_not_hold_is_not_signed(desk, caplog):
    write(5)
    write(3, chain=OTHER)
    checkpoints.make()
    write(5, start=5)
    write(1, chain=OTHER)
    edit("actor", "agent:mallory", 8)
    made = checkpoints.make()
    assert set(made.heads) == {OTHER}
    assert [(one.chain, one.broken_at) for one in made.broken] == [(CHAIN, 8)]
    assert "entry 8 was changed" in caplog.text
    assert log_of(desk.log)[-1].heads.keys() == {OTHER}


def test_a_chain_that_became_shorter_is_not_signed(desk):
    write(10)
    checkpoints.make()
    remove(8, 10)
    assert [(one.chain, one.broken_at) for one in checkpoints.make().broken] == [(CHAIN, 8)]


def test_half_a_line_that_a_kill_left_is_no_alarm_and_gives_way(desk):
    write(5)
    checkpoints.make()
    for path in (desk.log, desk.outside):
        path.write_bytes(path.read_bytes() + b'{"at":"2026-01-01T')
    assert checkpoints.verdicts().sound
    write(5, start=5)
    checkpoints.make()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint"]
    assert checkpoints.verdicts().sound


def test_with_durability_normal_the_entries_reach_the_disk_first(desk, settings):
    settings.DURABILITY = "normal"
    write(5)
    assert checkpoints.make().heads
    assert checkpoints.verdicts().sound


def test_a_home_that_cannot_be_written_is_said(desk, settings):
    write(5)
    settings.HOME = Home("desk", desk.home.path / "nowhere")
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        checkpoints.make()


# Knowing where things stand ----------------------------------------------------------------------------------------


def test_the_status_of_every_chain_takes_two_statements(desk, django_assert_num_queries):
    for number in range(12):
        write(number + 1, chain=f"{number:032}")
    agents.create_space(shell(), name="home")
    agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    checkpoints.make()
    write(2, chain=f"{3:032}", start=4)
    with django_assert_num_queries(2):
        found = checkpoints.status()
    assert len(found) == 14
    moved = next(one for one in found if one.chain == f"{3:032}")
    assert (moved.entries, moved.checkpoint_entries, moved.space) == (6, 4, None)
    assert next(one for one in found if one.space == "home").checkpoint_entries == 1
    assert all(clock.parse(one.checkpoint_at) <= clock.now() for one in found)


def test_a_chain_without_a_checkpoint_has_none(desk):
    write(2)
    (one,) = checkpoints.status()
    assert (one.entries, one.checkpoint_entries, one.checkpoint_at) == (2, None, None)
    report = checkpoints.verdicts()
    assert (report.sound, report.checkpoints) == (True, {})


def test_an_old_entry_without_a_checkpoint_is_worth_a_warning(desk):
    write(2)
    assert checkpoints.warnings() == []
    AuditEntry.objects.update(at=clock.now() - timedelta(hours=3))
    assert "1 audit chain(s) wait for a checkpoint" in checkpoints.warnings()[0]


# No false alarm -----------------------------------------------------------------------------------------------------


def test_twenty_clean_runs_raise_no_alarm(desk):
    for number in range(20):
        write(number % 4, chain=CHAIN, start=number)
        write(1, chain=f"{number:032}")
        if number % 3:
            checkpoints.make()
        if number % 7 == 6:
            checkpoints.rotate_key(shell(), reason="as every week")
        report = checkpoints.verdicts()
        assert report.sound, report
    assert checkpoints.warnings() == []


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
                checkpoints.make()
            else:
                report = checkpoints.verdicts()
                assert report.sound, report
            count += 1
        return count

    found = together(5, work)
    assert all(isinstance(one, int) and one > 2 for one in found), found


# Outside ------------------------------------------------------------------------------------------------------------


def test_an_outside_folder_that_is_away_is_loud_and_stops_nothing(desk, caplog, monkeypatch):
    desk.folder.rmdir()
    write(5)
    made = checkpoints.make()
    assert made.heads
    assert "No such file" in made.outside
    assert "not kept outside" in caplog.text
    assert not desk.folder.exists()  # where a disk is not mounted, its place does not fill up
    assert problems() == ["", "is out of reach: its folder is not there"]
    assert "out of reach" in checkpoints.warnings()[0]


def test_a_folder_that_hangs_holds_up_nobody(desk, caplog, monkeypatch):
    """As a network drive does whose server is gone; here a file that waits for somebody to write into it."""
    write(5)
    checkpoints.make()
    desk.outside.unlink()
    os.mkfifo(desk.outside)
    monkeypatch.setattr(patience, "SECONDS", 0.2)
    started = time.monotonic()
    try:
        assert problems() == ["", "is out of reach: does not answer"]
        waited = time.monotonic() - started
        assert any("does not answer" in warning for warning in checkpoints.warnings())
        write(5, start=5)
        made = checkpoints.make()
        assert made.heads and "does not answer" in made.outside
        assert "not kept outside" in caplog.text
        assert time.monotonic() - started < waited + 1  # whoever comes later does not wait again
    finally:
        with desk.outside.open("wb"):
            pass  # lets go of the thread that was left behind
        patience._asked.clear()


def test_the_outside_log_catches_up_when_its_folder_is_back(desk):
    desk.folder.rmdir()
    for part in range(3):
        write(2, start=part * 2)
        checkpoints.make()
    desk.folder.mkdir()
    write(2, start=6)
    assert checkpoints.make().outside == ""
    assert desk.outside.read_bytes() == desk.log.read_bytes()
    assert checkpoints.verdicts().sound


def test_no_line_is_ever_taken_from_the_outside_log(desk):
    write(2)
    checkpoints.make()
    desk.outside.write_bytes(desk.outside.read_bytes() + b"of another instance\n")
    before = desk.outside.read_bytes()
    write(2, start=2)
    assert "holds other lines" in checkpoints.make().outside
    assert desk.outside.read_bytes() == before


def test_two_instances_have_a_file_each(desk, settings, tmp_path):
    write(2)
    checkpoints.make()
    other = Home("other", tmp_path / "flux" / "other")
    make_home(other)
    checkpoints.make(other)
    assert sorted(path.name for path in desk.folder.iterdir()) == ["desk.jsonl", "other.jsonl"]
    assert checkpoints.verdicts().sound and checkpoints.verdicts(home=other).sound


# On schedule --------------------------------------------------------------------------------------------------------


@pytest.fixture
def sweep(desk):
    return lambda: booth.write(schedule.when_due)


def test_the_worker_does_it_among_its_minute_chores(desk):
    from fluxcore import sweep

    write(2)
    sweep.sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]


def test_the_first_minute_makes_one_and_the_next_ones_wait(desk, sweep):
    write(2)
    sweep()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint"]
    write(2, start=2)
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]


def test_a_minute_that_is_not_due_asks_the_database_nothing(desk, sweep, django_assert_num_queries):
    sweep()

    def chore():
        with django_assert_num_queries(0):
            schedule.when_due()

    booth.write(chore)


def test_a_new_one_is_made_when_the_last_is_old_enough(desk, sweep, settings, monkeypatch):
    write(2)
    sweep()
    write(2, start=2)
    monkeypatch.setattr(schedule, "_looked", None)  # another worker, that does not know of the first
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]
    moment = clock.now() + timedelta(minutes=61)
    monkeypatch.setattr(schedule, "_looked", None)
    monkeypatch.setattr(clock, "now", lambda: moment)
    sweep()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint"]


def test_a_line_from_the_future_does_not_end_the_schedule(desk, sweep, monkeypatch):
    write(2)
    moment = clock.now() + timedelta(days=400)
    with monkeypatch.context() as wrong:
        wrong.setattr(clock, "now", lambda: moment)
        checkpoints.make()
    write(2, start=2)
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint", "checkpoint"]


def test_zero_minutes_is_never(desk, sweep, monkeypatch):
    from fluxcore import config

    write(2)
    monkeypatch.setattr(config, "current", lambda: config.Config(AUDIT_CHECKPOINT_MINUTES=0))
    sweep()
    assert not desk.log.exists()


def test_a_log_that_cannot_go_on_does_not_stop_the_sweep(desk, sweep, caplog):
    write(2)
    desk.log.write_text("nonsense\n")
    sweep()
    assert "no checkpoint was made" in caplog.text
    assert "line 1 is not JSON" in checkpoints.warnings()[0]


# Keys ---------------------------------------------------------------------------------------------------------------


def test_a_new_key_is_signed_by_the_old_one_and_named_on_the_chain(desk):
    write(5)
    checkpoints.make()
    old = desk.public.read_text().split()
    found = checkpoints.rotate_key(shell(), reason="yearly")
    assert desk.public.read_text().split() == found["keys"] == [*old, found["key"]]
    assert signing.public_half(desk.private.read_text()) == found["key"]
    *_, last, change = log_of(desk.log)
    assert (last.kind, last.key, change.kind, change.key, change.next) == (
        "checkpoint",
        old[0],
        "key",
        *old,
        found["key"],
    )
    entry = AuditEntry.objects.get(action="audit.rotate_key")
    assert (entry.chain, entry.reason, json.loads(entry.details)) == ("instance", "yearly", {"key": found["key"]})
    assert last.heads["instance"] == (1, entry.hash)  # the old key's last word knows of the new one
    write(1, start=5)
    checkpoints.make()
    assert log_of(desk.log)[-1].key == found["key"]
    assert desk.outside.read_bytes() == desk.log.read_bytes()
    assert checkpoints.verdicts().sound


@pytest.mark.django_db(transaction=True)
def test_four_changes_of_keys_at_once_are_four_keys_in_a_row(desk):
    write(1)
    found = together(4, lambda _: checkpoints.rotate_key(shell())["key"])
    assert sorted(found) == sorted(desk.public.read_text().split()[1:])
    assert checkpoints.verdicts().sound


@pytest.mark.parametrize("reached", ["next key", "line", "list"])
def test_a_kill_in_the_middle_of_a_change_of_keys_is_no_alarm_and_is_finished(desk, reached):
    write(2)
    checkpoints.make()
    old, private = desk.public.read_text(), signing.generate()
    desk.home.keep_secret(signing.NEXT_KEY, private)
    if reached != "next key":
        with book.opened(desk.home) as open_book:
            desk.home.keep_secret(signing.NEXT_KEY, private)  # opening has put the abandoned one away
            open_book.add("key", next=signing.public_half(private))
    if reached == "list":
        desk.home.keep_secret(signing.PUBLIC_KEYS, old + signing.public_half(private) + "\n")
    assert checkpoints.verdicts().sound
    write(2, start=2)
    checkpoints.make()
    in_force = signing.public_half(desk.private.read_text())
    assert log_of(desk.log)[-1].key == in_force == desk.public.read_text().split()[-1]
    assert (in_force == signing.public_half(private)) == (reached != "next key")
    assert not (desk.home.keys / signing.NEXT_KEY).exists()
    assert checkpoints.verdicts().sound


def test_a_kill_while_the_first_key_is_made_is_no_alarm_and_is_finished(desk):
    write(2)
    checkpoints.make()
    desk.public.unlink()
    assert checkpoints.verdicts().sound
    write(2, start=2)
    checkpoints.make()
    assert desk.public.read_text().split() == [signing.public_half(desk.private.read_text())]


def test_no_key_follows_on_a_log_that_does_not_hold(desk):
    write(2)
    checkpoints.make()
    desk.log.unlink()
    with pytest.raises(Conflict, match="missing or empty, although it has been signed before"):
        checkpoints.rotate_key(shell())
    assert not AuditEntry.objects.filter(action="audit.rotate_key").exists()


# Kept elsewhere -----------------------------------------------------------------------------------------------------


@pytest.fixture
def stolen(desk, settings, tmp_path):
    """Somebody took machine and key, wrote the chain anew and signed it; a person kept a log and the public key."""
    settings.CHECKPOINTS = None
    write(10)
    checkpoints.make()
    (tmp_path / "kept.jsonl").write_bytes(desk.log.read_bytes())
    (tmp_path / "kept.key").write_text(desk.public.read_text())
    rewrite(6, actor="agent:mallory")
    desk.log.unlink()
    desk.public.unlink()
    return tmp_path


def test_a_log_that_a_person_kept_tells_on_whoever_took_the_key_too(stolen):
    checkpoints.make()
    assert checkpoints.verdicts().sound  # nothing here can know
    report = checkpoints.verdicts(kept=[stolen / "kept.jsonl"])
    assert not report.sound
    assert [one.broken_at for one in report.chains] == [10]
    assert "line 1 is not the one in" in report.places[1].problem


def test_a_public_key_that_a_person_kept_tells_on_another_identity(desk, stolen):
    desk.private.unlink()
    checkpoints.make()
    assert checkpoints.verdicts().sound
    report = checkpoints.verdicts(public_keys=stolen / "kept.key")
    assert not report.sound
    assert "other keys than those in" in report.places[0].problem


def test_an_older_copy_of_log_and_keys_is_no_alarm(desk, tmp_path):
    write(10)
    checkpoints.make()
    (tmp_path / "kept.jsonl").write_bytes(desk.log.read_bytes())
    (tmp_path / "kept.key").write_text(desk.public.read_text())
    checkpoints.rotate_key(shell())
    write(10, start=10)
    checkpoints.make()
    assert checkpoints.verdicts(kept=[tmp_path / "kept.jsonl"], public_keys=tmp_path / "kept.key").sound


@pytest.mark.parametrize("text", ["", "banana", "ff", "\xff", "0" * 63 + "g"])
def test_a_file_that_holds_no_public_key_is_refused(desk, tmp_path, text):
    (tmp_path / "key").write_text(text)
    with pytest.raises(Invalid, match=r"cannot be read|not a list of public keys"):
        checkpoints.verdicts(public_keys=tmp_path / "key")
    with pytest.raises(Invalid, match="is not there"):
        checkpoints.verdicts(kept=[tmp_path / "nowhere"])


# Chains that were replaced --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["reset", "restore"])
def test_chains_that_an_operator_replaced_are_no_alarm_but_are_said(desk, kind):
    write(10)
    checkpoints.make()
    checkpoints.begin_anew(desk.home, kind)
    AuditEntry.objects.all().delete()
    assert checkpoints.verdicts().sound
    write(3, start=50)
    checkpoints.make()
    report = checkpoints.verdicts()
    assert report.sound
    assert [(one.kind, one.entries) for one in report.replaced] == [(kind, {CHAIN: 10})]
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", kind, "checkpoint"]
    remove(3)
    assert [one.broken_at for one in checkpoints.verdicts().chains] == [3]


def test_a_reset_looks_at_the_chains_a_last_time(desk):
    write(10)
    checkpoints.begin_anew(desk.home, "reset")
    assert kinds(desk.log) == ["key", "checkpoint", "reset"]
    assert checkpoints.verdicts().replaced[0].entries == {CHAIN: 10}


def test_a_broken_log_does_not_stand_in_the_way_of_a_reset_and_is_not_made_good_by_it(desk, caplog):
    write(10)
    checkpoints.make()
    desk.log.write_bytes(desk.log.read_bytes() + b"nonsense\n")
    before = desk.log.read_bytes()
    checkpoints.begin_anew(desk.home, "reset")
    assert desk.log.read_bytes() == before
    assert "does not know of this reset" in caplog.text
    assert not checkpoints.verdicts().sound


def test_an_instance_that_moves_takes_up_the_outside_log(desk, settings, tmp_path):
    """The machine is lost; the backup is older than the folder outside. The log goes on where that one ends."""
    write(4)
    checkpoints.make()
    backup = Home("desk", tmp_path / "backup")
    make_home(backup)
    backup.checkpoints.write_bytes(desk.log.read_bytes())
    for name in ("audit_signing_key", "audit_public_keys"):
        backup.keep_secret(name, (desk.home.keys / name).read_text())
    write(4, start=4)
    checkpoints.make()
    settings.HOME = backup
    remove(5, 8)
    checkpoints.hand_over(Home("desk", tmp_path / "lost"), backup)
    checkpoints.make()
    assert (
        kinds(backup.checkpoints) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint", "restore", "checkpoint"]
    )
    report = checkpoints.verdicts()
    assert report.sound, report
    assert report.replaced[0].entries == {CHAIN: 8}
