"""The job `grains.scrub`: removes purged rows from free pages, logs and indexes of the database."""

from __future__ import annotations

from fluxcore import scrubbing
from fluxcore.models import IdempotencyKey
from fluxcore.work.run import Apply, Run
from memory.grains.models import Entry, Grain, JudgedQuestion, Removal, Trace, Transition, Vector

_TABLES = [
    model._meta.db_table for model in (Grain, Vector, Entry, JudgedQuestion, Trace, Transition, Removal, IdempotencyKey)
]


def scrub(run: Run) -> Apply | None:
    """The handler of `grains.scrub`, outside any transaction: it rewrites the file, and writers wait meanwhile."""
    if scrub_now():
        run.say("What was deleted is overwritten.")
    return None


def scrub_now() -> bool:
    """Scrub the database now; False inside a transaction, where the file cannot be rewritten."""
    optimize = "INSERT INTO grains_words(grains_words) VALUES ('optimize')"
    return scrubbing.scrub(["grains_words", *_TABLES], first=optimize)
