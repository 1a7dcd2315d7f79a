"""Formatting of values and times of exact memory for admin pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime

MAX_CHARACTERS = 20_000  # of a value on a page


def datetime_of(seconds: float | None) -> datetime | None:
    """A time of the clock of expiry as a datetime; None if there is none."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def value_text(text: str | None, expires: float | None, now: float, *, pretty: bool = False) -> str:
    """A stored value as text for people; empty if it is deleted or has expired."""
    if text is None or (expires is not None and expires <= now):
        return ""
    if pretty and len(text) <= MAX_CHARACTERS:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
