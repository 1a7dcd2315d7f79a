"""Terminal output of calls on files and transcripts: tables, texts as they are, differences and conversations.

What files and messages say is of agents, and of whatever they read: control characters of it are shown, not sent to a
terminal. To a file or another program a text goes byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from rich.text import Text

from flux.calls import files, passages, stores, transcripts
from flux.calls.base import Call
from fluxcore.command_names import typed_command
from fluxcore.visible_text import visible
from memory.management.answers import AnswerCommand, Printer, format_second, print_diff, print_more, sentence


def _stores(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    """Stores, each as calls name it: by its key, or by its id if it has other coordinates."""
    rows = [
        (
            visible(store["key"]),
            store["files"],
            store["messages"],
            f"{store['bytes']:,}",
            _coordinates(command, store),
        )
        for store in answer["stores"]
    ]
    command.table(("store", "files", "messages", "bytes", "id and coordinates"), rows, empty="No stores.")
    print_more(command, answer)


def _coordinates(command: AnswerCommand, store: Any) -> str:
    """Id and coordinates of a store that its key does not name."""
    if (store["org"], store["project"], store["domain"]) == (command.space, "default", "default"):
        return ""
    return visible(f"{store['store']} {store['org']}/{store['project']}/{store['domain']}")


def _store(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    """Every fact of a store on a line of its own; what is not set is left out."""
    shown = {name: value for name, value in answer.items() if value not in (None, [], "")}
    command.table(("", ""), [(name.replace("_", " "), _plain(value)) for name, value in shown.items()], empty="")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else value)


def _events(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("at", "what", "path", "outcome", "by", "reason"),
        [
            (
                format_second(event["ts"]),
                event["op"],
                visible(event["path"]),
                event["outcome"],
                visible(event["actor"]),
                visible(event["reason"]),
            )
            for event in answer["events"]
        ],
        empty="No changes.",
    )


def _text(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    """The text of a file and nothing else; what is said about it goes to standard error."""
    where = f"{given['store']} {given['path']}"
    if "base64" in answer:
        save = typed_command(f"flux_files get {where}")
        command.line(f"{answer['bytes']:,} bytes of {answer['content_type']}, no text. Save them: {save}")
        return
    if command.stdout.isatty():
        text = visible(answer["text"].replace("\r\n", "\n"), keep="\t\n")
        command.stdout.write(text, ending="" if not text else "\n")
    else:
        command.stdout.write(answer["text"], ending="")
    command.notes.print(Text(f"version {answer['version']}, by {visible(answer['updated_by'])}", "dim"))
    if answer["truncated"] and given.get("last") is None:
        command.notes.print(Text(f"There is more: {typed_command(f'flux_files get {where} -')}", "yellow"))


def _files(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    rows = [(f"{visible(folder)}/", "", "", "", "") for folder in answer["folders"]]
    rows += [
        (
            visible(file["path"]),
            f"{file['bytes']:,}",
            str(file["version"]),
            visible(file["updated_by"]),
            format_second(file["updated_at"]),
        )
        for file in answer["files"]
    ]
    command.table(("path", "bytes", "version", "by", "at"), rows, empty="No files.")
    print_more(command, answer)


def _versions(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    command.table(
        ("version", "what", "bytes", "by", "at", "reason"),
        [
            (
                version["version"],
                version["op"],
                f"{version['bytes']:,}" if version["kept"] else "" if not version["sha"] else "not kept",
                visible(version["by"]),
                format_second(version["at"]),
                visible(version["reason"]),
            )
            for version in answer["versions"]
        ],
        empty="No versions.",
    )
    if answer["versions"] and answer["versions"][-1]["version"] > 1:
        command.console.print(f"[dim]Earlier ones: --before {answer['versions'][-1]['version']}[/]")


def _difference(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    if answer["same"]:
        command.line(f"Versions {answer['old']} and {answer['new']} are equal.")
    print_diff(command, answer["diff"])


def _matches(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    for found in answer["matches"]:
        command.line(visible(f"{found['path']}:{found['line']}: {found['text']}"))
    if not answer["matches"]:
        command.line("No line has this text.")
    print_more(command, answer)


def _written(answer: Any) -> str:
    if "proposal" in answer:
        return visible(f"{answer['path']} waits for a decision: item {answer['proposal']}")
    if not answer["changed"]:
        return visible(f"{answer['path']} has this content already: version {answer['version']}")
    return visible(f"{answer['path']} is at version {answer['version']}, {answer['bytes']:,} bytes")


def _moved(answer: Any) -> str:
    return "\n".join(map(_written, answer["moved"]))


def _deleted(answer: Any) -> str:
    return "\n".join(f"Deleted {visible(path)}" for path in answer["deleted"])


def _made_store(answer: Any) -> str:
    return visible(f"Created store {answer['key']}, id {answer['store']}")


def _deleted_store(answer: Any) -> str:
    kept = f" It can be restored until {format_second(answer['kept_until'])}Z." if answer["kept_until"] else ""
    return f"Deleted store {answer['store']}.{kept}"


def _passages(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    for passage in answer["passages"]:
        lines = f"lines {passage['first_line']}-{passage['last_line']}, " if "first_line" in passage else ""
        counts = f"{passage['recalls']} recalls, {passage['useful']} useful, {passage['not_useful']} not useful"
        earlier = "" if passage["current"] else ", only in earlier versions"
        command.console.print(Text(f"{passage['id']}: {lines}{counts}{earlier}", "bold"))
        _print_indented(command, passage["content"])
    if not answer["passages"]:
        command.console.print("[dim]Recall has nothing of it.[/]")
    print_more(command, answer)


def _conversation(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    _print_messages(command, answer["messages"])
    if not answer["messages"]:
        command.console.print("[dim]No messages.[/]")
    elif answer["next_after"] is not None:
        command.console.print(f"[dim]More: --after {answer['next_after']}[/]")
    elif given.get("after") is None and answer["count"] < answer["total"] and answer["messages"][0]["seq"] > 1:
        command.console.print(f"[dim]Earlier ones: --before {answer['messages'][0]['seq']}[/]")


def _removed(command: AnswerCommand, answer: Any, given: dict[str, Any]) -> None:
    _print_messages(command, answer["messages"])
    undo = typed_command(f"flux_transcript undo {given['store']} {answer['removal']}")
    command.line(f"Removed {_messages(answer['count'])}. Undo: {undo}" if answer["count"] else "No messages.")


def _appended(answer: Any) -> str:
    first, last = answer["seqs"][0], answer["seqs"][-1]
    return f"Added message {first}." if first == last else f"Added messages {first} to {last}."


def _messages(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"


def _print_messages(command: AnswerCommand, messages: Any) -> None:
    """Messages as in a chat: who said it and when, and below it what was said."""
    for message in messages:
        by = message["speaker"] or message["role"] or message["by"]
        role = f" ({message['role']})" if message["speaker"] and message["role"] else ""
        session = f", {message['session']}" if message["session"] else ""
        when = format_second(message["said_at"] or message["at"])
        head = Text.assemble((f"{message['seq']} {visible(by + role)}", "bold"), (visible(f"{session}, {when}"), "dim"))
        command.console.print(head)
        _print_indented(command, "\n".join(_said(message["message"])) or _json(message["message"]))


def _print_indented(command: AnswerCommand, text: str) -> None:
    for line in visible(text.replace("\r\n", "\n"), keep="\t\n").split("\n"):
        command.line(f"  {line}" if line else "")


def _said(message: dict[str, Any]) -> Iterator[str]:
    """What a message says: its text, what else it has by kind, and its tool calls."""
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            text = part.get("text", part.get("content"))
            yield text if isinstance(text, str) else f"[{part.get('type', 'object')}]"
        elif part is not None:
            yield _json(part)
    made = message.get("tool_calls")
    for one in made if isinstance(made, list) else []:
        function = one.get("function", one) if isinstance(one, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments", "")
            yield f"{function.get('name')}({arguments if isinstance(arguments, str) else _json(arguments)})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_sentences: dict[type[Call], Callable[[Any], str]] = {
    stores.CreateStore: _made_store,
    stores.DeleteStore: _deleted_store,
    stores.UndeleteStore: lambda answer: visible(f"Restored store {answer['key']}."),
    files.WriteFile: _written,
    files.AppendFile: _written,
    files.RestoreVersion: _written,
    files.MoveFiles: _moved,
    files.DeleteFiles: _deleted,
    transcripts.AppendMessages: _appended,
    transcripts.RestoreMessages: lambda answer: f"Restored {_messages(answer['count'])}.",
}
PRINTERS: dict[type[Call], Printer] = {
    stores.ListStores: _stores,
    stores.GetStore: _store,
    stores.ChangePolicy: _store,
    stores.ReadStoreTail: _events,
    files.ReadFile: _text,
    files.ListFiles: _files,
    files.ListVersions: _versions,
    files.DiffVersions: _difference,
    files.SearchFiles: _matches,
    passages.FilePassages: _passages,
    passages.MessagePassages: _passages,
    passages.KeyPassages: _passages,
    transcripts.ReadMessages: _conversation,
    transcripts.PopMessages: _removed,
    transcripts.ClearMessages: _removed,
    **{call: sentence(words) for call, words in _sentences.items()},
}
