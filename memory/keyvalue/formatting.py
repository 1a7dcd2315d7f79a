"""How values and moments of exact memory look on pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime

MOST = 20_000  # characters of a value a page shows


def at(moment: float | None) -> datetime | None:
    return datetime.fromtimestamp(moment, UTC) if moment else None


def shown(text: str | None, expires: float | None, now: float, *, pretty: bool = False) -> str:
    """A value as people read it; what has expired is not shown to anybody."""
    if text is None or (expires is not None and expires <= now):
        return ""
    if pretty and len(text) <= MOST:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    return text if len(text) <= MOST else f"{text[:MOST]}…"
