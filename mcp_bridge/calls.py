"""Declared calls as MCP tools: their schemas, hints and handlers follow from the declaration."""

from __future__ import annotations

from typing import Any

from accounts.calls import asked_by, handler
from accounts.principals import Principal
from flux.calls import registry, schema
from flux.calls.base import CallAtPlace, Write, answer_of, calls_at_places
from flux.calls.rules import MAX_VERSION
from fluxcore.errors import Invalid
from mcp_bridge.registry import Tool
from mcp_bridge.schemas import Schema, text

_OPTIONS = schema.LABELS_OF_WRITES
_MAIN = "main"  # the board used if none is named
# Schema keywords that `mcp_bridge/arguments.py` checks. Others only cost tokens, and the verb checks the rest.
_WORDS = ("type", "description", "enum", "maxLength", "minimum", "maximum", "maxItems", "format")


def tools(group: str) -> tuple[Tool, ...]:
    """The tools of a group, in the order the calls are declared in."""
    return tuple(
        _tool(offer)
        for offer in calls_at_places(registry.calls(group))
        if offer.group == group and offer.tool is not None
    )


def _tool(offer: CallAtPlace) -> Tool:
    call = offer.call
    known = {name: _short(shape) for name, shape in schema.properties(call).items()}
    own = {name: shape for name, shape in known.items() if name not in (*_OPTIONS, "place")}
    place = {offer.place.field: text(offer.place.says)} if offer.place else {}
    options = {name: known[name] for name in _OPTIONS if name in known}
    answer = _short(schema.answer_schema(answer_of(call)), closed=True)
    return Tool(
        offer.tool or "",
        offer.title,
        offer.says,
        lambda principal, given: handler(call)(principal, **_given(offer, principal, given)),
        takes={**own, **place, **options},
        # A field of any JSON type may be null; the verb sees whether it was given.
        required=tuple(name for name in schema.required(call) if name in own and "type" in own[name]),
        gives={name: keyword for name, keyword in answer.items() if name != "type"},
        needs=offer.needs,
        asks=lambda principal, given: asked_by(call)(principal, _fields(offer, principal, given)),
        reads=call.reads,
        destroys=call.destroys,
        repeats=call.repeats,
    )


def _fields(offer: CallAtPlace, principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    """Fields of the call. Without a place, the caller's own memory or the main board is meant."""
    at = offer.place
    if at is None:
        return given
    return offer.fields_of_call({at.field: principal.name if at.field == "agent" else _MAIN, **given})


def _given(offer: CallAtPlace, principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    found = _fields(offer, principal, given)
    if not issubclass(offer.call, Write):
        return found
    for name in _OPTIONS:
        if "\0" in found.get(name, ""):
            raise Invalid(f"{name} must be a text without NUL.", field=name)
    return {**found, "reason": found.get("reason") or ""}


def _short(shape: Schema, *, closed: bool = False) -> Schema:
    """A schema reduced to the checked keywords. Null is left out of it: an argument can be left out instead."""
    found = {word: shape[word] for word in _WORDS if word in shape}
    if not closed and "type" in found:
        found["type"] = schema.kind(shape)
        found |= {"enum": [value for value in shape["enum"] if value is not None]} if "enum" in shape else {}
    for bound in ("minimum", "maximum"):
        if abs(found.get(bound, 0)) == MAX_VERSION:
            del found[bound]  # far beyond what callers send
    if "exclusiveMinimum" in shape:
        found["minimum"] = shape["exclusiveMinimum"]
    if "items" in shape:
        found["items"] = _short(shape["items"], closed=closed)
    if isinstance(shape.get("additionalProperties"), dict):
        found["additionalProperties"] = _short(shape["additionalProperties"], closed=closed)
    if "properties" in shape:
        found["properties"] = {
            name: _short(property_shape, closed=closed) for name, property_shape in shape["properties"].items()
        }
        found |= {"required": shape["required"]} if shape.get("required") else {}
        found["additionalProperties"] = False
    return found
