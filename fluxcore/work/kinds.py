"""Kinds of jobs: each is declared once, in the `jobs.py` of its package, with its queue.

A declaration names its handler by a dotted path, so that a process which only enqueues jobs does not load numpy or a
graph library. `fluxsite/celery.py` makes a Celery task of every kind, under the kind's own name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.module_loading import autodiscover_modules, import_string

if TYPE_CHECKING:
    from fluxcore.work.run import Handler  # imports models; the names of queues are needed before Django is set up

# Queue of short jobs that somebody waits for: vectors of new memories, votes, expiry.
FAST = "fast"
# Queue of jobs that compute for long: clusters, fits, measurements, index files.
HEAVY = "heavy"
# Queue of jobs that wait for other servers or are not urgent: models, webhooks, imports, retention.
SLOW = "slow"
QUEUES = (FAST, HEAVY, SLOW)


@dataclass(frozen=True)
class JobKind:
    """A declared kind of job. `formerly`: names under which earlier releases stored jobs of this kind."""

    name: str
    work: str | Handler
    queue: str
    formerly: tuple[str, ...]

    def handler(self) -> Handler:
        return import_string(self.work) if isinstance(self.work, str) else self.work

    @property
    def stored(self) -> tuple[str, ...]:
        """All names that rows of this kind may have."""
        return (self.name, *self.formerly)


_kinds: dict[str, JobKind] = {}
_by_stored: dict[str, JobKind] = {}


def job(name: str, work: str | Handler, *, queue: str = FAST, formerly: Collection[str] = ()) -> str:
    """Declare a kind of job; returns its name, for `enqueue`.

    `COMPUTE = job("clusters.compute", "memory.clusters.compute.cluster", queue="heavy")`
    """
    if queue not in QUEUES:
        raise ValueError(f"{queue!r} is not a queue. Allowed: {', '.join(QUEUES)}")
    kind = JobKind(name, work, queue, tuple(formerly))
    for stored in kind.stored:
        known = _by_stored.get(stored)
        if known is not None and known.work != work:
            raise RuntimeError(f"jobs of kind {stored} are declared twice")
    _by_stored.update(dict.fromkeys(kind.stored, kind))
    _kinds[name] = kind
    return name


def withdraw(name: str) -> None:
    """Remove a declaration that a test made."""
    kind = _kinds.pop(name, None)
    for stored in kind.stored if kind else ():
        del _by_stored[stored]


def discover() -> None:
    """Import the `jobs` module of every installed app; `apps.ready` of the core calls it."""
    autodiscover_modules("jobs")


def every_kind(queues: Collection[str] = QUEUES) -> list[JobKind]:
    return [_kinds[name] for name in sorted(_kinds) if _kinds[name].queue in queues]


def find(stored: str) -> JobKind | None:
    """The kind of a job, by the name stored in its row."""
    return _by_stored.get(stored)
