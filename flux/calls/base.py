"""Base classes of declared calls: fields, answer, and the name of a call at REST, MCP, SDK and shell.

    class SetKey(Write, Answers[Written]):
        \"\"\"Write a value, replacing the current one.\"\"\"

        sdk, rest = "{word}_set", "PUT /{place}/kv/{key}"
        needs = ("{domain}.write",)
        shell = ("write {key} {value}",)

        place: Place
        key: Key
        value: Any = Field(description="Any JSON.")

REST route, OpenAPI, MCP tool, SDK methods, shell command and tables of the documents are generated from it; a handler
(`accounts/calls.py`) carries it out. A call with a field `place` is offered at each of the `PLACES`: their words
replace `{word}`, `{domain}` and `{whose}`.
"""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from flux.calls.types import IdempotencyKey, Reason

AnswerType = TypeVar("AnswerType")


WITH_SLASHES = ("key", "path")  # fields that, in an address, may hold slashes


class Answers(Generic[AnswerType]):
    """Type of a call's answer: `class GetKey(Read, Answers[KeyValue])`.

    A base of its own instead of `Call[KeyValue]`: for that pydantic would make a second model of each call, which
    doubles the time it takes to load the declarations.
    """


class Declared(BaseModel):
    """Base of all models: unknown fields and other types are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)


class Call(Declared):
    """Base of all calls. The docstring of a call is its description in every document and tool list."""

    sdk: ClassVar[str] = ""  # method of the client, and operationId of the OpenAPI document
    verb: ClassVar[str] = ""  # name in the audit chain; empty where the handler chooses among verbs
    needs: ClassVar[tuple[str, ...]] = ()  # capabilities, all of them
    rest: ClassVar[str] = ""  # "METHOD /path/{field}"; empty: not over REST
    # Fields that GET and DELETE cannot carry (objects, any JSON). MCP tools and the other methods of REST take them.
    not_over_rest: ClassVar[tuple[str, ...]] = ()
    tagged: ClassVar[bool] = False  # the version in the answer is its ETag
    tool: ClassVar[str | None] = ""  # MCP tool; empty: named like the SDK method; None: no tool
    group: ClassVar[str] = ""  # group of tools and shell commands; a call with a place is in its group
    command: ClassVar[str] = ""  # shell command, where it is not named like the group
    title: ClassVar[str] = ""  # title of the MCP tool
    reads: ClassVar[bool] = False  # changes nothing (MCP: readOnlyHint)
    repeats: ClassVar[bool] = False  # repeating it changes nothing more (MCP: idempotentHint)
    destroys: ClassVar[bool] = False  # cannot be undone (MCP: destructiveHint)
    # Command lines: "incr {key} {by} op=incr" is `flux kv incr KEY BY`; other fields are options. A line that begins
    # with "board: " is only in that group.
    shell: ClassVar[tuple[str, ...]] = ()
    # Command lines, by their first word, that a person must confirm with --confirm: the field whose value is repeated,
    # and what happens then.
    confirms: ClassVar[dict[str, tuple[str, str]]] = {}
    # Optional fields that the SDK method also takes by position.
    by_position: ClassVar[tuple[str, ...]] = ()
    # Fields each value of `op` takes; other values refuse them.
    fields_of_op: ClassVar[dict[str, tuple[str, ...]]] = {}
    # Valid fields, those of the path too, for documents and for tests of capabilities.
    example: ClassVar[dict[str, Any]] = {}


class Read(Call):
    """A call that changes nothing."""

    reads: ClassVar[bool] = True
    repeats: ClassVar[bool] = True


class Write(Call):
    """A call that changes something. It is recorded in the audit chain and happens once for one idempotency key."""

    reason: Reason | None = Field(None, description="Reason, recorded in the audit log.")
    idempotency_key: IdempotencyKey | None = Field(None, description="Repeated calls with the same key happen once.")


@dataclass(frozen=True)
class PlaceKind:
    """A kind of place with keys, `agents/NAME` or `boards/NAME`, and the words it puts into declarations."""

    kind: str  # first part of the place: "agents"
    field: str  # field with the name behind it: "agent"
    word: str  # first word of methods and tools, and their group: "memory"
    domain: str  # domain of the capability: "bb"
    whose: str  # words in a title: "your exact memory"
    says: str  # description of the field, an optional argument of tools


PLACES = (
    PlaceKind(
        "agents",
        "agent",
        "memory",
        "memory",
        "your exact memory",
        "Agent that owns the memory. Default: your own; others take a capability.",
    ),
    PlaceKind("boards", "board", "board", "bb", "a shared board", "Name of the board. Default main."),
)


@dataclass(frozen=True)
class CallAtPlace:
    """A call at one kind of place, or a call without a place, with the place's words filled into its names."""

    call: type[Call]
    place: PlaceKind | None = None

    def filled(self, text: str) -> str:
        place = self.place
        if place is None:
            return text
        text = text.replace("{place}", f"{place.kind}/{{{place.field}}}")
        return text.replace("{word}", place.word).replace("{domain}", place.domain).replace("{whose}", place.whose)

    @cached_property
    def sdk(self) -> str:
        return self.filled(self.call.sdk)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        return tuple(map(self.filled, self.call.needs))

    @cached_property
    def tool(self) -> str | None:
        return None if self.call.tool is None else self.filled(self.call.tool) or self.sdk

    @cached_property
    def group(self) -> str:
        return self.place.word if self.place else self.call.group

    @cached_property
    def title(self) -> str:
        return self.filled(self.call.title)

    @cached_property
    def says(self) -> str:
        return self.filled(inspect.cleandoc(self.call.__doc__ or "").replace("\n", " "))

    @cached_property
    def method(self) -> str:
        return self.call.rest.partition(" /")[0]

    @cached_property
    def path(self) -> str:
        """Path of the REST route: `agents/{agent}/kv/{key}`."""
        return self.filled(self.call.rest.partition(" /")[2])

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """Names of the fields in the path."""
        return tuple(part.partition("}")[0] for part in self.path.split("{")[1:])

    @cached_property
    def shell(self) -> tuple[str, ...]:
        lines = (line.rpartition(": ") for line in self.call.shell)
        return tuple(text for group, _, text in lines if group in ("", self.group))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Fields a caller gives: `agent` or `board` instead of `place`."""
        names = tuple(self.call.model_fields)
        return names if self.place is None else tuple(self.place.field if name == "place" else name for name in names)

    def fields_of_call(self, given: dict[str, Any]) -> dict[str, Any]:
        """Fields of the call from what a caller gave: `place` instead of `agent` or `board`."""
        if self.place is None:
            return given
        rest = {name: value for name, value in given.items() if name != self.place.field}
        return {"place": f"{self.place.kind}/{given[self.place.field]}", **rest}


def calls_at_places(calls: Iterable[type[Call]]) -> list[CallAtPlace]:
    """Calls with a place once for each kind of place, ordered by kind; then the calls without a place."""
    with_place = [CallAtPlace(call, place) for place in PLACES for call in calls if "place" in call.model_fields]
    return [*with_place, *(CallAtPlace(call) for call in calls if "place" not in call.model_fields)]


def answer_of(call: type[Call]) -> Any:
    """Answer type of a call: the type in `Answers[...]`."""
    for base in call.__mro__:
        for declared in base.__dict__.get("__orig_bases__", ()):
            if get_origin(declared) is Answers:
                return get_args(declared)[0]
    raise TypeError(f"{call.__name__} does not say what it answers")
