"""Shortening of answers for models, which pay by token: fields with default values are left out, texts cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from fluxcore.errors import Invalid

# Bytes of UTF-8 JSON per token. English has about four, other scripts fewer; too short is better than too long.
BYTES_PER_TOKEN = 3
USUAL_TOKENS, FEWEST_TOKENS, MOST_TOKENS = 1500, 100, 50_000
LEAST_LEFT = 160  # bytes; a grain that would be cut to less is left out
CUT = "…"

# Fields of a grain with their default values; a field with its default is left out.
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


def text_budget(given: Any, *, usual: int = USUAL_TOKENS) -> int:
    """Bytes for the texts of an answer, from the caller's maximum number of tokens."""
    if given is None:
        given = usual
    if type(given) is not int or not FEWEST_TOKENS <= given <= MOST_TOKENS:
        raise Invalid(f"max_tokens must be a whole number from {FEWEST_TOKENS} to {MOST_TOKENS}.", field="max_tokens")
    return given * BYTES_PER_TOKEN


def compact_grain(full: dict[str, Any]) -> dict[str, Any]:
    """Fields of a grain for a model: its text, its provenance, and those that differ from their defaults."""
    found = {"id": full["id"], "content": full["content"], "provenance": full["provenance"]}
    if "score" in full:
        found["score"] = full["score"]
    if full.get("authority", full["provenance"]) != full["provenance"]:
        found["authority"] = full["authority"]
    found |= {name: full[name] for name, silent in _SILENT.items() if name in full and full[name] != silent}
    if "citation" in full:
        found |= {"kind": full["kind"], "citation": _short_citation(full["citation"])}
    return found


def _short_citation(full: dict[str, Any]) -> dict[str, Any]:
    """Store, file and lines, or store and message, or place and key; the store as the tools for stores take it."""
    if "place" in full:
        return dict(full)
    if "path" not in full:
        return {"store": full["reference"], "message": full["message"]}
    lines = f"{full['first_line']}-{full['last_line']}"
    return {"store": full["reference"], "path": full["path"], "version": full["version"], "lines": lines}


def fit_grains(grains: Iterable[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], int]:
    """The grains that fit into so many bytes, uncut if possible, and the number of those left out.

    Unless it is the last grain, a text is cut to half of the bytes left, and marked as cut.
    """
    waiting = [(grain, len(orjson.dumps(grain))) for grain in grains]
    if sum(size for _, size in waiting) <= budget:
        return [grain for grain, _ in waiting], 0
    kept: list[dict[str, Any]] = []
    for place, (grain, size) in enumerate(waiting):
        share = budget if place == len(waiting) - 1 else max(budget // 2, LEAST_LEFT)
        if size > share:
            frame = size - len(orjson.dumps(grain["content"]))
            if min(share, budget) - frame < LEAST_LEFT and kept:
                return kept, len(waiting) - len(kept)
            grain = {**grain, "content": shorten_text(grain["content"], max(LEAST_LEFT, share - frame)), "cut": True}
            size = len(orjson.dumps(grain))
        kept.append(grain)
        budget -= size
    return kept, 0


def shorten_text(text: str, budget: int) -> str:
    """The beginning of a text, in at most so many bytes of UTF-8."""
    raw = text.encode()
    if len(raw) <= budget:
        return text
    return raw[: max(budget - len(CUT.encode()), 0)].decode(errors="ignore").rstrip() + CUT


def fit_lines(text: str, budget: int) -> tuple[str, int, bool]:
    """The first lines of a text that fit into so many bytes of JSON, their number, and whether the last one is cut.

    There is at least one: if it alone is too long, its beginning.
    """
    kept, left = list[str](), budget
    *lines, rest = text.split("\n")
    for line in (*(f"{line}\n" for line in lines), *((rest,) if rest else ())):
        size = len(orjson.dumps(line)) - len('""')
        if size > left:
            if kept:
                break
            return shorten_text(line, budget * len(line.encode()) // size), 1, True
        kept.append(line)
        left -= size
    return "".join(kept), len(kept), False
