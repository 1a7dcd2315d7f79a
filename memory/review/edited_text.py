"""Texts that people edit in a browser, which sends every line end as two characters."""

from __future__ import annotations

WINDOWS, UNIX = "\r\n", "\n"


def is_editable(text: str) -> bool:
    """Whether a browser sends a text back as it was: without NUL, and with line ends of one kind."""
    rest = text.replace(WINDOWS, "")
    return "\0" not in text and "\r" not in rest and not (WINDOWS in text and UNIX in rest)


def sent_back(text: str, *, like: str) -> str:
    """A text that a browser sent, with the line ends of the text that was edited."""
    return text if WINDOWS in like else text.replace(WINDOWS, UNIX)
