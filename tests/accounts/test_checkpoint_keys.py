"""Rotation of the signing key: atomic, also with a kill at any step."""

from __future__ import annotations

import json

import pytest

from accounts.audit import checkpoints, signing
from accounts.audit.checkpoints import writer
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.errors import Conflict
from tests.accounts.audit_chains import log_of, write
from tests.core.threads import together

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_a_new_key_is_signed_by_the_old_one_and_named_on_the_chain(desk):
    write(5)
    checkpoints.make_checkpoint()
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
    checkpoints.make_checkpoint()
    assert log_of(desk.log)[-1].key == found["key"]
    assert desk.outside.read_bytes() == desk.log.read_bytes()
    assert checkpoints.verify_chains().sound


@pytest.mark.django_db(transaction=True)
def test_four_changes_of_keys_at_once_are_four_keys_in_a_row(desk):
    write(1)
    found = together(4, lambda _: checkpoints.rotate_key(shell())["key"])
    assert sorted(found) == sorted(desk.public.read_text().split()[1:])
    assert checkpoints.verify_chains().sound


@pytest.mark.parametrize("reached", ["next key", "line", "list"])
def test_a_kill_in_the_middle_of_a_change_of_keys_is_no_alarm_and_is_finished(desk, reached):
    write(2)
    checkpoints.make_checkpoint()
    old, private = desk.public.read_text(), signing.generate()
    desk.home.keep_secret(signing.NEXT_KEY, private)
    if reached != "next key":
        with writer.open_writer(desk.home) as open_book:
            desk.home.keep_secret(signing.NEXT_KEY, private)  # opening has put the abandoned one away
            open_book.add("key", next=signing.public_half(private))
    if reached == "list":
        desk.home.keep_secret(signing.PUBLIC_KEYS, old + signing.public_half(private) + "\n")
    assert checkpoints.verify_chains().sound
    write(2, start=2)
    checkpoints.make_checkpoint()
    in_force = signing.public_half(desk.private.read_text())
    assert log_of(desk.log)[-1].key == in_force == desk.public.read_text().split()[-1]
    assert (in_force == signing.public_half(private)) == (reached != "next key")
    assert not (desk.home.keys / signing.NEXT_KEY).exists()
    assert checkpoints.verify_chains().sound


def test_a_kill_while_the_first_key_is_made_is_no_alarm_and_is_finished(desk):
    write(2)
    checkpoints.make_checkpoint()
    desk.public.unlink()
    assert checkpoints.verify_chains().sound
    write(2, start=2)
    checkpoints.make_checkpoint()
    assert desk.public.read_text().split() == [signing.public_half(desk.private.read_text())]


def test_no_key_follows_on_a_log_that_does_not_hold(desk):
    write(2)
    checkpoints.make_checkpoint()
    desk.log.unlink()
    with pytest.raises(Conflict, match="missing or empty, although it has been signed before"):
        checkpoints.rotate_key(shell())
    assert not AuditEntry.objects.filter(action="audit.rotate_key").exists()
