"""Jobs of learning: votes are applied, ranker weights fitted, votes inferred."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import HEAVY, job
from fluxcore.work.sweep import every_minute

APPLY = job("learning.apply", "memory.learning.apply.apply_votes", formerly=["grains.learn"])
INFER = job("learning.infer", "memory.learning.inferred_votes.infer_votes", formerly=["grains.imply"])
FIT = job(
    "learning.fit_weights", "memory.learning.ranker_weights.fit_ranker_weights", queue=HEAVY, formerly=["grains.attune"]
)

every_minute("memory.recall.pending_feedback.forgive_unless_doubted")


def ask_for_learning(space: int) -> None:
    """Request the job that applies the pending votes of a space."""
    enqueue(APPLY, space=space, once_key=f"space:{space}")


def ask_for_attunement(space: int, *, due_at: datetime | None = None) -> None:
    """Request a fit of the space's own ranker weights, now or at a time."""
    enqueue(FIT, space=space, due_at=due_at, once_key=f"space:{space}{'' if due_at else ':now'}")


def ask_for_implied(space: int, *, due_at: datetime | None = None, **args: Any) -> None:
    """Request the job that infers votes, from traces from an id on, or from pairs of similar grains."""
    once = f"space:{space}" if "after" in args else ""
    enqueue(INFER, args, space=space, due_at=due_at, once_key=once)
