"""What the worker does for grains. The heavy parts are loaded when one of these runs, not when a process starts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection

from fluxcore import jobs, uptime
from memory.grains.models import Grain

ENRICH, LEARN, IMPLY, CLUSTER = "grains.enrich", "grains.learn", "grains.imply", "grains.cluster"
ATTUNE = "grains.attune"
_TABLE = Grain._meta.db_table
_OF_SPACE = f"SELECT COUNT(*) FROM {_TABLE} WHERE space_id = %s AND NOT enriched"  # noqa: S608
_OF_ALL = f"SELECT COUNT(*) FROM {_TABLE} WHERE NOT enriched"  # noqa: S608
_SPACES = f"SELECT DISTINCT space_id FROM {_TABLE} WHERE NOT enriched"  # noqa: S608


def pending(space: int | None = None) -> int:
    """Grains that wait for their vector and neighbours, of one space or of all."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_ALL if space is None else _OF_SPACE, [] if space is None else [space])
        return int(cursor.fetchone()[0])


def ask_for_enrichment(space: int, *, due_at: datetime | None = None, **args: Any) -> None:
    """Have the worker see to the pending grains of a space, once however many are stored until it comes."""
    jobs.enqueue(ENRICH, args, space=space, due_at=due_at, once_key=f"space:{space}")


@jobs.handler(ENRICH)
def enrich(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains import enrich as work

    return work.enrich(run)


def ask_for_learning(space: int) -> None:
    """Have the worker apply the votes of a space that wait for it."""
    jobs.enqueue(LEARN, space=space, once_key=f"space:{space}")


@jobs.handler(LEARN)
def learn(run: jobs.Run) -> jobs.Apply | None:
    from memory.learning import apply

    return apply.apply_votes(run)


def ask_for_attunement(space: int, *, due_at: datetime | None = None) -> None:
    """Have the worker fit the space's own weights to the votes that stand: now, or once for all until then."""
    jobs.enqueue(ATTUNE, space=space, due_at=due_at, once_key=f"space:{space}{'' if due_at else ':now'}")


@jobs.handler(ATTUNE)
def attune(run: jobs.Run) -> jobs.Apply | None:
    from memory.learning import ranker_weights as work

    return work.fit_ranker_weights(run)


def ask_for_implied(space: int, *, due_at: datetime | None = None, **args: Any) -> None:
    """Have the worker see what askers did instead of voting: the answers from a number on, or grains that are near."""
    once = f"space:{space}" if "after" in args else ""
    jobs.enqueue(IMPLY, args, space=space, due_at=due_at, once_key=once)


@jobs.handler(IMPLY)
def imply(run: jobs.Run) -> jobs.Apply | None:
    from memory.learning import inferred_votes

    return inferred_votes.infer_votes(run)


def ask_for_clustering(space: int, *, anyway: bool = False) -> bool:
    """Have the worker cluster a space if enough has changed since it last did, or `anyway`; whether it will."""
    from memory.clusters import recompute_due

    if not anyway and not recompute_due.is_due(space):
        return False
    jobs.enqueue(CLUSTER, space=space, once_key=f"space:{space}")
    return True


@jobs.handler(CLUSTER)
def cluster(run: jobs.Run) -> jobs.Apply | None:
    from memory.clusters import compute

    return compute.cluster(run)


def ask_for_what_is_left() -> int:
    """The minute's chore: what waited for an encoder is asked for again once there is one."""
    from memory.embedding import active_encoder

    if not active_encoder.ready():
        active_encoder.load_soon()  # not here: this runs inside a write, and loading takes seconds
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_SPACES)
        found = [space for (space,) in cursor.fetchall()]
    for space in found:
        ask_for_enrichment(space)
    return len(found)


def forgive_what_nobody_judged() -> int:
    """The minute's chore: nobody is reminded of an answer for ever."""
    from memory.recall import pending_feedback

    return 0 if uptime.now().doubt else pending_feedback.expire_pending()
