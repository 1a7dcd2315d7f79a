"""Terminal output of declared calls: tables and sentences by call; other calls print their answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text

from flux.calls import boards, keys, reviews
from flux.calls.base import Call
from fluxcore.command_names import typed_command
from fluxcore.visible_text import visible
from memory.management.base import FluxCommand

Printer = Callable[["AnswerCommand", Any, dict[str, Any]], None]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def format_second(rfc3339: str | None) -> str:
    """A time to the second, without fractions and zone."""
    return (rfc3339 or "")[:19]


def _expires(answer: Any) -> str:
    return f", expires {format_second(answer['expires_at'])}Z" if answer.get("expires_at") else ""


class AnswerCommand(FluxCommand):
    """A command that prints the answer of a declared call: as JSON for scripts, as sentences and tables for people."""

    printers: ClassVar[Mapping[type[Call], Printer]] = {}  # beside those of this module
    space = ""  # name of the space

    def show(self, action: str, call: type[Call], answer: Any, given: dict[str, Any]) -> None:
        self.answer(answer)
        if self.as_json:
            return
        printer = PRINTERS.get(action) or PRINTERS.get(call) or self.printers.get(call)
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
                format_second(key["expires_at"]),
                key["writer"],
                *((_json(key["value"]),) if value_column else ()),
            )
            for key in answer["keys"]
        ],
        empty="No keys match.",
    )
    print_more(command, answer)


def _history(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if "versions" not in answer:
        command.line(_json(answer["value"]))
        return
    command.table(
        ("version", "kind", "bytes", "by", "at"),
        [
            (version["version"], version["kind"], version["bytes"], version["writer"], format_second(version["at"]))
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
            (lock["lock"], lock["holder"], lock["token"], format_second(lock["expires_at"]), lock["note"])
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


def print_more(command: AnswerCommand, answer: Any) -> None:
    if answer["next_cursor"]:
        command.console.print(f"[dim]More: --cursor {answer['next_cursor']}[/]")


def print_diff(command: AnswerCommand, diff: str) -> None:
    """The lines of a unified diff."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.rstrip("\n").split("\n") if diff else ():
        command.console.print(Text(visible(line), styles.get(line[:1], "")))


def _reviews(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("item", "state", "title", "by", "at"),
        [
            (item["item"], item["state"], item["title"], item["updated_by"], format_second(item["updated_at"]))
            for item in answer["items"]
        ],
        empty="Nothing waits for a decision." if given.get("state", "open") == "open" else "No items.",
    )
    print_more(command, answer)


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
    print_diff(command, change.get("diff", ""))
    if "no_diff" in change:
        command.line(change["no_diff"])
    if "seen" in answer:
        command.notes.print(Text(f"Accept: {typed_command('flux_review accept')} {answer['item']} {answer['seen']}"))


def sentence(words: Callable[[Any], str]) -> Printer:
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
    boards.MakeBoard: sentence(_made_board),
    boards.DeleteBoard: sentence(
        lambda answer: f"Deleted board {answer['board']} with {answer['keys']} keys and {answer['tasks']} tasks."
    ),
    boards.ListLocks: _locks,
    boards.AcquireLock: sentence(
        lambda answer: (
            f"Lock acquired, expires {format_second(answer['expires_at'])}Z. Fencing token: {answer['token']}"
        )
    ),
    boards.RenewLock: sentence(lambda answer: f"Lock renewed, expires {format_second(answer['expires_at'])}Z."),
    boards.ReleaseLock: sentence(lambda answer: "Lock released."),
    boards.BreakLock: sentence(lambda answer: "Lock broken."),
    boards.ListQueues: _queues,
    boards.AddTask: sentence(lambda answer: f"Task added: {answer['task']}"),
    boards.ClaimTask: sentence(_claimed_task),
    boards.FinishTask: sentence(lambda answer: "Task finished."),
    reviews.ListReviews: _reviews,
    reviews.GetReview: _review,
    reviews.AcceptReview: sentence(lambda answer: f"Accepted: {answer['title']}."),
    reviews.DenyReview: sentence(lambda answer: f"Denied: {answer['title']}."),
}
