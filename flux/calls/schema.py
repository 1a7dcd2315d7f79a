"""JSON schemas of declared calls and of their answers."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flux.calls.base import Call

Schema = dict[str, Any]
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}


@cache
def properties(call: type[BaseModel]) -> dict[str, Schema]:
    """What a call takes, by field, without references.

    From the annotations and not by `model_json_schema`: that builds every validator first, which the list of tools
    would pay for at the start of a process.
    """
    return {name: _field(field) for name, field in call.model_fields.items()}


def _field(field: FieldInfo) -> Schema:
    found = _marked(described(field.annotation), field.metadata)
    return {**found, "description": field.description} if field.description else found


@cache
def required(call: type[BaseModel]) -> tuple[str, ...]:
    return tuple(name for name, field in call.model_fields.items() if field.is_required())


@cache
def kinds(call: type[Call]) -> dict[str, str]:
    """The JSON type of each field beside null, empty for any JSON. From the annotations alone: quick at start-up."""
    return {name: _kind(field.annotation) for name, field in call.model_fields.items()}


def _kind(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return _kind(next(one for one in arguments if one is not type(None)))
    if origin is typing.Literal:
        return "string"
    return "" if hint is Any else _PLAIN.get(origin or hint, "object")


def is_choice(hint: Any) -> bool:
    """Whether a field is one of a few words."""
    return typing.get_origin(hint) is typing.Literal or any(map(is_choice, typing.get_args(hint)))


def takes_any_json(shape: Schema) -> bool:
    """Of a field where null is a value like any other."""
    return not shape.keys() & {"type", "enum"}


def kind(shape: Schema) -> str:
    """The JSON type beside null; empty for any JSON."""
    return next(iter(_types(shape)), "")


def without_null(shape: Schema) -> Schema:
    """For servers where leaving a field out says null."""
    return {**shape, "type": kind(shape)} if kind(shape) else shape


def _types(shape: Schema) -> set[str]:
    found = shape.get("type", [])
    return {found} - {"null"} if isinstance(found, str) else set(found) - {"null"}


def answer_schema(answer: Any) -> Schema:
    """Of a TypedDict as `flux/calls/answers.py` has them: its keys, whole, without references."""
    hints = typing.get_type_hints(answer, include_extras=True)
    return {
        "type": "object",
        "properties": {name: described(hint) for name, hint in hints.items()},
        "required": [name for name in hints if name in answer.__required_keys__],
    }


def described(hint: Any) -> Schema:
    """A type as JSON schema."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _marked(described(arguments[0]), arguments[1:])
    if origin is typing.NotRequired:
        return described(arguments[0])
    if origin in (types.UnionType, typing.Union):
        found = described(arguments[0])
        return _or_null(found) if type(None) in arguments else found
    if origin is list:
        return {"type": "array", "items": described(arguments[0])}
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if typing.is_typeddict(hint):
        return answer_schema(hint)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return _object(properties(hint), required(hint))
    return {} if hint is Any else {"type": _PLAIN[hint]}


def _object(fields: dict[str, Schema], needed: Iterable[str]) -> Schema:
    return {"type": "object", "properties": fields, "required": list(needed), "additionalProperties": False}


def _or_null(shape: Schema) -> Schema:
    choices = {"enum": [*shape["enum"], None]} if "enum" in shape else {}
    return {**shape, **choices, "type": [shape["type"], "null"]}


def _marked(shape: Schema, marks: Iterable[Any]) -> Schema:
    """With what stands beside the type: a sentence, a pair of JSON schema, or a bound that pydantic checks."""
    found = dict(shape)
    unit = "Items" if kind(shape) == "array" else "Length"
    names = {"min_length": f"min{unit}", "max_length": f"max{unit}", "ge": "minimum", "le": "maximum"}
    for mark in marks:
        if isinstance(mark, str):
            found["description"] = mark
        elif isinstance(mark, tuple):
            found[mark[0]] = mark[1]
        elif isinstance(mark, FieldInfo):
            found = _marked(found, mark.metadata)
        else:
            found |= {word: getattr(mark, name) for name, word in names.items() if hasattr(mark, name)}
    return found
