"""Kinds of tampering with the audit: every one is seen, at the first position that does not hold.

The chain has 125 entries and checkpoints at 40, 80 and 120. Whoever tampers holds the database, or one of
the two logs of checkpoints, but not the signing key.
"""

from __future__ import annotations

import json
from functools import partial

import pytest

from accounts import audit
from accounts.audit import checkpoints, signing
from accounts.audit.checkpoints import log_file
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import canonical_json
from tests.accounts.audit_chains import (
    CHAIN,
    OTHER,
    change,
    edit,
    hash_of,
    insert,
    remove,
    renumber,
    rewrite,
    swap,
    write,
)

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
ON_FILES = pytest.mark.either_database  # logs and keys are files, whatever keeps the chains


def sound():
    report = checkpoints.verify_chains()
    assert report.sound, [*report.chains, *(place.problem for place in report.places)]


@pytest.fixture
def kept(desk):
    """Two chains and their checkpoints in both places."""
    write(30, chain=OTHER)
    for part in range(3):
        write(40, start=part * 40)
        checkpoints.make_checkpoint()
    write(5, start=120)
    sound()
    return desk


def removed_and_renumbered(position):
    remove(position)
    for old in range(position + 1, 126):
        renumber(old, old - 1)


def with_a_new_hash(position):
    entry = list(audit.export(CHAIN))[position - 1]
    entry["actor"] = "agent:mallory"
    edit("actor", entry["actor"], position)
    edit("hash", hash_of(entry), position)


def cut_and_grown_again(first):
    remove(first, 125)
    write(200, start=500)


def rewritten_and_shorter():
    rewrite(50, reason="nothing happened")
    remove(100, 125)


def exchanged():
    change("UPDATE {table} SET chain = 'x' WHERE chain = %s AND seq <= 30", CHAIN)
    change("UPDATE {table} SET chain = %s WHERE chain = %s", CHAIN, OTHER)
    change("UPDATE {table} SET chain = %s WHERE chain = 'x'", OTHER)


# How, what is done, the first position that does not hold.
TAMPERING = [
    ("the actor edited", partial(edit, "actor", "agent:b", 60), 60),
    ("the time edited", partial(edit, "at", "2020-01-01 00:00:00+00:00", 1), 1),
    ("the action edited", partial(edit, "action", "test.other", 80), 80),
    ("the object edited", partial(edit, "object", "", 81), 81),
    ("a refusal made a success", partial(edit, "outcome", "refused", 120), 120),
    ("the reason edited", partial(edit, "reason", "u", 2), 2),
    ("the details edited", partial(edit, "details", '{"a":null,"n":9}', 125), 125),
    ("the details edited by one space", partial(edit, "details", '{"a": null,"n":59}', 60), 60),
    ("the hash edited", partial(edit, "hash", "f" * 64, 60), 60),
    ("the link edited", partial(edit, "prev", "f" * 64, 60), 60),
    ("an entry edited and hashed anew", partial(with_a_new_hash, 60), 60),
    ("an entry before a checkpoint edited and hashed anew", partial(with_a_new_hash, 40), 40),
    ("the newest but one edited and hashed anew", partial(with_a_new_hash, 124), 124),
    ("the first removed", partial(remove, 1), 1),
    ("one in the middle removed", partial(remove, 60), 60),
    ("many in the middle removed", partial(remove, 41, 80), 41),
    ("one removed and the rest renumbered", partial(removed_and_renumbered, 60), 60),
    ("neighbours swapped", partial(swap, 60, 61), 60),
    ("first and last swapped", partial(swap, 1, 125), 1),
    ("a copy inserted", partial(insert, 61, 60), 61),
    ("an old entry inserted at the end", partial(insert, 126, 60), 126),
    ("one inserted before the first", partial(insert, 0, 1), 1),
    ("one moved into another chain", partial(edit, "chain", OTHER, 60), 60),
    ("renumbered to leave a gap", partial(renumber, 125, 200), 125),
    ("the whole chain renumbered", partial(change, "UPDATE {table} SET seq = seq + 1000 WHERE chain = %s", CHAIN), 1),
    ("the tail cut to before the last checkpoint", partial(remove, 120, 125), 120),
    ("10 cut off", partial(remove, 111, 125), 111),
    ("100 cut off", partial(remove, 21, 125), 21),
    ("all cut off", partial(remove, 1, 125), 1),
    ("every chain cut off", lambda: change("DELETE FROM {table}"), 1),
    ("cut off and grown again", partial(cut_and_grown_again, 100), 120),
    ("cut off and grown again from the start", partial(cut_and_grown_again, 1), 40),
    ("the end written anew with its hashes", partial(rewrite, 61, actor="agent:b"), 80),
    ("the end written anew in the last part", partial(rewrite, 119, object="other"), 120),
    ("the whole chain written anew", partial(rewrite, 1, actor="agent:b"), 40),
    ("written anew and cut", rewritten_and_shorter, 80),
    ("put in the place of another chain", exchanged, 1),
]


