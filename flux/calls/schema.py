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
    """JSON schemas of a call's fields, by name, without references.

    Made from the annotations: `model_json_schema` builds every validator first, which would slow down the first list
    of tools of a process.
    """
    return {name: _field(field) for name, field in call.model_fields.items()}


def _field(field: FieldInfo) -> Schema:
    shape = _marked(described(field.annotation), field.metadata)
    return {**shape, "description": field.description} if field.description else shape


@cache
def required(call: type[BaseModel]) -> tuple[str, ...]:
    """Names of the fields that must be given."""
    return tuple(name for name, field in call.model_fields.items() if field.is_required())


@cache
def kinds(call: type[Call]) -> dict[str, str]:
    """JSON type of each field, leaving out null; empty for any JSON. From the annotations alone, which is quick."""
    return {name: _kind(field.annotation) for name, field in call.model_fields.items()}


def _kind(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return _kind(next(member for member in arguments if member is not type(None)))
    if origin is typing.Literal:
        return "string"
    return "" if hint is Any else _PLAIN.get(origin or hint, "object")


def is_choice(hint: Any) -> bool:
    """Whether a field takes one of a few fixed texts."""
    return typing.get_origin(hint) is typing.Literal or any(map(is_choice, typing.get_args(hint)))


def takes_any_json(shape: Schema) -> bool:
    """Whether a field takes any JSON, so that null is a value like any other."""
    return not shape.keys() & {"type", "enum"}


def kind(shape: Schema) -> str:
    """JSON type of a schema, leaving out null; empty for any JSON."""
    return next(iter(_types(shape)), "")


def without_null(shape: Schema) -> Schema:
    """A schema without null, for servers where a field is left out instead."""
    return {**shape, "type": kind(shape)} if kind(shape) else shape


def _types(shape: Schema) -> set[str]:
    names = shape.get("type", [])
    return {names} - {"null"} if isinstance(names, str) else set(names) - {"null"}


def answer_schema(answer: Any) -> Schema:
    """JSON schema of an answer type of `flux/calls/answers.py`, without references."""
    hints = typing.get_type_hints(answer, include_extras=True)
    return {
        "type": "object",
        "properties": {name: described(hint) for name, hint in hints.items()},
        "required": [name for name in hints if name in answer.__required_keys__],
    }


def described(hint: Any) -> Schema:
    """JSON schema of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _marked(described(arguments[0]), arguments[1:])
    if origin is typing.NotRequired:
        return described(arguments[0])
    if origin in (types.UnionType, typing.Union):
        shape = described(arguments[0])
        return _or_null(shape) if type(None) in arguments else shape
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
    """Add the metadata of `Annotated`: a description, a (keyword, value) of JSON schema, or a bound of pydantic."""
    marked = dict(shape)
    unit = "Items" if kind(shape) == "array" else "Length"
    names = {"min_length": f"min{unit}", "max_length": f"max{unit}", "ge": "minimum", "le": "maximum"}
    for mark in marks:
        if isinstance(mark, str):
            marked["description"] = mark
        elif isinstance(mark, tuple):
            marked[mark[0]] = mark[1]
        elif isinstance(mark, FieldInfo):
            marked = _marked(marked, mark.metadata)
        else:
            marked |= {word: getattr(mark, name) for name, word in names.items() if hasattr(mark, name)}
    return marked
