"""Check of a tool's arguments against its published schema, before the tool runs.

It supports the keywords of `mcp_bridge/schemas.py` and no others. Its errors name the field, then what is allowed, as
those of the verbs do. Importing a JSON schema library would add 0.1 s to the start of every local process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fluxcore.errors import Invalid

_KINDS = {
    "string": ("a text", str),
    "boolean": ("true or false", bool),
    "integer": ("a whole number", int),
    "number": ("a number", int | float),
    "array": ("a list", list),
    "object": ("an object", dict),
}


def check(schema: Mapping[str, Any], value: Any, name: str, *, unchecked: Iterable[str] = ()) -> None:
    """Refuse a value that the schema does not allow. The verb checks the elements of lists named in `unchecked`."""
    _check_kind(schema, value, name)
    if isinstance(value, str):
        _check_length(value, name, schema.get("maxLength"))
    elif isinstance(value, list):
        _check_length(value, name, schema.get("maxItems"))
        if name not in unchecked:
            for index, element in enumerate(value):
                check(schema.get("items", {}), element, f"{name}[{index}]")
    elif isinstance(value, dict) and "properties" in schema:
        _check_fields(schema, value, name)


def _check_kind(schema: Mapping[str, Any], value: Any, name: str) -> None:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        raise Invalid(f"{name} must be one of {', '.join(map(str, allowed))}.", field=name)
    kind = schema.get("type")
    if kind is None:
        return
    words, python = _KINDS[kind]
    low, high = schema.get("minimum"), schema.get("maximum")
    fits = isinstance(value, python) and (kind == "boolean" or not isinstance(value, bool))
    if not fits or (low is not None and value < low) or (high is not None and value > high):
        raise Invalid(f"{name} must be {words}{_range(low, high)}.", field=name)


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else f" of at most {high}" if high is not None else ""


def _check_length(value: str | list[Any], name: str, most: int | None) -> None:
    if most is not None and len(value) > most:
        what = "characters" if isinstance(value, str) else "elements"
        raise Invalid(f"{name} must have at most {most} {what}.", field=name, limit=most)


def _check_fields(schema: Mapping[str, Any], value: Mapping[str, Any], name: str) -> None:
    known = schema["properties"]
    for field in value:
        if field not in known and schema.get("additionalProperties") is False:
            raise Invalid(f"{name} has no field {field[:64]!r}. It takes: {', '.join(known)}.", field=name)
    for field in schema.get("required", ()):
        if field not in value:
            raise Invalid(f"{name} needs the field {field!r}.", field=name)
    for field, content in value.items():
        if field in known:
            check(known[field], content, f"{name}.{field}")
