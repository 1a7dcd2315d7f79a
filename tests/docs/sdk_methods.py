"""The methods of the client for declared calls, as source: `make docs` writes them, a test compares them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flux.calls import registry, schema
from flux.calls.base import Call, CallAtPlace, Write, answer_of, calls_at_places
from tests.docs.pages import ROOT

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "": "Any",
    "object": "Mapping[str, Any]",
}
_LAST = schema.LABELS_OF_WRITES
_WIDTH = 120


def module(says: str, name: str, calls: Iterable[type[Call]]) -> str:
    """A module with one class that has a method for each call over REST."""
    made = [offer for offer in calls_at_places(calls) if offer.method]
    methods = [_method(offer) for offer in made]
    answers = {answer_of(offer.call) for offer in made}
    modules = {
        one.__module__: sorted(
            {each.__name__ for each in answers if each.__module__ == one.__module__}, key=str.casefold
        )
        for one in answers
    }
    body = "\n\n".join(methods)
    used = [word for word in ("Mapping", "Sequence") if f"{word}[" in body]
    values = [word for word in ("NOT_GIVEN", "value_of") if word in body]
    standard = [
        *([f"from collections.abc import {', '.join(used)}"] if used else []),
        *(["from typing import Any"] if "Any" in body else []),
    ]
    lines = [
        f'"""{says}\n\nWritten by `make docs` from `flux/calls/`; change the declarations there.\n"""',
        "",
        "from __future__ import annotations",
        "",
        *([*standard, ""] if standard else []),
        *(_import(module, modules[module]) for module in sorted(modules)),
        "from flux.core import CallArguments, call",
        *([f"from flux.rooms.null_arguments import {', '.join(values)}"] if values else []),
        "",
        "",
        f"class {name}:",
        f'    """{says}"""',
        "",
        body,
    ]
    return "\n".join(lines) + "\n"


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    return (
        line if len(line) <= _WIDTH else f"from {module} import (\n" + "".join(f"    {one},\n" for one in names) + ")"
    )


def _method(offer: CallAtPlace) -> str:
    answer = answer_of(offer.call).__name__
    positional, named = _arguments(offer)
    given = ["self", *positional, *(["*", *named] if named else [])]
    return "\n".join(
        [
            f'    @call("{offer.method}", "{offer.path}")',
            *_signature(offer.sdk, given, f"CallArguments[{answer}]"),
            *_docstring(offer.says),
            *_returned(offer),
        ]
    )


def _arguments(offer: CallAtPlace) -> tuple[list[str], list[str]]:
    """By position: what stands in the address, what is required, and what the declaration lets stand there."""
    call, shapes = offer.call, schema.properties(offer.call)
    required = schema.required(call)
    own = [name for name in _taken(offer) if name not in _LAST]
    first = [*offer.in_path, *(name for name in own if name in required), *call.by_position]
    rest = [name for name in (*own, *_LAST) if name not in first and name in _taken(offer)]

    def typed(name: str) -> str:
        kind = _type(shapes[name]) if name in shapes else "str"
        if name in offer.in_path or name in required:
            return f"{name}: {kind}"
        return f"{name}: {kind} = NOT_GIVEN" if kind == "Any" else f"{name}: {kind} | None = None"

    return [typed(name) for name in first], [typed(name) for name in rest]


def _taken(offer: CallAtPlace) -> list[str]:
    """Fields beside those of the address, in the order of the declaration."""
    taken = (*schema.rest_fields(offer), *_LAST)
    return [name for name in offer.call.model_fields if name in taken]


def _type(shape: schema.Schema) -> str:
    """The Python type of a field or of an element of one."""
    kind = schema.kind(shape)
    if kind == "array":
        return f"Sequence[{_type(shape['items'])}]"
    if kind == "object" and isinstance(shape.get("additionalProperties"), dict):
        return f"Mapping[str, {_type(shape['additionalProperties'])}]"
    return _TYPES[kind]


def _signature(name: str, given: list[str], answer: str) -> list[str]:
    line = f"    def {name}({', '.join(given)}) -> {answer}:"
    if len(line) <= _WIDTH:
        return [line]
    return [f"    def {name}(", *(f"        {one}," for one in given), f"    ) -> {answer}:"]


def _docstring(says: str) -> list[str]:
    if len(says) + 14 <= _WIDTH:
        return [f'        """{says}"""']
    words, lines = says.split(), ["        " + '"""']
    for word in words:
        if len(lines[-1]) + len(word) + 1 > _WIDTH:
            lines.append("       ")
        lines[-1] += word if lines[-1].endswith('"""') else f" {word}"
    return [*lines, '        """']


def _returned(offer: CallAtPlace) -> list[str]:
    parts = []
    body = [name for name in _taken(offer) if offer.method not in ("GET", "DELETE") or name in _LAST]
    query = [name for name in _taken(offer) if name not in body]
    if issubclass(offer.call, Write):
        parts.append(f"body={_dictionary(offer, body)}")
    if offer.in_path:
        parts.append(f"path={_dictionary(offer, list(offer.in_path))}")
    if query:
        parts.append(f"query={_dictionary(offer, query)}")
    line = f"        return CallArguments({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return [line]
    return ["        return CallArguments(", *(f"            {_wrapped(part)}," for part in parts), "        )"]


def _dictionary(offer: CallAtPlace, names: list[str]) -> str:
    shapes, required = schema.properties(offer.call), schema.required(offer.call)

    def value(name: str) -> str:
        kind = schema.kind(shapes[name]) if name in shapes else "string"
        if kind == "":
            return f"value_of({name})"
        if kind == "object":
            made = f"dict({name})"
        elif kind == "array":
            inner = schema.kind(shapes[name]["items"])
            made = f"[dict(one) for one in {name}]" if inner == "object" else f"list({name})"
        else:
            return name
        return made if name in required else f"{made} if {name} is not None else None"

    return "{" + ", ".join(f'"{name}": {value(name)}' for name in names) + "}"


def _wrapped(part: str) -> str:
    if len(part) + 13 <= _WIDTH:
        return part
    name, _, inner = part.partition("={")
    return name + "={\n" + "".join(f"                {one},\n" for one in inner[:-1].split(", ")) + "            }"


def pages() -> dict[Path, str]:
    """The source of the client's methods, for each room with declared calls."""
    return {
        ROOT / f"flux/rooms/{room.name}.py": module(room.says, room.methods, registry.calls(room=room))
        for room in registry.ROOMS
    }


def write() -> None:
    for page, source in pages().items():
        page.write_text(source, encoding="utf-8")
