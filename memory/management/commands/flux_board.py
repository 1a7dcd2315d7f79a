"""What agents share, from the shell: boards, locks and queues."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from fluxcore.errors import Invalid
from fluxcore.writes.preconditions import Precondition
from memory.keyvalue import boards, locks, queues
from memory.keyvalue.places import MAIN
from memory.management.exact import KeyCommand, value_of, version_of

ACTIONS = [
    "read",
    "write",
    "cas",
    "delete",
    "list",
    "touch",
    "incr",
    "append",
    "patch",
    "history",
    "restore",
    "purge",
    "boards",
    "make",
    "remove",
    "locks",
    "lock",
    "renew",
    "unlock",
    "break",
    "queues",
    "add",
    "claim",
    "done",
]


class Command(KeyCommand):
    help = "A board that agents share: read, write, cas, delete, list; boards, locks, queues."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=ACTIONS)
        parser.add_argument(
            "arguments",
            nargs="*",
            metavar="KEY ...",
            help="write KEY JSON, cas KEY EXPECTED JSON (null: absent), make or remove BOARD, lock NAME, "
            "renew or unlock NAME TOKEN, add QUEUE JSON, claim QUEUE, done QUEUE TASK TOKEN",
        )
        parser.add_argument("--board", default=MAIN, help=f"which board (default {MAIN})")
        parser.add_argument("--ephemeral", action="store_true", help="make: a board that every start empties")
        parser.add_argument("--note", default="", help="lock: shown to who finds it held")
        self.shared(parser)

    def run(self, options: dict[str, Any]) -> None:
        getattr(self, f"_{options['action']}")(options, f"boards/{options['board']}")

    # Keys, as flux_kv has them ----------------------------------------------------------------------
    def _read(self, options: dict[str, Any], where: str) -> None:
        self.read(options, where, *self.wanted(options, "KEY"))

    def _write(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "set", where, key, value=value_of(text))

    def _cas(self, options: dict[str, Any], where: str) -> None:
        """By value, as blackboards do it: null stands for nothing, on both sides."""
        key, old, new = self.wanted(options, "KEY", "EXPECTED", "JSON")
        expected = Precondition(expected_value=value_of(old))
        self.change(options, "set", where, key, value=value_of(new), precondition=expected)

    def _delete(self, options: dict[str, Any], where: str) -> None:
        self.delete(options, where, *self.wanted(options, "KEY"))

    def _purge(self, options: dict[str, Any], where: str) -> None:
        self.purge(options, where, *self.wanted(options, "KEY"))

    def _list(self, options: dict[str, Any], where: str) -> None:
        self.wanted(options)
        self.list(options, where)

    def _touch(self, options: dict[str, Any], where: str) -> None:
        self.change(options, "touch", where, *self.wanted(options, "KEY"))

    def _incr(self, options: dict[str, Any], where: str) -> None:
        key, by = self.wanted(options, "KEY", "BY")
        self.change(options, "incr", where, key, by=value_of(by))

    def _append(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "append", where, key, value=value_of(text))

    def _patch(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "patch", where, key, patch=value_of(text))

    def _history(self, options: dict[str, Any], where: str) -> None:
        self.history(options, where, *self.wanted(options, "KEY"))

    def _restore(self, options: dict[str, Any], where: str) -> None:
        key, version = self.wanted(options, "KEY", "VERSION")
        self.change(options, "restore", where, key, version=version_of(version))

    # Boards -----------------------------------------------------------------------------------------
    def _boards(self, options: dict[str, Any], where: str) -> None:
        self.wanted(options)
        found = boards.listed(self.who(options))
        if self.as_json:
            self.answer(found)
            return
        self.table(
            ("board", "keys", "bytes", ""),
            [
                (one["board"], one["keys"], one["bytes"], "ephemeral" if one["ephemeral"] else "")
                for one in found["boards"]
            ],
            empty=f"Nothing was written on a board yet. {MAIN} is there without being made.",
        )

    def _make(self, options: dict[str, Any], where: str) -> None:
        (name,) = self.wanted(options, "BOARD")
        made = boards.make(self.who(options), board=name, ephemeral=options["ephemeral"], reason=options["reason"])
        self.say(made, f"Made the board {name}." if made["made"] else f"The board {name} is there already.")

    def _remove(self, options: dict[str, Any], where: str) -> None:
        (name,) = self.wanted(options, "BOARD")
        done = boards.delete(self.who(options), board=name, reason=options["reason"])
        self.say(done, f"Deleted the board {name} with {done['keys']} keys and {done['tasks']} tasks.")

    # Locks ------------------------------------------------------------------------------------------
    def _locks(self, options: dict[str, Any], where: str) -> None:
        self.wanted(options)
        found = locks.listed(self.who(options), board=options["board"], pattern=options["pattern"])
        if self.as_json:
            self.answer(found)
            return
        self.table(
            ("lock", "holder", "token", "until", ""),
            [(one["lock"], one["holder"], one["token"], one["expires_at"][:19], one["note"]) for one in found["locks"]],
            empty="Nobody holds a lock there.",
        )

    def _lock(self, options: dict[str, Any], where: str) -> None:
        (name,) = self.wanted(options, "NAME")
        got = locks.acquire(
            self.who(options),
            lock=name,
            board=options["board"],
            ttl_secs=options["ttl"],
            note=options["note"],
            reason=options["reason"],
        )
        self.say(got, f"Yours until {got['expires_at'][:19]}Z. Fencing token: {got['token']}")

    def _renew(self, options: dict[str, Any], where: str) -> None:
        name, token = self.wanted(options, "NAME", "TOKEN")
        got = locks.renew(
            self.who(options),
            lock=name,
            token=version_of(token),
            board=options["board"],
            ttl_secs=options["ttl"],
            reason=options["reason"],
        )
        self.say(got, f"Yours until {got['expires_at'][:19]}Z.")

    def _unlock(self, options: dict[str, Any], where: str) -> None:
        name, token = self.wanted(options, "NAME", "TOKEN")
        done = locks.release(
            self.who(options), lock=name, token=version_of(token), board=options["board"], reason=options["reason"]
        )
        self.say(done, "Let go.")

    def _break(self, options: dict[str, Any], where: str) -> None:
        (name,) = self.wanted(options, "NAME")
        done = locks.break_lock(self.who(options), lock=name, board=options["board"], reason=options["reason"])
        self.say(done, "Taken from its holder.")

    # Queues -----------------------------------------------------------------------------------------
    def _queues(self, options: dict[str, Any], where: str) -> None:
        self.wanted(options)
        found = queues.listed(self.who(options), board=options["board"])
        if self.as_json:
            self.answer(found)
            return
        self.table(
            ("queue", "waiting", "claimed"),
            [(one["queue"], one["waiting"], one["claimed"]) for one in found["queues"]],
            empty="No queue there.",
        )

    def _add(self, options: dict[str, Any], where: str) -> None:
        queue, text = self.wanted(options, "QUEUE", "JSON")
        made = queues.add(
            self.who(options), queue=queue, value=value_of(text), board=options["board"], reason=options["reason"]
        )
        self.say(made, f"Added: {made['task']}")

    def _claim(self, options: dict[str, Any], where: str) -> None:
        (queue,) = self.wanted(options, "QUEUE")
        got = queues.claim(
            self.who(options), queue=queue, board=options["board"], ttl_secs=options["ttl"], reason=options["reason"]
        )
        self.say(got, f"{got['task']} token {got['token']}: {got['value']!r}" if got["task"] else "Nothing waits.")

    def _done(self, options: dict[str, Any], where: str) -> None:
        queue, task, token = self.wanted(options, "QUEUE", "TASK", "TOKEN")
        if options["ttl"] is not None:
            raise Invalid("done takes no --ttl.", field="ttl")
        done = queues.done(
            self.who(options),
            queue=queue,
            task=task,
            token=version_of(token),
            board=options["board"],
            reason=options["reason"],
        )
        self.say(done, "Done.")