@pytest.mark.parametrize(("do", "position"), [row[1:] for row in TAMPERING], ids=[row[0] for row in TAMPERING])
def test_a_chain_that_was_tampered_with_is_broken_at(kept, do, position):
    do()
    report = checkpoints.verify_chains()
    (verdict,) = [one for one in report.chains if one.chain == CHAIN]
    assert (report.sound, verdict.broken_at, verdict.entries) == (False, position, position - 1)
    assert checkpoints.verify_chains(chain=CHAIN).chains == [verdict]
    assert [place.problem for place in report.places] == ["", ""]


@pytest.mark.either_database  # what was done to the rows is asked above on both; this asks what a new line vouches for
@pytest.mark.parametrize(("do", "position"), [row[1:] for row in TAMPERING], ids=[row[0] for row in TAMPERING])
def test_a_new_checkpoint_does_not_make_it_good(kept, do, position):
    do()
    checkpoints.make_checkpoint()
    (verdict,) = checkpoints.verify_chains(chain=CHAIN).chains
    assert verdict.broken_at == position


def test_there_are_more_than_twenty_kinds():
    assert len({name for name, *_ in TAMPERING}) == len(TAMPERING) >= 20


def test_a_rewritten_end_is_narrowed_down_between_two_checkpoints(kept):
    rewrite(61, actor="agent:b")
    (verdict,) = checkpoints.verify_chains(chain=CHAIN).chains
    assert "the chain was rewritten after entry 40" in verdict.problem


def test_what_came_after_the_last_checkpoint_can_be_cut_unseen(kept):
    """The limit of it, said in the documents: five entries nobody has vouched for yet."""
    remove(121, 125)
    sound()


# Tampering with the logs themselves ----------------------------------------------------------------------------
# Lines: 1 the key, 2-4 the checkpoints.


def of(path):
    return path.read_bytes().split(b"\n")[:-1]


def put(path, texts):
    path.write_bytes(b"".join(text + b"\n" for text in texts))


def signed(fields, private):
    fields = {name: value for name, value in fields.items() if name != "signature"}
    return canonical_json.dumps(
        {**fields, "signature": signing.sign(private, canonical_json.dumps(fields).encode())}
    ).encode()


def line_removed(path, number):
    put(path, [text for at, text in enumerate(of(path), 1) if at != number])


def lines_swapped(path, one, other):
    texts = of(path)
    texts[one - 1], texts[other - 1] = texts[other - 1], texts[one - 1]
    put(path, texts)


def line_edited(path, number, sign_with=None):
    """As if the chain had been shorter."""
    texts = of(path)
    fields = json.loads(texts[number - 1])
    fields["heads"] = {CHAIN: [1, "a" * 64]}
    texts[number - 1] = signed(fields, sign_with) if sign_with else canonical_json.dumps(fields).encode()
    put(path, texts)


