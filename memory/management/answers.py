"""Terminal output of declared calls: tables and sentences by call; other calls print their answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.text import Text

from flux.calls import boards, keys, reviews
from flux.calls.base import Call
from fluxcore.command_names import typed_command
from fluxcore.visible_text import visible
from memory.management.base import FluxCommand

Printer = Callable[["AnswerCommand", Any, dict[str, Any]], None]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _time(rfc3339: str | None) -> str:
    """A time to the second, without fractions and zone."""
    return (rfc3339 or "")[:19]


def _expires(answer: Any) -> str:
    return f", expires {_time(answer['expires_at'])}Z" if answer.get("expires_at") else ""


class AnswerCommand(FluxCommand):
    """A command that prints the answer of a declared call: as JSON for scripts, as sentences and tables for people."""

    def show(self, action: str, call: type[Call], answer: Any, given: dict[str, Any]) -> None:
        self.answer(answer)
        if self.as_json:
            return
        printer = PRINTERS.get(action) or PRINTERS.get(call)
        if printer is None:
            self.console.print(Text(_json(answer)))
        else:
            printer(self, answer, given)

    def line(self, words: str) -> None:
        self.console.print(Text(words))


def _value(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.line(_json(answer["value"]))
    command.notes.print(Text(f"version {answer['version']}, by {answer['writer']}{_expires(answer)}", "dim"))


def _change(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if answer.get("deleted") is not None:
        command.line("Deleted." if answer["deleted"] else "Key not found.")
        return
    value = f": {_json(answer['value'])}" if "value" in answer else ""
    command.line(f"{answer['key']} is at version {answer['version']}{_expires(answer)}{value}")


def _purge(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    from memory.keyvalue import purging

    purging.scrub_now()
    if answer["deleted"] or answer["forgotten"]:
        command.line(f"Purged. Earlier backups still contain it: {typed_command('flux_backup list')}.")
    else:
        command.line("Nothing to purge.")


def _keys(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    value_column = ("value",) if given.get("values") else ()
    command.table(
        ("key", "version", "expires", "by", *value_column),
        [
            (
                key["key"],
                key["version"],
                _time(key["expires_at"]),
                key["writer"],
                *((_json(key["value"]),) if value_column else ()),
            )
            for key in answer["keys"]
        ],
        empty="No keys match.",
    )
    if answer["next_cursor"]:
        command.console.print(f"[dim]More: --cursor {answer['next_cursor']}[/]")


def _history(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if "versions" not in answer:
        command.line(_json(answer["value"]))
        return
    command.table(
        ("version", "kind", "bytes", "by", "at"),
        [
            (version["version"], version["kind"], version["bytes"], version["writer"], _time(version["at"]))
            for version in answer["versions"]
        ],
        empty="No versions.",
    )


def _boards(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("board", "keys", "bytes", "kind"),
        [
            (board["board"], board["keys"], board["bytes"], "ephemeral" if board["ephemeral"] else "durable")
            for board in answer["boards"]
        ],
        empty="No boards yet. `main` is created with its first key.",
    )


def _locks(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("lock", "holder", "token", "expires", "note"),
        [
            (lock["lock"], lock["holder"], lock["token"], _time(lock["expires_at"]), lock["note"])
            for lock in answer["locks"]
        ],
        empty="No locks.",
    )


def _queues(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("queue", "waiting", "claimed"),
        [(queue["queue"], queue["waiting"], queue["claimed"]) for queue in answer["queues"]],
        empty="No queues.",
    )


def _reviews(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("item", "state", "title", "by", "at"),
        [
            (item["item"], item["state"], item["title"], item["updated_by"], _time(item["updated_at"]))
            for item in answer["items"]
        ],
        empty="Nothing waits for a decision." if given.get("state", "open") == "open" else "No items.",
    )
    if answer["next_cursor"]:
        command.console.print(f"[dim]More: --cursor {answer['next_cursor']}[/]")


def _review(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    """An item: who proposes what, the difference, and how to decide it."""
    label = f" ({visible(answer['label'])})" if answer["label"] else ""
    authors = ", ".join(answer["authors"]) + label
    command.line(f"{answer['title']}: {answer['state']}, by {authors}, {answer['provenance']}")
    if answer["reason"]:
        command.line(f"Reason: {answer['reason']}")
    if answer["decided_at"]:
        command.line(f"Decided by {answer['decided_by']}: {answer['decision_reason'] or 'without a reason'}")
    change = answer.get("change", {})
    if change.get("changed_since"):
        command.notes.print(Text("What it would change is not as it was when this was proposed.", "yellow"))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in change.get("diff", "").rstrip("\n").split("\n") if change.get("diff") else ():
        command.console.print(Text(visible(line), styles.get(line[:1], "")))
    if "no_diff" in change:
        command.line(change["no_diff"])
    if "seen" in answer:
        command.notes.print(Text(f"Accept: {typed_command('flux_review accept')} {answer['item']} {answer['seen']}"))


def _sentence(words: Callable[[Any], str]) -> Printer:
    return lambda command, answer, given: command.line(words(answer))


def _made_board(answer: Any) -> str:
    return f"Created board {answer['board']}." if answer["made"] else f"Board {answer['board']} already exists."


def _claimed_task(answer: Any) -> str:
    if not answer["task"]:
        return "No tasks waiting."
    return f"{answer['task']} token {answer['token']}: {_json(answer['value'])}"


# By action where one call has several, else by call.
PRINTERS: dict[str | type[Call], Printer] = {
    keys.GetKey: _value,
    keys.SetKey: _change,
    keys.CompareAndSetKey: _change,
    keys.ChangeKey: _change,
    keys.DeleteKey: _change,
    "purge": _purge,
    keys.ListKeys: _keys,
    keys.GetHistory: _history,
    boards.ListBoards: _boards,
    boards.MakeBoard: _sentence(_made_board),
    boards.DeleteBoard: _sentence(
        lambda answer: f"Deleted board {answer['board']} with {answer['keys']} keys and {answer['tasks']} tasks."
    ),
    boards.ListLocks: _locks,
    boards.AcquireLock: _sentence(
        lambda answer: f"Lock acquired, expires {_time(answer['expires_at'])}Z. Fencing token: {answer['token']}"
    ),
    boards.RenewLock: _sentence(lambda answer: f"Lock renewed, expires {_time(answer['expires_at'])}Z."),
    boards.ReleaseLock: _sentence(lambda answer: "Lock released."),
    boards.BreakLock: _sentence(lambda answer: "Lock broken."),
    boards.ListQueues: _queues,
    boards.AddTask: _sentence(lambda answer: f"Task added: {answer['task']}"),
    boards.ClaimTask: _sentence(_claimed_task),
    boards.FinishTask: _sentence(lambda answer: "Task finished."),
    reviews.ListReviews: _reviews,
    reviews.GetReview: _review,
    reviews.AcceptReview: _sentence(lambda answer: f"Accepted: {answer['title']}."),
    reviews.DenyReview: _sentence(lambda answer: f"Denied: {answer['title']}."),
}
