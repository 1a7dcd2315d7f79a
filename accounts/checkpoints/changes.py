"""What changes the log itself: another key, and operators who put other chains in the place of these."""

from __future__ import annotations

import logging
import shutil
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from accounts import signing
from accounts.checkpoints import lines
from accounts.checkpoints.book import carry, opened, outside
from accounts.checkpoints.patience import patiently
from accounts.principals import Principal
from accounts.signing import Home, Ring
from accounts.verbs import Act, Change, verb
from fluxcore.errors import FluxError
from fluxcore.faults import place

log = logging.getLogger(__name__)


def rotate_key(principal: Principal, *, reason: str = "") -> dict[str, Any]:
    """Put a new key in force. The old one signs it, after a last checkpoint that knows of the change."""
    home: Home = settings.HOME
    private = signing.generate()
    with opened(home):
        pass  # refused here, before the chain says that it happened
    note_rotation(principal, key=signing.public_half(private), reason=reason)
    with opened(home) as book:
        book.checkpoint()
        book.follow_with(private)
        keys = book.log.keys
    return {"key": keys[-1], "keys": keys, "outside": carry(home)}


@verb("audit.rotate_key", needs="instance.manage")
def note_rotation(act: Act, *, key: str) -> Change:
    """The instance's chain names the public key that follows."""

    def change() -> dict[str, Any]:
        act.record(signing.SIGNING_KEY, key=key)
        return {}

    return change


def begin_anew(home: Home, kind: str) -> None:
    """An operator's `reset` or `restore` is about to replace the chains: nothing known of them holds from here on.

    A log that is broken does not stand in the way; it is left as it is, and verification goes on saying so.
    """
    try:
        if _take_back(home):
            log.warning("%s: took back the lines that only the outside log still had", home.checkpoints)
        with opened(home) as book:
            if kind == "reset":
                book.checkpoint()  # a last look at what is about to go
            if book.log.lines:
                book.add(kind)
    except (FluxError, DatabaseError, OSError) as error:
        log.critical("the log of checkpoints does not know of this %s: %s", kind, place(error))


def _take_back(home: Home) -> bool:
    """After the loss of a machine the outside log knows more than the one that came with the backup."""
    target = outside(home)
    theirs = patiently(target, lambda: lines.read(target)) if target else lines.Log([])
    with lines.held(home.checkpoints) as file:
        ours = lines.parse(file.read())
        more = theirs.lines[len(ours.lines) :]
        if ours.problem or theirs.problem or not more or theirs.lines[: len(ours.lines)] != ours.lines:
            return False
        ring = Ring.of(home)
        if ring.public != theirs.keys or ring.private(theirs.keys[-1]) is None:
            return False
        lines.append(file, ours.size, b"".join(line.text + b"\n" for line in more))
    return True


def hand_over(old: Home, new: Home) -> None:
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
        begin_anew(new, "restore")
