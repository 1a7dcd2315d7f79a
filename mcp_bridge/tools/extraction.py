"""Handing whole texts over: a tool for agents of an instance that has a model of its own."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from mcp_bridge.registry import SWITCHED_GROUPS, Group, Tool
from mcp_bridge.schemas import gives, one_of, text
from mcp_bridge.tools.grains import STORE, STORED, pick_given, write_options

# What may be said about one text, as with flux_store.
_TAKES = {name: shape for name, shape in STORE.takes.items() if name != "items"}


def _extract(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.extraction import extract
    from memory.grains import grain_input

    said = {"content": None, "provenance": None, **pick_given(given, *grain_input.FIELDS)}
    answer: dict[str, Any] = extract.extract(principal, **said, **write_options(given))
    return answer


EXTRACT = Tool(
    "flux_extract",
    "Hand over a text",
    "Keep a whole turn of a conversation or a longer text as it stands. It is stored at once; where this memory has a "
    "model of its own, that model finds the single facts in it a moment later, each linked to the text.",
    _extract,
    takes={**_TAKES, "content": text("The text or the turn, as it was said.")},
    required=("content",),
    gives=gives(
        ("grain_id", "status", "action", "provenance", "extraction"),
        **STORED,
        extraction=one_of(("waiting", "done", "given_up", "off"), "off: no model looks at it, store facts one by one."),
    ),
    needs=("grains.write",),
)

GROUP = Group("extraction", SWITCHED_GROUPS["extraction"], (EXTRACT,))
