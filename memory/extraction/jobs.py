"""Jobs of extraction: texts that wait for the model."""

from __future__ import annotations

from datetime import datetime

from fluxcore import clock
from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.sweep import every_minute
from memory.extraction import budget, mode
from memory.extraction.models import Extraction

EXTRACT = job("extraction.extract", "memory.extraction.extraction_job.extract", queue=SLOW, formerly=["grains.extract"])


def ask(space: int, *, due_at: datetime | None = None) -> None:
    """Have the worker see to a space's next text, once however many wait. Inside a write."""
    enqueue(EXTRACT, space=space, due_at=due_at, once_key=f"space:{space}")


def ask_for_what_waits() -> int:
    """Request jobs for texts whose next attempt is due. Called once a minute."""
    if not mode.on():
        return 0
    waiting = Extraction.objects.filter(state=Extraction.ExtractionState.WAITING, due_at__lte=clock.now())
    poor = {one.space_id for one in budget.spent() if budget.is_spent(one)}
    found = [space for space in waiting.order_by().values_list("space", flat=True).distinct() if space not in poor]
    for space in found:
        ask(space)
    return len(found)


every_minute(ask_for_what_waits)
