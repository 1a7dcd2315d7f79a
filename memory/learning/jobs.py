"""Background work of learning: votes are applied, weights fitted, and what askers did instead of voting is read."""

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
    """Have the worker apply the votes of a space that wait for it."""
    enqueue(APPLY, space=space, once_key=f"space:{space}")


def ask_for_attunement(space: int, *, due_at: datetime | None = None) -> None:
    """Have the worker fit the space's own weights to the present votes: now, or once for all until then."""
    enqueue(FIT, space=space, due_at=due_at, once_key=f"space:{space}{'' if due_at else ':now'}")


def ask_for_implied(space: int, *, due_at: datetime | None = None, **args: Any) -> None:
    """Have the worker see what askers did instead of voting: the answers from a number on, or grains that are near."""
    once = f"space:{space}" if "after" in args else ""
    enqueue(INFER, args, space=space, due_at=due_at, once_key=once)
