"""Template tags of all pages: the frame, commands as users type them, numbers and browser names."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard import page_frame as frame
from fluxcore import command_names
from fluxcore.visible_text import visible_lines

register = template.Library()

# In this order, because most browsers also name older ones in their User-Agent.
_BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrom": "Chrome", "Safari/": "Safari"}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


@register.simple_tag(takes_context=True)
def shell(context: dict[str, Any]) -> frame.PageFrame | None:
    """Template tag `{% shell as shell %}`: the frame of the page."""
    request = context.get("request")
    return frame.frame_of(request) if request is not None else None


@register.simple_tag
def typed(*words: str) -> str:
    """Template tag `{% typed "flux_token mint" name %}`: a command as the user of this instance types it."""
    return command_names.typed_command(" ".join(words))


@register.filter
def visible(text: str) -> str:
    """A text of an agent with what is hidden in it shown by code points."""
    return visible_lines(str(text))


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.filter
def browser_name(header: str) -> str:
    """Name of a browser from its User-Agent, for display only."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in header), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in header), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or header[:60] or "An unknown browser"
