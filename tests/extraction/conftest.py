"""A space in the mode flux_extracts, with a stand-in for its model server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from fluxcore import clock
from fluxcore.work import worker
from memory.extraction import extract
from memory.extraction import jobs as extraction_jobs
from memory.extraction.models import Extraction, ModelServer
from memory.grains.models import Grain
from tests.extraction.ollama import Ollama, running
from tests.grains.conftest import Memory, memory  # noqa: F401


class ExtractionSpace:
    """One agent hands texts over; the worker works when it is told to."""

    def __init__(self, memory: Memory, model: Ollama) -> None:  # noqa: F811
        self.memory, self.model = memory, model

    def hand_over(self, content: str, **given: Any) -> dict[str, Any]:
        return dict(extract.extract(self.memory.principal, content=content, **given))

    def work(self) -> None:
        """What the worker would do by now."""
        worker.drain()

    def later(self) -> None:
        """Every pause is over, and the minute comes round."""
        from fluxcore.models import Job
        from fluxcore.writes import booth

        past = clock.now() - timedelta(seconds=1)
        ModelServer.objects.filter(failures__gt=0).update(next_at=past)
        Extraction.objects.filter(state="waiting").update(due_at=past)
        Job.objects.filter(state="queued").update(due_at=past)
        booth.write(extraction_jobs.ask_for_what_waits)
        self.work()

    def row(self, grain: str) -> Extraction:
        return Extraction.objects.get(grain__uuid=grain)

    def derived(self) -> list[Grain]:
        return list(Grain.objects.filter(writer__startswith="model:").order_by("id"))


@pytest.fixture
def model() -> Iterator[Ollama]:
    with running() as server:
        yield server


@pytest.fixture
def desk(memory: Memory, model: Ollama, configure: Any) -> ExtractionSpace:  # noqa: F811
    configure(OPERATING_MODE="flux_extracts", LLM_BASE_URL=model.url)
    return ExtractionSpace(memory, model)
