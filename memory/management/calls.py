"""Declared calls as shell commands: one action for each command line that a call declares.

"incr {key} {by} op=incr" is the action `incr KEY BY`. Fields of a call that its line does not name are options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from accounts import local_agent
from accounts.calls import handler
from accounts.principals import Principal, find_space, shell
from flux.calls import schema
from flux.calls.base import Call, CallAtPlace, Write, calls_at_places
from fluxcore.canonical_json import loads
from fluxcore.errors import BadJSON, Invalid
from memory.management.answers import AnswerCommand

FLAGS = {"ttl_secs": "ttl", "version": "at"}  # options that are called otherwise than their fields
_TYPES = {"integer": int, "number": float, "string": str}


@dataclass(frozen=True)
class CommandLine:
    """An action: the call it makes, the fields it takes by position, and what it says by itself."""

    action: str
    offer: CallAtPlace
    takes: tuple[str, ...]
    says: dict[str, str]

    @property
    def usage(self) -> str:
        kinds = schema.kinds(self.offer.call)
        return " ".join(["JSON" if kinds[name] == "" else name.upper() for name in self.takes])

    @property
    def options(self) -> list[str]:
        call = self.offer.call
        kinds = schema.kinds(call)
        return [
            name
            for name, field in call.model_fields.items()
            if name not in (*self.takes, "place", "reason", "idempotency_key")
            and kinds[name] in (*_TYPES, "boolean", "")
            and not schema.is_choice(field.annotation)
        ]


def lines(calls: Iterable[type[Call]], group: str) -> dict[str, CommandLine]:
    found = {}
    for offer in calls_at_places(calls):
        for text in offer.shell if offer.group == group else ():
            action, *words = text.split()
            takes = tuple(word.strip("{}") for word in words if word.startswith("{"))
            says = dict(word.split("=") for word in words if "=" in word)
            found[action] = CommandLine(action, offer, takes, says)
    return found


class CallCommand(AnswerCommand):
    """A command whose actions are the declared calls of a group."""

    calls: ClassVar[tuple[type[Call], ...]]
    group: ClassVar[str]
    place: ClassVar[str]  # the field that names the place: by position (agent) or as an option (board)

    def arguments(self, parser: CommandParser) -> None:
        self.lines = lines(self.calls, self.group)
        parser.add_argument("action", nargs="?", default="list", choices=list(self.lines))
        if self.place == "agent":
            parser.add_argument("agent", nargs="?", help="whose memory")
        says = ", ".join(f"{one.action} {one.usage}".strip() for one in self.lines.values())
        parser.add_argument("arguments", nargs="*", metavar="KEY ...", help=says)
        if self.place == "board":
            parser.add_argument("--board", help="which board (default main)")
        for name, actions in self._options().items():
            self._add_option(parser, name, actions)
        parser.add_argument("--space", default="main", help="the space (default main)")
        parser.add_argument("--as", dest="acting", metavar="AGENT", help="act as this agent, with what it may do")
        parser.add_argument("--reason", default="", help="why, for the audit chain")
        parser.add_argument("--confirm", metavar="KEY", help="purge: the key once more")

    def _options(self) -> dict[str, list[CommandLine]]:
        found: dict[str, list[CommandLine]] = {}
        for line in self.lines.values():
            for name in line.options:
                found.setdefault(name, []).append(line)
        found.pop("board", None)
        return found

    def _add_option(self, parser: CommandParser, name: str, of: list[CommandLine]) -> None:
        field, kind = of[0].offer.call.model_fields[name], schema.kinds(of[0].offer.call)[name]
        help_text = f"{', '.join(line.action for line in of)}: {field.description or name}"
        more: dict[str, Any] = {"action": "store_true"} if kind == "boolean" else {"type": _TYPES.get(kind, str)}
        flag = FLAGS.get(name, name).replace("_", "-")
        parser.add_argument(f"--{flag}", dest=name, default=None, help=help_text, **more)

    def who(self, options: dict[str, Any]) -> Principal:
        if options["acting"]:
            return local_agent.find_local_agent(options["space"], options["acting"])
        return shell(find_space(options["space"]))

    def run(self, options: dict[str, Any]) -> None:
        line = self.lines[options["action"]]
        given = self._given(line, options)
        call = line.offer.call
        if line.says.get("history") == "forget":
            self.confirm(
                options["confirm"], given["key"], what="This removes the key's value and all its versions for good."
            )
        more = {"reason": options["reason"]} if issubclass(call, Write) else {}
        self.show(line.action, call, handler(call)(self.who(options), **given, **more), given)

    def _given(self, line: CommandLine, options: dict[str, Any]) -> dict[str, Any]:
        """The fields of the call: what the line says, what was typed behind it, and options."""
        typed = options["arguments"]
        if len(typed) != len(line.takes):
            raise Invalid(f"{line.action} takes {line.usage or 'nothing more'}.", field="arguments")
        words = {**line.says, **dict(zip(line.takes, typed, strict=True))}
        given = {name: self._parsed(line, name, text) for name, text in words.items()}
        for name in self._options():
            if options[name] is None or (name in line.takes):
                continue
            if name not in line.options:
                raise Invalid(f"{line.action} takes no --{FLAGS.get(name, name)}.", field=name)
            given[name] = self._parsed(line, name, options[name])
        return self._with_place(line, options, given)

    def _with_place(self, line: CommandLine, options: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        if line.offer.place is not None:
            return line.offer.fields_of_call({self.place: options[self.place] or "main", **given})
        if options[self.place] is not None and "board" in line.options:
            return {"board": options["board"], **given}
        return given

    def _parsed(self, line: CommandLine, name: str, text: Any) -> Any:
        kind = schema.kinds(line.offer.call)[name]
        if kind == "integer" and isinstance(text, str):
            return whole_number(text, name=name)
        return value_of(text) if kind in ("", "number") and isinstance(text, str) else text


def value_of(text: str) -> Any:
    """JSON as it is typed: texts stand in quotes."""
    try:
        return loads(text.encode())
    except UnicodeEncodeError:
        raise BadJSON("That is not UTF-8.") from None
    except BadJSON as refusal:
        raise BadJSON(f"{refusal.message} A text stands in quotes: '\"like this\"'.") from None


def whole_number(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise Invalid(f"{name} is a whole number.", field=name)
    return int(text)
