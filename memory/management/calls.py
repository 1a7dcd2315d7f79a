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
from flux.calls import registry, schema
from flux.calls.base import Call, Offer, Write, offers
from fluxcore.canonical_json import loads
from fluxcore.errors import BadJSON, Invalid
from memory.management.answers import AnswerCommand

FLAGS = {"ttl_secs": "ttl", "version": "at"}  # options that are called otherwise than their fields
_TYPES = {"integer": int, "number": float, "string": str}
_AS_JSON = ("", "object", "array")  # arguments that are typed as JSON


@dataclass(frozen=True)
class CommandLine:
    """An action: the call it makes, the fields it takes by position, and what it says by itself."""

    action: str
    offer: Offer
    takes: tuple[str, ...]
    says: dict[str, str]

    @property
    def is_confirmed(self) -> bool:
        return self.action in self.offer.call.confirms

    @property
    def usage(self) -> str:
        kinds = schema.kinds(self.offer.call)
        return " ".join(["JSON" if kinds[name] in _AS_JSON else name.upper() for name in self.takes])

    @property
    def options(self) -> list[str]:
        """What is one value or a list of them. A choice that a line of the call makes by itself is not asked for."""
        call = self.offer.call
        kinds, items = schema.kinds(call), schema.item_kinds(call)
        decided = {word.partition("=")[0] for text in call.shell for word in text.split() if "=" in word}
        return [
            name
            for name, field in call.model_fields.items()
            if name not in (*self.takes, "place", *schema.LABELS_OF_WRITES)
            and items.get(name, kinds[name]) in (*_TYPES, "boolean", "")
            and not (name in decided and schema.is_choice(field.annotation))
        ]


def lines(calls: Iterable[type[Call]], group: str) -> dict[str, CommandLine]:
    found = {}
    for offer in offers(calls):
        for text in offer.shell if offer.group == group else ():
            action, *words = text.split()
            takes = tuple(word.strip("{}") for word in words if word.startswith("{"))
            says = dict(word.split("=") for word in words if "=" in word)
            found[action] = CommandLine(action, offer, takes, says)
    return found


class CallCommand(AnswerCommand):
    """A command whose actions are the declared calls of a group."""

    group: ClassVar[str]
    # The field that names the place: by position (agent), as an option (board), or none.
    place: ClassVar[str] = ""

    def arguments(self, parser: CommandParser) -> None:
        self.lines = lines(registry.calls(self.group), self.group)
        usual: dict[str, Any] = {"nargs": "?", "default": "list"} if "list" in self.lines else {}
        parser.add_argument("action", choices=list(self.lines), **usual)
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
        confirmed = {name: one.offer.call.confirms[name][0] for name, one in self.lines.items() if one.is_confirmed}
        if confirmed:
            again = ", ".join(f"{action}: the {field} once more" for action, field in confirmed.items())
            parser.add_argument("--confirm", metavar="/".join(sorted(set(confirmed.values()))).upper(), help=again)

    def _options(self) -> dict[str, list[CommandLine]]:
        found: dict[str, list[CommandLine]] = {}
        for line in self.lines.values():
            for name in line.options:
                found.setdefault(name, []).append(line)
        found.pop(self.place, None)
        return found

    def _add_option(self, parser: CommandParser, name: str, of: list[CommandLine]) -> None:
        field, kind = of[0].offer.call.model_fields[name], schema.kinds(of[0].offer.call)[name]
        help_text = f"{', '.join(line.action for line in of)}: {field.description or name}"
        more: dict[str, Any] = {"action": "store_true"} if kind == "boolean" else {"type": _TYPES.get(kind, str)}
        if kind == "array":
            more = {"action": "append", "type": _TYPES.get(schema.item_kinds(of[0].offer.call)[name], str)}
        shape = schema.properties(of[0].offer.call)[name]
        if "enum" in shape:
            more["choices"] = [one for one in shape["enum"] if one is not None]
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
        if line.is_confirmed:
            field, what = call.confirms[line.action]
            self.confirm(options["confirm"], str(given[field]), what=what)
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
        if line.offer.at is not None:
            return line.offer.fields_of_call({self.place: options[self.place] or "main", **given})
        if self.place in line.options and options[self.place] is not None:
            return {self.place: options[self.place], **given}
        return given

    def _parsed(self, line: CommandLine, name: str, given: Any) -> Any:
        call = line.offer.call
        if isinstance(given, list):  # an option that was repeated
            return [_parsed(one, schema.item_kinds(call)[name], name) for one in given]
        return _parsed(given, schema.kinds(call)[name], name)


def _parsed(given: Any, kind: str, name: str) -> Any:
    if not isinstance(given, str):
        return given
    if kind == "integer":
        return whole_number(given, name=name)
    return value_of(given) if kind in (*_AS_JSON, "number") else given


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
