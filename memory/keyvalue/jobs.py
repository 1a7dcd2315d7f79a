"""Kinds of background jobs of exact memory: sweep expired keys, forget deleted ones, scrub purged values."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import clock
from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every

SWEEP = job("keyvalue.sweep", "memory.keyvalue.expiry.sweep")
FORGET_DELETED = job(
    "keyvalue.forget_deleted",
    "memory.keyvalue.expiry.forget_deleted_keys",
    queue=SLOW,
    formerly=["keyvalue.bury"],
)
SCRUB = job("keyvalue.scrub", "memory.keyvalue.purging.scrub", queue=SLOW)
SWEEP_SECONDS, FORGET_DELETED_SECONDS = 60.0, 86_400.0
# A scrub rewrites the database file while writers wait, so agents cannot have one more often than this.
SCRUB_WAIT = timedelta(minutes=10)


def ask_to_sweep() -> None:
    enqueue(SWEEP, once_key="all")


def ask_to_forget_deleted() -> None:
    enqueue(FORGET_DELETED, once_key="all")


def ask_to_scrub(*, at_once: bool) -> None:
    if at_once:
        enqueue(SCRUB, once_key="now")
    else:
        enqueue(SCRUB, once_key="later", due_at=clock.now() + SCRUB_WAIT)


every(SWEEP, SWEEP_SECONDS, ask_to_sweep)
every(FORGET_DELETED, FORGET_DELETED_SECONDS, ask_to_forget_deleted)
