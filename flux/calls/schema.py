"""JSON schemas of declared calls and of their answers."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flux.calls.base import Call, CallAtPlace

Schema = dict[str, Any]
LABELS_OF_WRITES = ("reason", "idempotency_key")  # of every write; they travel beside its fields
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
IN_QUERY = ("string", "integer", "number", "boolean")  # what a text in an address can say


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


@cache
def item_kinds(call: type[Call]) -> dict[str, str]:
    """The JSON type of the elements, for each field that is a list."""
    hints = {name: _bare(field.annotation) for name, field in call.model_fields.items()}
    return {name: _kind(typing.get_args(hint)[0]) for name, hint in hints.items() if typing.get_origin(hint) is list}


def _kind(hint: Any) -> str:
    hint = _bare(hint)
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return _kind_of_words(typing.get_args(hint))
    return "" if hint is Any else _PLAIN.get(origin or hint, "object")


def _bare(hint: Any) -> Any:
    """A type without its marks and without null."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _bare(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return _bare(next(member for member in arguments if member is not type(None)))
    return hint


def _kind_of_words(words: Iterable[Any]) -> str:
    """The one JSON type of a choice: texts, whole numbers, or true and false."""
    found = {_PLAIN.get(type(word), "") for word in words}
    if len(found) != 1 or "" in found:
        raise TypeError(f"a choice has texts or whole numbers, not both: {', '.join(map(repr, words))}")
    return found.pop()


def rest_fields(offer: CallAtPlace) -> tuple[str, ...]:
    """The fields that a request carries beside its address: all in a body, else those that a query can say.

    Whatever a query cannot say is named in `not_over_rest`, so that nothing is dropped without a word.
    """
    call = offer.call
    given = tuple(name for name in call.model_fields if name not in (*offer.in_path, *LABELS_OF_WRITES, "place"))
    if offer.method not in ("GET", "DELETE"):
        return given
    known, items = kinds(call), item_kinds(call)
    said = tuple(name for name in given if items.get(name, known[name]) in IN_QUERY)
    if lost := [name for name in given if name not in said and name not in call.not_over_rest]:
        raise TypeError(f"{call.__name__}: a query cannot carry {', '.join(lost)}; name it in not_over_rest")
    return said


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
    if origin is dict:
        return {"type": "object", "additionalProperties": described(arguments[1])}
    if origin is typing.Literal:
        return {"type": _kind_of_words(arguments), "enum": list(arguments)}
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
