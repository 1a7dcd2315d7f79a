"""Answers made short: a model pays for every word it reads, so fields that say nothing are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from fluxcore.errors import Invalid

# Of JSON in UTF-8. English has about four; other scripts have fewer, and too short is better than too long.
BYTES_PER_TOKEN = 3
USUAL_TOKENS, FEWEST_TOKENS, MOST_TOKENS = 1500, 100, 50_000
LEAST_LEFT = 160  # bytes: a grain that would be cut to less than this is left out
CUT = "…"

# Fields of a grain, with what they say when they say nothing.
_SILENT: dict[str, Any] = {
    "status": "active",
    "time": None,
    "session": None,
    "speaker": None,
    "tags": [],
    "valid_from": None,
    "valid_to": None,
    "pinned": False,
    "writers": 1,
    "said": 1,
}


def text_budget(given: Any) -> int:
    """Bytes for the texts of an answer, from the tokens a caller wants to spend."""
    if given is None:
        given = USUAL_TOKENS
    if type(given) is not int or not FEWEST_TOKENS <= given <= MOST_TOKENS:
        raise Invalid(f"max_tokens must be a whole number from {FEWEST_TOKENS} to {MOST_TOKENS}.", field="max_tokens")
    return given * BYTES_PER_TOKEN


def compact_grain(full: dict[str, Any]) -> dict[str, Any]:
    """What a model needs of a grain: its text, where it comes from, and whatever is out of the ordinary."""
    found = {"id": full["id"], "content": full["content"], "provenance": full["provenance"]}
    if "score" in full:
        found["score"] = full["score"]
    if full.get("authority", full["provenance"]) != full["provenance"]:
        found["authority"] = full["authority"]
    found |= {name: full[name] for name, silent in _SILENT.items() if name in full and full[name] != silent}
    return found


def fit_grains(grains: Iterable[dict[str, Any]], room: int) -> tuple[list[dict[str, Any]], int]:
    """As many grains as there is room for, the first ones whole if possible, and how many were left out.

    A long text takes at most half of what is left while others follow it, and says that it was cut.
    """
    waiting = [(one, len(orjson.dumps(one))) for one in grains]
    if sum(size for _, size in waiting) <= room:
        return [one for one, _ in waiting], 0
    kept: list[dict[str, Any]] = []
    for place, (one, size) in enumerate(waiting):
        share = room if place == len(waiting) - 1 else max(room // 2, LEAST_LEFT)
        if size > share:
            frame = size - len(orjson.dumps(one["content"]))
            if min(share, room) - frame < LEAST_LEFT and kept:
                return kept, len(waiting) - len(kept)
            one = {**one, "content": shorten_text(one["content"], max(LEAST_LEFT, share - frame)), "cut": True}
            size = len(orjson.dumps(one))
        kept.append(one)
        room -= size
    return kept, 0


def shorten_text(text: str, room: int) -> str:
    """The beginning of a text in so many bytes of UTF-8."""
    raw = text.encode()
    if len(raw) <= room:
        return text
    return raw[: max(room - len(CUT.encode()), 0)].decode(errors="ignore").rstrip() + CUT
