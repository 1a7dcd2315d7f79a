"""Types of answers about the server's health."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Root(TypedDict):
    name: str
    api: str
    health: str
    docs: str


class SignalNow(TypedDict):
    value: float | None
    healthy: bool
    state: str
    range: list[float | None]
    window_hours: int
    severity: str | None
    suggestion: str | None


class HealthWarning(TypedDict):
    signal: str
    severity: str
    value: float | None
    range: list[float | None]
    times: int
    first_seen: str
    last_seen: str
    cleared_at: str | None
    acknowledged_by: str | None
    suggestion: str


class CallerFeedback(TypedDict):
    caller: str
    answers: int
    judged: int
    rate: float


class CallerProvenance(TypedDict):
    caller: str
    stores: int
    user_stated: int
    share: float


class Health(TypedDict):
    status: str
    signals: NotRequired[dict[str, SignalNow]]
    active_warnings: NotRequired[list[HealthWarning]]
    caller_feedback: NotRequired[list[CallerFeedback]]
    caller_provenance: NotRequired[list[CallerProvenance]]
    learning: NotRequired[dict[str, Any] | None]
    model: NotRequired[dict[str, Any]]
    computed_at: NotRequired[str | None]


class Ready(TypedDict):
    ready: bool
