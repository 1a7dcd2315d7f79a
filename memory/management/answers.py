"""How the answers of declared calls look at a terminal; a call that is not named here prints its answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.text import Text

from flux.calls import boards, keys
from flux.calls.base import Call
from memory.management.base import FluxCommand

Shown = Callable[["AnswerCommand", Any, dict[str, Any]], None]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _until(answer: Any) -> str:
    return f", until {answer['expires_at'][:19]}Z" if answer.get("expires_at") else ""


class AnswerCommand(FluxCommand):
    """Shows what a call answered: one JSON document for scripts, sentences and tables for people."""

    def show(self, action: str, call: type[Call], answer: Any, given: dict[str, Any]) -> None:
        self.answer(answer)
        if self.as_json:
            return
        shown = SHOWN.get(action) or SHOWN.get(call)
        if shown is None:
            self.console.print(Text(_json(answer)))
        else:
            shown(self, answer, given)

    def line(self, words: str) -> None:
        self.console.print(Text(words))


def _value(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.line(_json(answer["value"]))
    command.notes.print(Text(f"version {answer['version']}, by {answer['writer']}{_until(answer)}", "dim"))


def _change(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if answer.get("deleted") is not None:
        command.line("Deleted." if answer["deleted"] else "There was nothing under that key.")
        return
    value = f": {_json(answer['value'])}" if "value" in answer else ""
    command.line(f"{answer['key']} is at version {answer['version']}{_until(answer)}{value}")


def _purge(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    from memory.keyvalue import purging

    purging.scrub_now()
    done = answer["deleted"] or answer["forgotten"]
    kept = "Purged. Backups made before still hold it: flux_backup list."
    command.line(kept if done else "Nothing was kept under that key.")


def _keys(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    last = ("value",) if given.get("values") else ()
    command.table(
        ("key", "version", "until", "by", *last),
        [
            (
                one["key"],
                one["version"],
                (one["expires_at"] or "")[:19],
                one["writer"],
                *((_json(one["value"]),) if last else ()),
            )
            for one in answer["keys"]
        ],
        empty="No key there, or none that matches.",
    )
    if answer["next_cursor"]:
        command.console.print(f"[dim]More: --cursor {answer['next_cursor']}[/]")


def _history(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if "versions" not in answer:
        command.line(_json(answer["value"]))
        return
    command.table(
        ("version", "", "bytes", "by", "at"),
        [(one["version"], one["kind"], one["bytes"], one["writer"], one["at"][:19]) for one in answer["versions"]],
        empty="Nothing of it is kept.",
    )


def _boards(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("board", "keys", "bytes", ""),
        [
            (one["board"], one["keys"], one["bytes"], "ephemeral" if one["ephemeral"] else "")
            for one in answer["boards"]
        ],
        empty="Nothing was written on a board yet. main is there without being made.",
    )


def _locks(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("lock", "holder", "token", "until", ""),
        [(one["lock"], one["holder"], one["token"], one["expires_at"][:19], one["note"]) for one in answer["locks"]],
        empty="Nobody holds a lock there.",
    )


def _queues(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("queue", "waiting", "claimed"),
        [(one["queue"], one["waiting"], one["claimed"]) for one in answer["queues"]],
        empty="No queue there.",
    )


def _sentence(words: Callable[[Any], str]) -> Shown:
    return lambda command, answer, given: command.line(words(answer))


# By action where one call has several, else by call.
SHOWN: dict[str | type[Call], Shown] = {
    keys.GetKey: _value,
    keys.SetKey: _change,
    keys.CompareAndSetKey: _change,
    keys.ChangeKey: _change,
    keys.DeleteKey: _change,
    "purge": _purge,
    keys.ListKeys: _keys,
    keys.GetHistory: _history,
    boards.ListBoards: _boards,
    boards.MakeBoard: _sentence(
        lambda one: f"Made the board {one['board']}." if one["made"] else f"The board {one['board']} is there already."
    ),
    boards.DeleteBoard: _sentence(
        lambda one: f"Deleted the board {one['board']} with {one['keys']} keys and {one['tasks']} tasks."
    ),
    boards.ListLocks: _locks,
    boards.AcquireLock: _sentence(lambda one: f"Yours until {one['expires_at'][:19]}Z. Fencing token: {one['token']}"),
    boards.RenewLock: _sentence(lambda one: f"Yours until {one['expires_at'][:19]}Z."),
    boards.ReleaseLock: _sentence(lambda one: "Let go."),
    boards.BreakLock: _sentence(lambda one: "Taken from its holder."),
    boards.ListQueues: _queues,
    boards.AddTask: _sentence(lambda one: f"Added: {one['task']}"),
    boards.ClaimTask: _sentence(
        lambda one: f"{one['task']} token {one['token']}: {one['value']!r}" if one["task"] else "Nothing waits."
    ),
    boards.FinishTask: _sentence(lambda one: "Done."),
}