def line_forged(path, kind, *, private=None, **fields):
    """One more line at the end, by somebody without the key."""
    texts, private = of(path), private or signing.generate()
    last = json.loads(texts[1])
    wanted = {**last, "kind": kind, "heads": {}, "prev": log_file.parse_log(path.read_bytes()).prev, **fields}
    put(path, [*texts, signed(wanted, private)])


def log_made_anew(path):
    """A whole log of one's own, that vouches for itself."""
    private, log = signing.generate(), log_file.CheckpointLog([])
    log.lines.append(log_file.sign_line(log, private, "key", heads={}, next=signing.public_half(private)))
    log.lines.append(log_file.sign_line(log, private, "checkpoint", heads={CHAIN: (1, "a" * 64)}))
    put(path, [line.text for line in log.lines])


LOGS = [
    ("a checkpoint edited", partial(line_edited, number=3), "line 3 has an invalid signature"),
    (
        "edited and signed by another",
        partial(line_edited, number=3, sign_with="1" * 64),
        "line 3 has an invalid signature",
    ),
    ("the newest edited", partial(line_edited, number=4), "line 4 has an invalid signature"),
    ("a checkpoint removed", partial(line_removed, number=3), "line 3 does not follow the line before it"),
    ("the key removed", partial(line_removed, number=1), "line 1 does not follow the line before it"),
    ("checkpoints swapped", partial(lines_swapped, one=2, other=3), "line 2 does not follow the line before it"),
    (
        "a checkpoint repeated",
        lambda path: put(path, [*of(path), of(path)[-1]]),
        "line 5 does not follow the line before it",
    ),
    (
        "a checkpoint forged",
        partial(line_forged, kind="checkpoint", heads={CHAIN: [1, "a" * 64]}),
        "line 5 has an invalid signature",
    ),
    (
        "a checkpoint forged with a key of one's own",
        lambda path: line_forged(path, "checkpoint", private="1" * 64, key=signing.public_half("1" * 64)),
        "line 5 was signed with a key that was not valid at that time",
    ),
    ("a reset forged", partial(line_forged, kind="reset"), "line 5 has an invalid signature"),
    ("a restore forged", partial(line_forged, kind="restore"), "line 5 has an invalid signature"),
    (
        "a change of keys forged",
        partial(line_forged, kind="key", next=signing.public_half("1" * 64)),
        "line 5 has an invalid signature",
    ),
    ("words put in", lambda path: put(path, [*of(path), b"trust me"]), "line 5 is not JSON"),
    ("a deep line put in", lambda path: put(path, [*of(path), b"[" * 100_000]), "line 5 is not JSON"),
    ("a huge number put in", lambda path: put(path, [*of(path), b"9" * 10_000]), "line 5 is not JSON"),
    ("another object put in", lambda path: put(path, [*of(path), b"{}"]), "line 5 is not a line of a checkpoint log"),
    (
        "a field doubled",
        lambda path: put(path, [b'{"kind":"key",' + of(path)[0][1:], *of(path)[1:]]),
        "line 1 is not a line of a checkpoint log",
    ),
    ("not text", lambda path: put(path, [b"\xff\xfe", *of(path)]), "line 1 is not JSON"),
]


@ON_FILES
@pytest.mark.parametrize("where", ["log", "outside"])
@pytest.mark.parametrize(("do", "problem"), [row[1:] for row in LOGS], ids=[row[0] for row in LOGS])
def test_a_log_that_was_tampered_with_is_named_and_the_other_still_tells(kept, do, problem, where):
    path = getattr(kept, where)
    do(path)
    remove(111, 125)
    report = checkpoints.verify_chains()
    (verdict,) = [one for one in report.chains if one.chain == CHAIN]
    assert (report.sound, verdict.broken_at) == (False, 111)
    assert {str(place.path): place.problem for place in report.places}[str(path)] == problem


@ON_FILES
@pytest.mark.parametrize(("do", "problem"), [row[1:] for row in LOGS], ids=[row[0] for row in LOGS])
def test_nothing_is_added_to_a_log_that_was_tampered_with(kept, do, problem):
    do(kept.log)
    before = kept.log.read_bytes()
    with pytest.raises(Exception, match="Nothing was added to it"):
        checkpoints.make_checkpoint()
    assert kept.log.read_bytes() == before


