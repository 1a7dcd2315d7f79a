"""Time: UTC at rest, RFC 3339 with an offset at the edges, naive times refused."""

from __future__ import annotations

from datetime import UTC, datetime

from fluxcore.errors import Invalid


def now() -> datetime:
    return datetime.now(UTC)


def rfc3339(moment: datetime | str | None) -> str | None:
    """`2026-11-16T04:30:00.000001Z`. Also takes the text SQLite hands out on raw queries."""
    if moment is None:
        return None
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse(text: str, *, name: str = "time") -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{name}: not an RFC 3339 time.", field=name) from None
    if moment.tzinfo is None:
        raise Invalid(f"{name}: the time needs an offset, for example {text}Z.", field=name)
    return moment.astimezone(UTC)
