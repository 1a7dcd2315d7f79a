"""What is done with texts that wait for the model. The heavy parts are loaded when one of these runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fluxcore import clock, config, jobs
from memory.extraction.models import Extraction

EXTRACT = "grains.extract"
MODE = "flux_extracts"


def on() -> bool:
    """Whether this instance asks a model at all."""
    return config.current().OPERATING_MODE == MODE


def question_seconds() -> float:
    """How long a question may wait for the model's words; 0: not at all."""
    settings = config.current()
    return settings.LLM_QUERY_MILLISECONDS / 1000 if settings.LLM_QUERY_WORDS_ENABLED and on() else 0.0


def words_for(space: int, query: str, who: str) -> Sequence[str]:
    from memory.extraction import expansion_words

    return expansion_words.find_words(space, query, who)


def ask(space: int, *, due_at: datetime | None = None) -> None:
    """Have the worker see to a space's next text, once however many wait. Inside a write."""
    jobs.enqueue(EXTRACT, space=space, due_at=due_at, once_key=f"space:{space}")


@jobs.handler(EXTRACT)
def extract(run: jobs.Run) -> jobs.Apply | None:
    from memory.extraction import extraction_job

    return extraction_job.extract(run)


def ask_for_what_waits() -> int:
    """The minute's chore: what waited for its next try, for the model or for tomorrow's budget."""
    from memory.extraction import budget

    if not on():
        return 0
    waiting = Extraction.objects.filter(state=Extraction.State.WAITING, due_at__lte=clock.now())
    poor = {one.space_id for one in budget.spent() if budget.is_spent(one)}
    found = [space for space in waiting.order_by().values_list("space", flat=True).distinct() if space not in poor]
    for space in found:
        ask(space)
    return len(found)
