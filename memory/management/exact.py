"""What flux_kv and flux_board share: who acts, JSON on the command line, and how a key is shown."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import local_agent
from accounts.principals import Principal, find_space, shell
from fluxcore.canonical_json import loads
from fluxcore.errors import BadJSON, Invalid
from fluxcore.writes.preconditions import NONE, Precondition
from memory.keyvalue import forgetting, history, keeping, listing, reading
from memory.keyvalue.given import check_version
from memory.management.base import FluxCommand


class KeyCommand(FluxCommand):
    """Reads and changes keys of one namespace."""

    def shared(self, parser: CommandParser) -> None:
        parser.add_argument("--space", default="main", help="the space (default main)")
        parser.add_argument("--as", dest="acting", metavar="AGENT", help="act as this agent, with what it may do")
        parser.add_argument("--ttl", type=float, help="write, cas, touch: seconds to live")
        parser.add_argument("--pattern", help="list: only keys that match, for example 'cache.*' or 'config/**'")
        parser.add_argument("--limit", type=int, default=100, help="list, history: at most so many")
        parser.add_argument("--cursor", help="list: next_cursor of the page before")
        parser.add_argument("--values", action="store_true", help="list: with the values")
        parser.add_argument("--expected-version", type=int, help="delete: only this version")
        parser.add_argument("--at", dest="number", type=int, help="history: the value it had in this version")
        parser.add_argument("--reason", default="", help="why, for the audit chain")
        parser.add_argument("--confirm", metavar="KEY", help="purge: the key once more")

    def who(self, options: dict[str, Any]) -> Principal:
        if options["acting"]:
            return local_agent.find_local_agent(options["space"], options["acting"])
        return shell(find_space(options["space"]))

    def wanted(self, options: dict[str, Any], *names: str) -> list[str]:
        """The arguments an action takes, in order; what is missing is asked for by name."""
        given = options["arguments"]
        if len(given) != len(names):
            raise Invalid(f"{options['action']} takes {' '.join(names) or 'nothing more'}.", field="arguments")
        return list(given)

    def say(self, value: Any, words: str) -> None:
        self.answer(value)
        if not self.as_json:
            self.console.print(Text(words))

    def read(self, options: dict[str, Any], where: str, key: str) -> None:
        found = reading.get(self.who(options), where=where, key=key)
        self.answer(found)
        if not self.as_json:
            self.console.print(Text(json.dumps(found["value"], ensure_ascii=False)))
            until = f", until {found['expires_at'][:19]}Z" if found["expires_at"] else ""
            self.notes.print(Text(f"version {found['version']}, by {found['writer']}{until}", "dim"))

    def change(
        self, options: dict[str, Any], op: str, where: str, key: str, *, precondition: Precondition = NONE, **given: Any
    ) -> None:
        if options["ttl"] is not None:
            given["ttl_secs"] = options["ttl"]
        done = keeping.VERBS[op](
            self.who(options), where=where, key=key, precondition=precondition, reason=options["reason"], **given
        )
        if done.get("deleted") is not None:
            self.say(done, "Deleted." if done["deleted"] else "There was nothing under that key.")
            return
        until = f", until {done['expires_at'][:19]}Z" if done["expires_at"] else ""
        shown = f": {json.dumps(done['value'], ensure_ascii=False)}" if "value" in done else ""
        self.say(done, f"{key} is at version {done['version']}{until}{shown}")

    def delete(self, options: dict[str, Any], where: str, key: str) -> None:
        expected = NONE
        if options["expected_version"] is not None:
            expected = Precondition(expected_version=check_version(options["expected_version"]))
        self.change({**options, "ttl": None}, "delete", where, key, precondition=expected)

    def purge(self, options: dict[str, Any], where: str, key: str) -> None:
        self.confirm(options["confirm"], key, what="This removes the key's value and all its versions for good.")
        done = forgetting.forget(self.who(options), where=where, key=key, reason=options["reason"])
        forgetting.scrub_now()
        said = "Purged. Backups made before still hold it: flux_backup list."
        self.say(done, said if done["deleted"] or done["forgotten"] else "Nothing was kept under that key.")

    def list(self, options: dict[str, Any], where: str) -> None:
        found = listing.page(
            self.who(options),
            where=where,
            pattern=options["pattern"],
            limit=options["limit"],
            cursor=options["cursor"],
            values=options["values"],
        )
        if self.as_json:
            self.answer(found)
            return
        last = ("value",) if options["values"] else ()
        self.table(
            ("key", "version", "until", "by", *last),
            [
                (
                    one["key"],
                    one["version"],
                    (one["expires_at"] or "")[:19],
                    one["writer"],
                    *((json.dumps(one["value"], ensure_ascii=False),) if last else ()),
                )
                for one in found["keys"]
            ],
            empty="No key there, or none that matches.",
        )
        if found["next_cursor"]:
            self.console.print(f"[dim]More: --cursor {found['next_cursor']}[/]")

    def history(self, options: dict[str, Any], where: str, key: str) -> None:
        who = self.who(options)
        if options["number"] is not None:
            found = history.version(who, where=where, key=key, version=options["number"])
            self.say(found, json.dumps(found["value"], ensure_ascii=False))
            return
        found = history.page(who, where=where, key=key, limit=min(options["limit"], history.MAX_PAGE))
        if self.as_json:
            self.answer(found)
            return
        self.table(
            ("version", "", "bytes", "by", "at"),
            [(one["version"], one["kind"], one["bytes"], one["writer"], one["at"][:19]) for one in found["versions"]],
            empty="Nothing of it is kept.",
        )


def value_of(text: str) -> Any:
    """JSON as it is typed: texts stand in quotes."""
    try:
        return loads(text.encode())
    except UnicodeEncodeError:
        raise BadJSON("That is not UTF-8.") from None
    except BadJSON as refusal:
        raise BadJSON(f"{refusal.message} A text stands in quotes: '\"like this\"'.") from None


def version_of(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise Invalid("A version is a whole number; 0: nothing is there.", field="version")
    return check_version(int(text))
