"""Rotation of the signing key, and restarts of the checkpoint log after a reset or restore."""

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
    """Replace the signing key. The old key signs the new one, after a last checkpoint that includes the audit entry."""
    home: KeyHome = settings.HOME
    private = signing.generate()
    with open_writer(home):
        pass  # raises here if the log is not writable, before the audit entry is made
    note_rotation(principal, key=signing.public_half(private), reason=reason)
    with open_writer(home) as writer:
        writer.checkpoint()
        writer.follow_with(private)
        keys = writer.log.keys
    return {"key": keys[-1], "keys": keys, "outside": copy_outside(home)}


@verb("audit.rotate_key", needs="instance.manage")
def note_rotation(call: RunningCall, *, key: str) -> Change:
    """Record the new public key on the instance's chain."""

    def change() -> dict[str, Any]:
        call.record(signing.SIGNING_KEY, key=key)
        return {}

    return change


def start_over(home: KeyHome, kind: str) -> None:
    """Note in the log that a `reset` or `restore` replaces the chains, so that earlier checkpoints no longer apply.

    A broken log does not prevent the reset or restore; it is left unchanged, and verification still reports it.
    """
    try:
        if _copy_from_outside(home):
            log.warning("%s: restored lines that only the outside log had", home.checkpoints)
        with open_writer(home) as writer:
            if kind == "reset":
                writer.checkpoint()  # the last checkpoint of the chains that are deleted
            if writer.log.lines:
                writer.add(kind)
    except (FluxError, DatabaseError, OSError) as error:
        log.critical("this %s could not be noted in the log of checkpoints: %s", kind, error_place(error))


def _copy_from_outside(home: KeyHome) -> bool:
    """Append lines that only the outside log has, as after a restore of an older backup; whether there were any."""
    target = outside_log_path(home)
    outside = call_with_timeout(target, lambda: log_file.read_log(target)) if target else log_file.CheckpointLog([])
    with log_file.locked_file(home.checkpoints) as file:
        own = log_file.parse_log(file.read())
        missing = outside.lines[len(own.lines) :]
        if own.problem or outside.problem or not missing or outside.lines[: len(own.lines)] != own.lines:
            return False
        ring = KeyRing.of(home)
        if ring.public != outside.keys or ring.private(outside.keys[-1]) is None:
            return False
        log_file.append_lines(file, own.size, b"".join(line.text + b"\n" for line in missing))
    return True


def hand_over(old: KeyHome, new: KeyHome) -> None:
    """Copy the instance's checkpoint log and keys to its new data home in a restore, instead of the backup's."""
    if old.checkpoints.exists():
        shutil.copyfile(old.checkpoints, new.checkpoints)
        for name in signing.FILES:
            (new.keys / name).unlink(missing_ok=True)
            if (old.keys / name).exists():
                new.keep_secret(name, (old.keys / name).read_text(encoding="ascii"))
    elif not new.checkpoints.exists():
        for name in signing.FILES:  # keys without a log would look like a deleted log
            (new.keys / name).unlink(missing_ok=True)
    if new.checkpoints.exists():
        new.checkpoints.chmod(0o600)
        start_over(new, "restore")
