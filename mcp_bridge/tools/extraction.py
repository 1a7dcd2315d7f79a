"""Tool that submits whole texts for extraction, for instances with a model of their own."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from mcp_bridge.registry import SWITCHED_GROUPS, Group, Tool
from mcp_bridge.schemas import gives, one_of, text
from mcp_bridge.tools.grains.fields import pick_given, write_options
from mcp_bridge.tools.grains.store import STORE, STORED

# The arguments of flux_store for a single text.
_TAKES = {name: shape for name, shape in STORE.takes.items() if name != "items"}


def _extract(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.extraction import extract
    from memory.grains import grain_input

    fields = {"content": None, "provenance": None, **pick_given(given, *grain_input.FIELDS)}
    answer: dict[str, Any] = extract.extract(principal, **fields, **write_options(given))
    return answer


EXTRACT = Tool(
    "flux_extract",
    "Submit a text",
    "Store a whole turn of a conversation or a longer text unchanged. It is stored at once; if this memory has a model "
    "of its own, that model then extracts the single facts from it, each linked to the text.",
    _extract,
    takes={**_TAKES, "content": text("The text or the turn, unchanged.")},
    required=("content",),
    gives=gives(
        ("grain_id", "status", "action", "provenance", "extraction"),
        **STORED,
        extraction=one_of(("waiting", "done", "given_up", "off"), "off: no model reads it; store facts one by one."),
    ),
    needs=("grains.write",),
)

GROUP = Group("extraction", SWITCHED_GROUPS["extraction"], (EXTRACT,))
