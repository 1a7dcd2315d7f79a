"""A call, declared once: its fields, its answer, and under which name each server offers it.

    class SetKey(Write, Answers[Written]):
        \"\"\"Write a value; with an expectation only if it holds.\"\"\"

        sdk, rest = "{word}_set", "PUT /{place}/kv/{key}"
        needs = ("{domain}.write",)
        shell = ("write {key} {value}",)

        place: Place
        key: Key
        value: Any = Field(description="Any JSON.")

REST route, OpenAPI, MCP tool, SDK methods, shell command and tables of the documents are made from it; a handler
(`accounts/calls.py`) does the work. A call with a field `place` is offered at each of the `PLACES`: for them `{word}`,
`{domain}` and `{whose}` stand for the place's own words.
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
    """Says what a call answers: `class GetKey(Read, Answers[Kept])`.

    Beside the model and not `Call[Kept]`: pydantic would make a second model for each such base, which doubles what
    loading the declarations costs.
    """


class Declared(BaseModel):
    """Part of what a call takes: exactly these fields, of exactly these types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)


class Call(Declared):
    """Base of all calls. The docstring of a call is its description for people, programs and models."""

    sdk: ClassVar[str] = ""  # method of the client, and operationId of the OpenAPI document
    verb: ClassVar[str] = ""  # as the audit chain names it; empty where the handler chooses among verbs
    needs: ClassVar[tuple[str, ...]] = ()  # capabilities, all of them
    rest: ClassVar[str] = ""  # "METHOD /path/{field}"; empty: not over REST
    # Fields that GET and DELETE cannot carry, as an object or any JSON; tools and the other methods of REST take them.
    not_over_rest: ClassVar[tuple[str, ...]] = ()
    tagged: ClassVar[bool] = False  # the answer's version is its ETag
    tool: ClassVar[str | None] = ""  # of MCP; empty: named like the method; None: no tool
    group: ClassVar[str] = ""  # of tools and shell commands; a place has its own
    title: ClassVar[str] = ""  # of the tool
    reads: ClassVar[bool] = False  # changes nothing
    repeats: ClassVar[bool] = False  # the same call again changes nothing more
    destroys: ClassVar[bool] = False  # what it takes away cannot be had again
    # Command lines: "incr {key} {by} op=incr" is `flux kv incr KEY BY`; other fields are options. "board: ..." is a
    # line of one group only.
    shell: ClassVar[tuple[str, ...]] = ()
    # Command lines (by their first word) that a person confirms with --confirm: the field whose value is repeated, and
    # what happens then.
    confirms: ClassVar[dict[str, tuple[str, str]]] = {}
    # Optional fields that the client's method also takes by position.
    by_position: ClassVar[tuple[str, ...]] = ()
    # Fields that work, of the address too, for documents and for tests of who may call it.
    example: ClassVar[dict[str, Any]] = {}


class Read(Call):
    """A call that changes nothing."""

    reads: ClassVar[bool] = True
    repeats: ClassVar[bool] = True


class Write(Call):
    """A call that changes something, is written down, and happens once for one idempotency key."""

    reason: Reason | None = Field(None, description="Why, for the audit chain.")
    idempotency_key: IdempotencyKey | None = Field(
        None, description="Repeat a call with the same key and it happens once."
    )


@dataclass(frozen=True)
class At:
    """A kind of place that a call with a field `place` is offered at: `agents/NAME` or `boards/NAME`."""

    kind: str  # the first part of the place
    field: str  # how the name behind it is called
    word: str  # the first word of methods and tools, and their group
    domain: str  # of the capability
    whose: str  # in a title
    says: str  # of the name, as an optional argument of tools


PLACES = (
    At(
        "agents",
        "agent",
        "memory",
        "memory",
        "your exact memory",
        "Whose memory, if not your own; takes a capability for it.",
    ),
    At("boards", "board", "board", "bb", "a shared board", "Which board. Default main."),
)


@dataclass(frozen=True)
class Offer:
    """A call as one caller meets it: at a place, with all names filled in."""

    call: type[Call]
    at: At | None = None

    def filled(self, text: str) -> str:
        at = self.at
        if at is None:
            return text
        text = text.replace("{place}", f"{at.kind}/{{{at.field}}}")
        return text.replace("{word}", at.word).replace("{domain}", at.domain).replace("{whose}", at.whose)

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
        return self.at.word if self.at else self.call.group

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
        """`agents/{agent}/kv/{key}`"""
        return self.filled(self.call.rest.partition(" /")[2])

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        return tuple(part.partition("}")[0] for part in self.path.split("{")[1:])

    @cached_property
    def shell(self) -> tuple[str, ...]:
        lines = (line.rpartition(": ") for line in self.call.shell)
        return tuple(text for group, _, text in lines if group in ("", self.group))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """What a caller gives, with the place's name in place of the place."""
        names = tuple(self.call.model_fields)
        return names if self.at is None else tuple(self.at.field if name == "place" else name for name in names)

    def fields_of_call(self, given: dict[str, Any]) -> dict[str, Any]:
        """Back from the place's name to the place."""
        if self.at is None:
            return given
        rest = {name: value for name, value in given.items() if name != self.at.field}
        return {"place": f"{self.at.kind}/{given[self.at.field]}", **rest}


def offers(calls: Iterable[type[Call]]) -> list[Offer]:
    """Each call at each place it has; place by place, so that what belongs together stays together."""
    found = [Offer(call, at) for at in PLACES for call in calls if "place" in call.model_fields]
    return [*found, *(Offer(call) for call in calls if "place" not in call.model_fields)]


def answer_of(call: type[Call]) -> Any:
    """The type in `Answers[...]`."""
    for base in call.__mro__:
        for declared in base.__dict__.get("__orig_bases__", ()):
            if get_origin(declared) is Answers:
                return get_args(declared)[0]
    raise TypeError(f"{call.__name__} does not say what it answers")
