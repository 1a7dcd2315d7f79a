"""Run: one attempt at a job, as its handler gets it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fluxcore import clock
from fluxcore.models import JobLine
from fluxcore.work import job_events

# The change a handler returns; it runs in the transaction that marks the job as done.
Apply = Callable[[], None]
MOST_CHARACTERS = 2000  # of a line of the job log


@dataclass
class Run:
    """One attempt at a job: its arguments, and the lines it adds to the job log."""

    job: int
    uuid: uuid.UUID
    kind: str
    space: int | None
    args: dict[str, Any]
    attempt: int

    def __post_init__(self) -> None:
        self.lines: list[tuple[datetime, str]] = []
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def say(self, text: str) -> None:
        """Add a line to the job log, kept even if this attempt fails."""
        self.lines.append((clock.now(), _storable(text)))

    def write_lines(self) -> None:
        JobLine.objects.bulk_create([JobLine(job_id=self.job, at=at, text=text) for at, text in self.lines])

    def add_outcome(self, outcome: str, **data: Any) -> None:
        """Add the outcome of this attempt to the event log."""
        job_events.add_outcome(
            outcome, self.uuid, self.kind, self.space, tries=self.attempt, seconds=round(self.seconds, 2), **data
        )


Handler = Callable[[Run], Apply | None]


def _storable(text: str) -> str:
    """The text with characters escaped that a database cannot store, so that a log line never fails a job."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:MOST_CHARACTERS]
