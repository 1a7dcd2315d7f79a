"""Shell commands of declared calls: one action for each command line that a call declares.

"incr {key} {by} op=incr" is the action `incr KEY [BY]`. Fields of a call that its line does not name are options, and
so are fields at the end of the line that may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from accounts import local_agent
from accounts.calls import handler
from accounts.principals import Principal, find_space, shell
from flux.calls import registry, schema
from flux.calls.base import Call, CallAtPlace, Write, calls_at_places
from fluxcore.canonical_json import loads
from fluxcore.errors import BadJSON, Invalid
from memory.management import store_answers
from memory.management.answers import AnswerCommand

FLAGS = {"ttl_secs": "ttl", "version": "at"}  # option names that differ from the field's


def number(text: str) -> int | float:
    """A number of an option; a whole one stays an int."""
    try:
        return int(text)
    except ValueError:
        return float(text)


_TYPES = {"integer": int, "number": number, "string": str}
_AS_JSON = ("", "object", "array")  # types of arguments that are typed as JSON


@dataclass(frozen=True)
class CommandLine:
    """An action of a command: the call it makes, the fields it takes by position, and the fields it sets itself."""

    action: str
    offer: CallAtPlace
    takes: tuple[str, ...]
    sets: dict[str, str]

    @property
    def is_confirmed(self) -> bool:
        return self.action in self.offer.call.confirms

    @property
    def usage(self) -> str:
        kinds = schema.kinds(self.offer.call)
        words = {name: "JSON" if kinds[name] in _AS_JSON else name.upper() for name in self.takes}
        return " ".join(f"[{word}]" if name in self.optional else word for name, word in words.items())

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Fields at the end of the line that may be left out or given as options."""
        required = schema.required(self.offer.call)
        count = next((at for at, name in enumerate(reversed(self.takes)) if name in required), len(self.takes))
        return self.takes[len(self.takes) - count :]

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Fields this action takes as options: one value or a list. A choice that a line of the call sets is none."""
        call = self.offer.call
        kinds, items = schema.kinds(call), schema.item_kinds(call)
        set_by_lines = {word.partition("=")[0] for text in call.shell for word in text.split() if "=" in word}
        by_position = [name for name in self.takes if name not in self.optional]
        of_other_ops = {name for names in call.fields_of_op.values() for name in names}
        of_other_ops -= set(call.fields_of_op.get(self.sets.get("op", ""), ()))
        return tuple(
            name
            for name, field in call.model_fields.items()
            if name not in (*by_position, *of_other_ops, "place", *schema.LABELS_OF_WRITES)
            and items.get(name, kinds[name]) in (*_TYPES, "boolean", "")
            and not (name in set_by_lines and schema.is_choice(field.annotation))
        )

    def description(self, name: str) -> str:
        """What an option does, with the default of this line where it sets one."""
        text = self.offer.call.model_fields[name].description or name
        return re.sub(r"(?<=Default )\S+(?=\.$)", self.sets[name], text) if name in self.sets else text


def lines(calls: Iterable[type[Call]], group: str) -> dict[str, CommandLine]:
    """The actions of a group by name."""
    actions = {}
    for offer in calls_at_places(calls):
        for text in offer.shell if (offer.call.command or offer.group) == group else ():
            action, *words = text.split()
            takes = tuple(word.strip("{}") for word in words if word.startswith("{"))
            sets = dict(word.split("=") for word in words if "=" in word)
            actions[action] = CommandLine(action, offer, takes, sets)
    return actions


class CallCommand(AnswerCommand):
    """A command whose actions are the declared calls of a group."""

    printers = store_answers.PRINTERS
    group: ClassVar[str]
    place: ClassVar[str] = ""  # the field that names the place: by position (agent), as an option (board), or none
    # Actions that are no call, with what they take by position; `run_own` does them.
    own: ClassVar[dict[str, str]] = {}
    own_options: ClassVar[dict[str, tuple[str, ...]]] = {}  # options of calls that such an action takes, too

    def arguments(self, parser: CommandParser) -> None:
        self.lines = lines(registry.calls(self.group), self.group)
        # Without an action the one that lists or shows; what it lacks is then said as for every other.
        usual = next((action for action in ("list", "show") if action in self.lines), None)
        parser.add_argument(
            "action", choices=[*self.lines, *self.own], nargs=None if usual is None else "?", default=usual
        )
        if self.place == "agent":
            parser.add_argument("agent", nargs="?", help="agent that owns the memory")
        usages = {line.action: line.usage for line in self.lines.values()} | self.own
        usage = ", ".join(f"{action} {takes}".strip() for action, takes in usages.items())
        parser.add_argument("arguments", nargs="*", metavar="KEY ...", help=usage)
        if self.place == "board":
            parser.add_argument("--board", help="name of the board (default main)")
        for name, actions in self._options().items():
            self._add_option(parser, name, actions)
        parser.add_argument("--space", default="main", help="the space (default main)")
        parser.add_argument("--as", dest="acting", metavar="AGENT", help="run with this agent's capabilities")
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")
        confirmed = {name: one.offer.call.confirms[name][0] for name, one in self.lines.items() if one.is_confirmed}
        if confirmed:
            again = ", ".join(
                f"{action}: the {field} again, to skip the question" for action, field in confirmed.items()
            )
            parser.add_argument("--confirm", metavar="/".join(sorted(set(confirmed.values()))).upper(), help=again)

    def _options(self) -> dict[str, list[CommandLine]]:
        """The actions that take each option, by field."""
        actions: dict[str, list[CommandLine]] = {}
        for line in self.lines.values():
            for name in line.options:
                actions.setdefault(name, []).append(line)
        actions.pop(self.place, None)
        return actions

    def _add_option(self, parser: CommandParser, name: str, actions: list[CommandLine]) -> None:
        """An option with the description of its field after the actions that share it."""
        call = actions[0].offer.call
        kind, shape = schema.kinds(call)[name], schema.properties(call)[name]
        by_description: dict[str, list[str]] = {}
        for line in actions:
            by_description.setdefault(line.description(name), []).append(line.action)
        help_text = " ".join(f"{', '.join(names)}: {description}" for description, names in by_description.items())
        more: dict[str, Any] = {"action": "store_true"} if kind == "boolean" else {"type": _TYPES.get(kind, str)}
        if kind == "array":
            more = {"action": "append", "type": _TYPES.get(schema.item_kinds(call)[name], str)}
        if "enum" in shape:
            more["choices"] = [choice for choice in shape["enum"] if choice is not None]
        parser.add_argument(f"--{_flag(name)}", dest=name, default=None, help=help_text.replace("%", "%%"), **more)

    def who(self, options: dict[str, Any]) -> Principal:
        if options["acting"]:
            return local_agent.find_local_agent(options["space"], options["acting"])
        return shell(find_space(options["space"]))

    def run(self, options: dict[str, Any]) -> None:
        self.space = options["space"]
        if options["action"] in self.own:
            self._check_own(options["action"], options)
            self.run_own(options["action"], options)
            return
        line = self.lines[options["action"]]
        given = self._given(line, options)
        call = line.offer.call
        if line.is_confirmed:
            field, what = call.confirms[line.action]
            self.confirm(options["confirm"], str(given[field]), what=what)
        more = {"reason": options["reason"]} if issubclass(call, Write) else {}
        self.show(line.action, call, handler(call)(self.who(options), **given, **more), given)

    def run_own(self, action: str, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def _check_own(self, action: str, options: dict[str, Any]) -> None:
        takes, allowed = self.own[action], self.own_options.get(action, ())
        most = len(takes.split())
        if not most - takes.count("[") <= len(options["arguments"]) <= most:
            raise Invalid(f"{action} takes {takes}.", field="arguments")
        other = next((name for name in self._options() if options[name] is not None and name not in allowed), None)
        if other is not None:
            raise Invalid(f"{action} takes no --{_flag(other)}.", field=other)

    def _given(self, line: CommandLine, options: dict[str, Any]) -> dict[str, Any]:
        """The fields of the call: those the line sets, those typed by position, and options."""
        typed = options["arguments"]
        if not len(line.takes) - len(line.optional) <= len(typed) <= len(line.takes):
            raise Invalid(f"{line.action} takes {line.usage or 'no arguments'}.", field="arguments")
        words = {**line.sets, **dict(zip(line.takes, typed, strict=False))}
        given = {name: self._parsed(line, name, text) for name, text in words.items()}
        for name in self._options():
            if options[name] is None:
                continue
            if name not in line.options:
                raise Invalid(f"{line.action} takes no --{_flag(name)}.", field=name)
            if name in line.takes and name in given:
                raise Invalid(f"{name} is given twice: by position and as --{_flag(name)}.", field=name)
            given[name] = self._parsed(line, name, options[name])
        return self._with_place(line, options, given)

    def _with_place(self, line: CommandLine, options: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        if line.offer.place is not None:
            return line.offer.fields_of_call({self.place: options[self.place] or "main", **given})
        if self.place in line.options and options[self.place] is not None:
            return {self.place: options[self.place], **given}
        return given

    def _parsed(self, line: CommandLine, name: str, given: Any) -> Any:
        call = line.offer.call
        if isinstance(given, list):  # an option that was repeated
            return [_parsed(member, schema.item_kinds(call)[name], name) for member in given]
        return _parsed(given, schema.kinds(call)[name], name)


def _parsed(given: Any, kind: str, name: str) -> Any:
    if not isinstance(given, str):
        return given
    if kind == "integer":
        return whole_number(given, name=name)
    return value_of(given) if kind in (*_AS_JSON, "number", "boolean") else given


def _flag(name: str) -> str:
    return FLAGS.get(name, name).replace("_", "-")


def value_of(text: str) -> Any:
    """A value typed as JSON."""
    try:
        return loads(text.encode())
    except UnicodeEncodeError:
        raise BadJSON("The value is not UTF-8.") from None
    except BadJSON as refusal:
        raise BadJSON(f"{refusal.message} Quote texts: '\"like this\"'.") from None


def whole_number(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise Invalid(f"{name} must be a whole number.", field=name)
    return int(text)
