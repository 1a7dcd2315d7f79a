"""What changes the log itself: another key, and operators who put other chains in the place of these."""

from __future__ import annotations

import logging
import shutil
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from accounts.audit import signing
from accounts.audit.checkpoints import log_file
from accounts.audit.checkpoints.timeout import call_with_timeout
from accounts.audit.checkpoints.writer import copy_outside, open_writer, outside_log_path
from accounts.audit.signing import KeyHome, KeyRing
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from fluxcore.db_errors import error_place
from fluxcore.errors import FluxError

log = logging.getLogger(__name__)


def rotate_key(principal: Principal, *, reason: str = "") -> dict[str, Any]:
    """Put a new key in force. The old one signs it, after a last checkpoint that knows of the change."""
    home: KeyHome = settings.HOME
    private = signing.generate()
    with open_writer(home):
        pass  # refused here, before the chain says that it happened
    note_rotation(principal, key=signing.public_half(private), reason=reason)
    with open_writer(home) as book:
        book.checkpoint()
        book.follow_with(private)
        keys = book.log.keys
    return {"key": keys[-1], "keys": keys, "outside": copy_outside(home)}


@verb("audit.rotate_key", needs="instance.manage")
def note_rotation(call: RunningCall, *, key: str) -> Change:
    """The instance's chain names the public key that follows."""

    def change() -> dict[str, Any]:
        call.record(signing.SIGNING_KEY, key=key)
        return {}

    return change


def start_over(home: KeyHome, kind: str) -> None:
    """An operator's `reset` or `restore` is about to replace the chains: nothing known of them holds from here on.

    A log that is broken does not stand in the way; it is left as it is, and verification goes on saying so.
    """
    try:
        if _take_back(home):
            log.warning("%s: took back the lines that only the outside log still had", home.checkpoints)
        with open_writer(home) as book:
            if kind == "reset":
                book.checkpoint()  # a last look at what is about to go
            if book.log.lines:
                book.add(kind)
    except (FluxError, DatabaseError, OSError) as error:
        log.critical("the log of checkpoints does not know of this %s: %s", kind, error_place(error))


def _take_back(home: KeyHome) -> bool:
    """After the loss of a machine the outside log knows more than the one that came with the backup."""
    target = outside_log_path(home)
    theirs = call_with_timeout(target, lambda: log_file.read_log(target)) if target else log_file.CheckpointLog([])
    with log_file.locked_file(home.checkpoints) as file:
        ours = log_file.parse_log(file.read())
        more = theirs.lines[len(ours.lines) :]
        if ours.problem or theirs.problem or not more or theirs.lines[: len(ours.lines)] != ours.lines:
            return False
        ring = KeyRing.of(home)
        if ring.public != theirs.keys or ring.private(theirs.keys[-1]) is None:
            return False
        log_file.append_lines(file, ours.size, b"".join(line.text + b"\n" for line in more))
    return True


def hand_over(old: KeyHome, new: KeyHome) -> None:
    """A restore: the instance's own log and keys go on in its new home, not those of the backup."""
    if old.checkpoints.exists():
        shutil.copyfile(old.checkpoints, new.checkpoints)
        for name in signing.FILES:
            (new.keys / name).unlink(missing_ok=True)
            if (old.keys / name).exists():
                new.keep_secret(name, (old.keys / name).read_text(encoding="ascii"))
    elif not new.checkpoints.exists():
        for name in signing.FILES:  # keys without their log would look like a log that was taken away
            (new.keys / name).unlink(missing_ok=True)
    if new.checkpoints.exists():
        new.checkpoints.chmod(0o600)
        start_over(new, "restore")
