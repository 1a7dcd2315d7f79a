"""Builders of the JSON schemas that describe tools; the verbs check the values."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def text(says: str = "", *, longest: int | None = None, **more: Any) -> Schema:
    bound = {"maxLength": longest} if longest is not None else {}
    return {"type": "string", **({"description": says} if says else {}), **bound, **more}


def one_of(values: Any, says: str = "") -> Schema:
    return text(says, enum=list(values))


def identifier(says: str = "") -> Schema:
    return text(says, format="uuid")


def moment(says: str = "") -> Schema:
    return text(says, format="date-time")


def yes_or_no(says: str = "") -> Schema:
    return {"type": "boolean", **({"description": says} if says else {})}


def whole(says: str = "", *, low: int | None = None, high: int | None = None) -> Schema:
    return _number("integer", says, low, high)


def number(says: str = "", *, low: float | None = None, high: float | None = None) -> Schema:
    return _number("number", says, low, high)


def _number(kind: str, says: str, low: float | None, high: float | None) -> Schema:
    bounds = {name: value for name, value in (("minimum", low), ("maximum", high)) if value is not None}
    return {"type": kind, **({"description": says} if says else {}), **bounds}


def many(of: Schema, says: str = "", *, most: int | None = None) -> Schema:
    bound = {"maxItems": most} if most is not None else {}
    return {"type": "array", "items": of, **({"description": says} if says else {}), **bound}


def record(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Schema of an object with these fields and no others."""
    must = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **must, "additionalProperties": False}


def bare(properties: dict[str, Schema]) -> dict[str, Schema]:
    """The properties without descriptions, for their second use in one schema."""
    return {
        name: {key: value for key, value in shape.items() if key != "description"} for name, shape in properties.items()
    }


def anything(says: str = "") -> Schema:
    """Schema of an object with any fields."""
    return {"type": "object", **({"description": says} if says else {})}


def gives(required: tuple[str, ...], **properties: Schema) -> Schema:
    """Schema of a tool's answer."""
    return {"properties": properties, "required": list(required), "additionalProperties": False}