@ON_FILES
@pytest.mark.parametrize("where", ["log", "outside"])
def test_a_log_made_anew_with_a_key_of_ones_own_is_seen(kept, where):
    log_made_anew(getattr(kept, where))
    report = checkpoints.verify_chains()
    assert not report.sound
    problem = {place.path: place.problem for place in report.places}[getattr(kept, where)]
    assert problem == "was signed with other keys than those in keys/audit_public_keys"
    # Its word counts for nothing with the true public key, nor against the chains where the home is the forged one.
    assert all(one.sound for one in checkpoints.verify_chains(public_keys=kept.public).chains)
    assert where == "outside" or all(one.sound for one in report.chains)


@ON_FILES
@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_log_cut_short_in_the_data_home_is_seen_with_the_outside_one(kept, left):
    put(kept.log, of(kept.log)[:left])
    remove(111, 125)
    report = checkpoints.verify_chains()
    assert [one.broken_at for one in report.chains if one.chain == CHAIN] == [111]
    assert "missing" in report.places[0].problem or f"ends before line {left + 1}" in report.places[0].problem


@ON_FILES
@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_log_cut_short_outside_is_seen_once_it_had_time(kept, left, monkeypatch):
    put(kept.outside, of(kept.outside)[:left])
    sound()  # a checkpoint may be on its way there just now
    monkeypatch.setattr(checkpoints.verify, "BEHIND", -checkpoints.verify.BEHIND)
    report = checkpoints.verify_chains()
    assert not report.sound
    assert f"ends before line {left + 1}" in report.places[1].problem


def test_a_whole_home_made_anew_is_seen_with_the_outside_log(kept, settings, tmp_path):
    """Log, keys and chain of somebody who took the machine; only the folder outside remembers."""
    for path in (kept.log, kept.public, kept.private):
        path.unlink()
    rewrite(1, actor="agent:b")
    settings.CHECKPOINTS = None
    checkpoints.make_checkpoint()
    sound()
    settings.CHECKPOINTS = kept.folder
    report = checkpoints.verify_chains()
    assert [one.broken_at for one in report.chains if one.chain == CHAIN] == [40]
    assert "other keys" in report.places[1].problem


@ON_FILES
@pytest.mark.parametrize("name", ["public", "private"])
def test_a_key_put_in_the_place_of_another_is_seen(kept, name):
    other = signing.generate()
    getattr(kept, name).write_text(signing.public_half(other) if name == "public" else other)
    report = checkpoints.verify_chains()
    assert not report.sound
    assert "key" in report.places[0].problem


@ON_FILES
@pytest.mark.parametrize("name", ["public", "private"])
@pytest.mark.parametrize("text", ["", "banana", "ä", "a" * 63])
def test_a_key_that_is_none_is_said(kept, name, text):
    getattr(kept, name).write_text(text)
    report = checkpoints.verify_chains()
    assert not report.sound
    assert report.places[0].problem
    with pytest.raises(Exception, match="key"):
        checkpoints.make_checkpoint()


def test_a_true_reset_line_said_again_silences_nothing(kept):
    checkpoints.start_over(kept.home, "reset")
    true = of(kept.log)[-1]
    AuditEntry.objects.all().delete()
    write(40)
    checkpoints.make_checkpoint()
    sound()
    remove(11, 40)
    put(kept.log, [*of(kept.log), true])
    report = checkpoints.verify_chains()
    assert [one.broken_at for one in report.chains] == [11]
    assert "line 8 does not follow" in report.places[0].problem


def test_the_old_key_signs_nothing_any_more_after_another_took_its_place(kept):
    old = kept.private.read_text()
    checkpoints.rotate_key(shell())
    sound()
    line_forged(kept.log, "checkpoint", private=old, key=signing.public_half(old))
    problem = checkpoints.verify_chains().places[0].problem
    assert "line 7 was signed with a key that was not valid at that time" in problem
