"""Types of answers to feedback calls."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from flux.answers.grains import ItemError


class Recorded(TypedDict):
    trace_id: str
    grain_id: str | None
    useful: bool | None
    strength: float
    missed: list[str]
    status: str
    changed: bool
    ok: bool
    action: str  # reinforced or penalized
    signal: float
    effective_signal: float


class VoteResult(TypedDict):
    index: int
    status: str
    trace_id: NotRequired[str]
    grain_id: NotRequired[str | None]
    useful: NotRequired[bool | None]
    strength: NotRequired[float]
    missed: NotRequired[list[str]]
    changed: NotRequired[bool]
    ok: NotRequired[bool]
    action: NotRequired[str]
    signal: NotRequired[float]
    effective_signal: NotRequired[float]
    error: ItemError | None


class RecordedBatch(TypedDict):
    results: list[VoteResult]
    count: int
    refused: int


class Withdrawn(TypedDict):
    trace_id: str
    grain_id: str
    changed: bool


class PendingTrace(TypedDict):
    trace_id: str
    query: str
    asked_at: str
    grain_ids: list[str]


class Pending(TypedDict):
    pending: list[PendingTrace]
    more: bool
