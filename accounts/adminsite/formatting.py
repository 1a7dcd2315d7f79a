"""Format values for admin pages: times, states, capabilities, JSON, names with a warning about lookalikes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts import lookalikes
from fluxcore import clock
from fluxcore.visible_text import visible_lines

BadgeStyle = Literal["good", "bad", "warn", "calm", "plain"]

NONE = SafeString('<span class="none">-</span>')
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"), (1_000_000, "year"))


def badge(text: str, mood: BadgeStyle = "plain", *, title: str = "") -> SafeString:
    return format_html('<span class="badge {}"{}>{}</span>', mood, _title(title), text)


def relative_time(at: datetime | None, *, none: str = "") -> SafeString:
    """A time as its distance from now, with the exact time as tooltip."""
    if at is None:
        return NONE if not none else format_html('<span class="none">{}</span>', none)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>', clock.rfc3339(at), f"{at:%Y-%m-%d %H:%M:%S}", time_distance(at)
    )


def time_distance(at: datetime) -> str:
    seconds = (clock.now() - at).total_seconds()
    number, unit = abs(seconds), "second"
    if number < 45:
        return "just now" if seconds >= 0 else "in a moment"
    for size, name in _STEPS:
        unit = name
        if number < size:
            break
        number /= size
    count = max(1, round(number))
    words = f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def chips(texts: Iterable[str], *, most: int | None = None) -> SafeString:
    """Short texts such as capabilities, each in its own frame."""
    given = list(texts)
    shown = given if most is None or len(given) <= most else given[: most - 1]
    found = format_html_join(" ", '<code class="chip">{}</code>', ((text,) for text in shown))
    if len(shown) < len(given):
        rest = format_html(
            ' <span class="chip more" title="{}">+{}</span>', "\n".join(given[len(shown) :]), len(given) - len(shown)
        )
        found = found + rest
    return found or NONE


def code(text: str) -> SafeString:
    return format_html("<code>{}</code>", text) if text else NONE


def multiline(text: str) -> SafeString:
    """A long text as HTML with its line breaks."""
    return format_html('<div class="words">{}</div>', visible_lines(text)) if text else NONE


def shorten(text: str, length: int = 90) -> str:
    flat = " ".join(text.split())
    return visible_lines(flat if len(flat) <= length else f"{flat[: length - 1]}…")


def pretty_json(found: Any) -> SafeString:
    """A JSON value as indented HTML."""
    if not found:
        return NONE
    text = json.dumps(found, indent=2, ensure_ascii=False, sort_keys=True)
    return format_html('<pre class="data">{}</pre>', visible_lines(text))


def link(address: str, text: Any) -> SafeString:
    return format_html('<a href="{}">{}</a>', address, text)


def name_with_warning(name: str, others: Iterable[str]) -> SafeString:
    """A name, with a warning badge if it looks like another existing name."""
    found = sorted(others)
    if not found:
        return format_html("{}", name)
    warning = f"{lookalikes.spell_out(name)} can be mistaken for {', '.join(map(lookalikes.spell_out, found[:5]))}"
    return format_html("{} {}", name, badge("similar name", "warn", title=warning))


def name_with_full_warning(name: str, others: Iterable[str]) -> SafeString:
    """A name with the full warning about lookalikes, for a detail page."""
    found = sorted(others)
    if not found:
        return format_html("{}", name)
    return format_html(
        '{}<div class="help">{} looks like {}. Check that this is the one you want.</div>',
        name_with_warning(name, found),
        lookalikes.spell_out(name),
        ", ".join(map(lookalikes.spell_out, found[:5])),
    )


def _title(text: str) -> SafeString:
    return format_html(' title="{}"', text) if text else SafeString("")
