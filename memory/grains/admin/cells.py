"""Cells of admin tables: bars for numbers, links to memories."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.adminsite import formatting

_BAR, _NUMBER, _LABEL = 72, 44, 170  # widths


def bar(value: float, *, most: float = 1.0, label: str = "", says: str = "") -> SafeString:
    """A number with a bar of its size and a label. Negative numbers have another colour."""
    share = min(abs(value) / most, 1.0) if most > 0 else 0.0
    # Drawn as a whole, because a page may carry no style of its own and the three must not part.
    return format_html(
        '<svg width="{}" height="16" role="img" aria-label="{}"><title>{}</title>'
        '<rect y="5" width="{}" height="8" rx="4" fill="var(--plain-soft)"/>'
        '<rect y="5" width="{}" height="8" rx="4" fill="var({})"/>'
        '<text x="{}" y="13" font-size="13" fill="currentColor">{}</text>'
        '<text x="{}" y="13" font-size="13" fill="currentColor">{}</text></svg>',
        _BAR + _NUMBER + (_LABEL if label else 0),
        f"{value:.2f} {label}".strip(),
        says or f"{value:.4f}",
        _BAR,
        round(share * _BAR, 1),
        "--brand" if value >= 0 else "--bad",
        _BAR + 6,
        f"{value:.2f}",
        _BAR + _NUMBER + 6,
        label,
    )


def link_to(model: str, number: int, text: Any) -> SafeString:
    """A link to the admin page of a row."""
    return formatting.link(reverse(f"admin:grains_{model}_change", args=[number]), text)


def grain_link(number: int, text: str | None, status: str) -> SafeString:
    """A link to a memory by its first words, with its status unless it is active."""
    link = link_to("grain", number, formatting.shorten(text) if text else "hidden memory")
    return link if status == "active" else format_html("{} {}", link, formatting.badge(status.replace("_", " ")))
