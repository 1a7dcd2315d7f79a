"""Small pictures in the cells of a page: how much, and the way to a grain."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts import showing

_WIDTH = 72


def bar(value: float, *, most: float = 1.0, says: str = "") -> SafeString:
    """A number with a bar of its size. What speaks against has the other colour."""
    share = min(abs(value) / most, 1.0) if most > 0 else 0.0
    # Drawn, not styled: a page may carry no style of its own.
    return format_html(
        '<span class="bar" title="{}"><svg width="{}" height="8" role="img" aria-hidden="true">'
        '<rect width="{}" height="8" rx="4" fill="var(--plain-soft)"/>'
        '<rect width="{}" height="8" rx="4" fill="var({})"/></svg> {}</span>',
        says, _WIDTH, _WIDTH, round(share * _WIDTH, 1), "--brand" if value >= 0 else "--bad", f"{value:.2f}",
    )  # fmt: skip


def to(model: str, number: int, text: Any) -> SafeString:
    """A link to a row of this room."""
    return showing.link(reverse(f"admin:grains_{model}_change", args=[number]), text)


def grain(number: int, text: str | None, status: str) -> SafeString:
    """A grain by its beginning, with its state where that is not the usual one."""
    link = to("grain", number, showing.shortened(text) if text else "a grain that is held back")
    return link if status == "active" else format_html("{} {}", link, showing.badge(status.replace("_", " ")))
