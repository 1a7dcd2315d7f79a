"""Context shift: answers that suddenly stop being useful mean that the agent has moved to another subject.

Then recall looks wider for a number of recalls. What is compared is bounded by the window, not by history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Exists, OuterRef

from fluxcore import clock, config, events
from fluxcore.writes import booth, write_locks
from memory.arena.changes import Changes
from memory.grains.models import ContextShift, JudgedQuestion, Trace, Vote

# Share of recent recalls that must have feedback: missing feedback is no sign of failure.
COMPLIANCE = 0.8


def detect_shift(space: int) -> None:
    """Compare the later half of the last judged recalls with the earlier one. Called with the votes, in their write."""
    settings = config.current()
    half = settings.CONTEXT_SHIFT_WINDOW // 2
    if not settings.CONTEXT_SHIFT_ENABLED:
        return
    last = ContextShift.objects.filter(space=space).first()
    if last is not None and last.remaining:
        return
    judged = _judged(space, 2 * half)
    if len(judged) < 2 * half or (last is not None and judged[half - 1][0] <= last.judged):
        return  # too few judged recalls, or too few since the last shift
    became, was = (sum(success for _, success in part) / half for part in (judged[:half], judged[half:]))
    # Rounded, because 0.7 - 0.45 must equal 0.25.
    if round(was - became, 9) < settings.CONTEXT_SHIFT_DROP_THRESHOLD or _compliance(space, 2 * half) < COMPLIANCE:
        return
    recalls = settings.CONTEXT_SHIFT_RECOVERY_RETRIEVALS
    ContextShift.objects.update_or_create(
        space_id=space,
        defaults={"judged": judged[0][0], "was": was, "became": became, "at": clock.now(), "remaining": recalls},
    )
    data = {"was": round(was, 4), "became": round(became, 4), "recalls": recalls}
    packed = Changes(exploring=True).pack()
    events.append("context.shifted", space=space, actor="worker", subject="", data=data, packed=packed)


def _judged(space: int, most: int) -> list[tuple[int, bool]]:
    """The newest judged recalls, newest first, and whether any of their results was useful."""
    votes = Vote.objects.filter(judged=OuterRef("pk"), undone_at=None, implied=False)
    found = (
        JudgedQuestion.objects.filter(Exists(votes), space=space)
        .annotate(success=Exists(votes.filter(useful=True, missed=False)))
        .order_by("-id")
    )
    return list(found.values_list("id", "success")[:most])


def _compliance(space: int, most: int) -> float:
    """Share of judged recalls among the newest ones that are old enough to be judged."""
    old = clock.now() - timedelta(seconds=config.current().FEEDBACK_ENFORCEMENT_GRACE_SECONDS)
    rated = list(Trace.objects.filter(space=space, at__lt=old).order_by("-id").values_list("rated", flat=True)[:most])
    return sum(rated) / len(rated) if rated else 1.0


def count_wide_recalls(spaces: Iterable[int]) -> None:
    """Count recalls in exploration by space, in a queued write."""
    for space, count in Counter(spaces).items():
        booth.post(lambda space=space, count=count: _count_wide(space, count), lock=write_locks.lock_name(space))  # type: ignore[misc]


def _count_wide(space: int, count: int) -> None:
    row = ContextShift.objects.filter(space=space, remaining__gt=0).first()
    if row is None:
        return
    row.remaining = max(row.remaining - count, 0)
    row.save(update_fields=["remaining"])
    if not row.remaining:
        packed = Changes(exploring=False).pack()
        events.append("context.settled", space=space, actor="worker", subject="", data={}, packed=packed)
