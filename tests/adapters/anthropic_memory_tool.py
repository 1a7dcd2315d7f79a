"""Anthropic's memory tool: every command, on the SDK's own file tool and on a store, with both clients."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from flux.adapters.anthropic import AnthropicMemoryTool, AsyncAnthropicMemoryTool
from flux.client import AsyncFluxClient, FluxClient
from tests.adapters.comparison import Comparison

POEM = "roses are red\nviolets are blue\nsugar is sweet\nand so are you\n"


def _view(path: str, *numbers: int) -> dict[str, Any]:
    return {"command": "view", "path": path, **({"view_range": list(numbers)} if numbers else {})}


def _create(path: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def _replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def _insert(path: str, line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def _delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def _rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


COMMANDS = [
    _view("/memories"),
    _create("/memories/poem.txt", POEM),
    _create("/memories/poem.txt", "again"),
    _create("/memories/notes/today.md", "# Today\n\nNo newline at the end"),
    _create("/memories/notes/deep/er/x.md", "x" * 1536),
    _create("/memories/notes/.hidden", "h"),
    _create("/memories/.dot/inside.md", "h"),
    _create("/memories/empty.txt", ""),
    _create("/memories/größe ✓.md", "Größe\n"),
    _create("/memories/crlf.txt", "one\r\ntwo\r\n"),
    _create("/memories/big.txt", "0123456789" * 300),
    _create("/memories/meta/versions/audit.md", "names that a store keeps for itself\n"),
    _create("/memories/notes", "where a folder is"),
    _create("/memories", "where the root is"),
    _create("/memories/poem.txt/below.txt", "where a file is"),
    _create("/memories/a/../up.txt", "one folder up\n"),
    _create("/memories/./same.txt", "same folder\n"),
    _create("/memories//twice.txt", "two slashes\n"),
    _create("/memoriesjoined.txt", "no slash\n"),
    _create("/elsewhere/x.txt", "x"),
    _create("/memories/../x.txt", "x"),
    _create("/memories/../../../etc/x", "x"),
    _view("/memories"),
    _view("/memories/"),
    _view("/memories/notes"),
    _view("/memories/notes/deep"),
    _view("/memories/poem.txt"),
    _view("/memories/poem.txt/"),
    _view("/memories/empty.txt"),
    _view("/memories/crlf.txt"),
    _view("/memories/größe ✓.md"),
    _view("/memories/poem.txt", 2, 3),
    _view("/memories/poem.txt", 3, -1),
    _view("/memories/poem.txt", 0, 1),
    _view("/memories/poem.txt", -5, 2),
    _view("/memories/poem.txt", 3, 2),
    _view("/memories/poem.txt", 1, -2),
    _view("/memories/poem.txt", 90, 99),
    _view("/memories/poem.txt", 2),
    _view("/memories/missing.txt"),
    _view("/memories/poem.txt/below"),
    _view("memories/poem.txt"),
    _view("/memories/../poem.txt"),
    _replace("/memories/poem.txt", "violets", "irises"),
    _replace("/memories/poem.txt", "roses are red", "roses\nare\nred"),
    _replace("/memories/poem.txt", "and so are you\n", "the end"),
    _replace("/memories/poem.txt", "are\nred", ""),
    _replace("/memories/poem.txt", "tulips", "x"),
    _replace("/memories/poem.txt", "s", "x"),
    _replace("/memories/poem.txt", "", "x"),
    _replace("/memories/empty.txt", "", "no longer empty"),
    _replace("/memories/big.txt", "0123", "x"),
    _replace("/memories/crlf.txt", "one\r\n", "1\r\n"),
    _replace("/memories/missing.txt", "a", "b"),
    _replace("/memories/notes", "a", "b"),
    _replace("/memories", "a", "b"),
    _view("/memories/poem.txt"),
    _create("/memories/list.txt", "a\nb\n"),
    _insert("/memories/list.txt", 0, "first"),
    _insert("/memories/list.txt", 3, "last\n"),
    _insert("/memories/list.txt", 2, "two\nlines\n\n"),
    _insert("/memories/list.txt", 99, "x"),
    _insert("/memories/list.txt", -1, "x"),
    _insert("/memories/notes/today.md", 3, "added"),
    _insert("/memories/crlf.txt", 1, "between"),
    _insert("/memories/missing.txt", 0, "x"),
    _insert("/memories/notes", 0, "x"),
    _view("/memories/list.txt"),
    _create("/memories/ends.txt", "a\n\n\n"),
    _insert("/memories/ends.txt", 1, "b"),
    _view("/memories/ends.txt"),
    _create("/memories/nothing.txt", ""),
    _insert("/memories/nothing.txt", 1, "x"),
    _insert("/memories/nothing.txt", 0, ""),
    _view("/memories/nothing.txt"),
    _rename("/memories/list.txt", "/memories/lists/one.txt"),
    _rename("/memories/notes", "/memories/kept/notes"),
    _rename("/memories/missing.txt", "/memories/x.txt"),
    _rename("/memories/poem.txt", "/memories/empty.txt"),
    _rename("/memories/poem.txt", "/memories/kept"),
    _rename("/memories/poem.txt", "/memories/poem.txt"),
    _rename("/memories/poem.txt", "/memories"),
    _rename("/memories", "/memories/x"),
    _rename("/memories/kept", "/memories/kept/below"),
    _rename("/memories/poem.txt", "/memories/empty.txt/below.txt"),
    _rename("/memories/poem.txt", "/memories/../x.txt"),
    _view("/memories/kept/notes"),
    _delete("/memories/empty.txt"),
    _delete("/memories/empty.txt"),
    _delete("/memories/kept"),
    _delete("/memories"),
    _delete("/memories/"),
    _delete("/memories/.."),
    _view("/memories"),
]


def _shown(outcome: tuple[str, str]) -> str:
    kind, text = outcome
    lines = text.replace("/memories/", "/").split("\n")
    return " ".join([*(["refused:"] if kind == "error" else []), *(lines[1:] or lines)])


def _comparable(command: dict[str, Any], answer: str) -> str:
    """Sizes of folders are those of the file system there, and those of their files here."""
    shown = re.escape(command.get("path", ""))
    return re.sub(rf"^\S+(?=\t(?:{shown}|\S.*/)$)", "-", answer, flags=re.MULTILINE)


def _refused(error: Exception) -> tuple[str, str]:
    # What the file tool says of a file below a file, or a folder in itself, is the operating system's error.
    return ("error", "" if isinstance(error, OSError) else str(error))


def _theirs(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    try:
        return ("answer", _comparable(command, tool.call(command)))
    except (ToolError, OSError) as error:
        return _refused(error)


async def _ours(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    try:
        answer = tool.call(command)
        return ("answer", _comparable(command, answer if isinstance(answer, str) else await answer))
    except ToolError as error:
        return _refused(error)


def _title(command: dict[str, Any]) -> str:
    path = command.get("path") or f"{command['old_path']} to {command['new_path']}"
    details = [command[name] for name in ("view_range", "old_str", "insert_line") if name in command]
    return " ".join([command["command"], path.replace("/memories/", "/"), *map(str, details)])


async def _compare(table: Comparison, tool: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = BetaLocalFilesystemMemoryTool(folder)
        for command in COMMANDS:
            theirs, ours = _theirs(own, command), await _ours(tool, command)
            if theirs == ("error", ""):
                ours = (ours[0], "") if ours[0] == "error" and ours[1] else ours
            table.row(_title(command), theirs, ours, _shown)
        cleared = tool.clear_all_memory()
        table.row("clear_all_memory", own.clear_all_memory(), cleared if isinstance(cleared, str) else await cleared)
        table.row("view", _theirs(own, _view("/memories")), await _ours(tool, _view("/memories")), _shown)
        table.row("the tool's definition", own.to_dict(), tool.to_dict())


class _Model(BaseHTTPRequestHandler):
    """Anthropic's Messages API with a model that uses the memory tool twice, then repeats what it was told."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        previous = request["thread"].get("previous_message_id")  # the SDK sends the new messages of a thread only
        turn, said = int(previous.removeprefix("msg_")) + 1 if previous else 0, request["messages"][-1]["content"]
        asked = [_create("/memories/told.md", "tea\n"), _view("/memories/gone.md")][turn : turn + 1]
        content = [{"type": "tool_use", "id": f"t{turn}", "name": "memory", "input": one} for one in asked]
        body = {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content or [{"type": "text", "text": json.dumps(said)}],
            "stop_reason": "tool_use" if content else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


async def _converse(table: Comparison, tool: Any) -> None:
    """The tool in the SDK's own loop of a conversation."""
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = {"api_key": "none", "base_url": f"http://127.0.0.1:{server.server_port}"}
        asked: dict[str, Any] = {
            "model": "scripted",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "Remember that I like tea."}],
        }
        own = BetaLocalFilesystemMemoryTool(folder)
        theirs = Anthropic(**address).beta.messages.tool_runner(**asked, tools=[own]).until_done()
        if isinstance(tool, AsyncAnthropicMemoryTool):
            ours = await AsyncAnthropic(**address).beta.messages.tool_runner(**asked, tools=[tool]).until_done()
        else:
            ours = Anthropic(**address).beta.messages.tool_runner(**asked, tools=[tool]).until_done()
        table.row("in a conversation", theirs.content[0].text, ours.content[0].text)
        server.shutdown()


def _edit_side_by_side(table: Comparison, client: FluxClient, store: str) -> None:
    """Two tools edit one file: every line of both is there afterwards."""
    AnthropicMemoryTool(client, store).call(_create("/memories/shared.txt", "begin\n"))

    def add(name: str) -> None:
        tool = AnthropicMemoryTool(client, store)
        for number in range(20):
            tool.call(_insert("/memories/shared.txt", 1, f"{name} {number}"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(add, ("one", "two")))
    lines = client.get_file(store, "memories/shared.txt").decode().splitlines()
    wanted = ["begin", *(f"{name} {number}" for name in ("one", "two") for number in range(20))]
    table.holds("40 edits by two agents, kept", sorted(lines), sorted(wanted))


async def main() -> None:
    with FluxClient() as client:
        table = Comparison("Anthropic's memory tool: FluxClient", "BetaLocalFilesystemMemoryTool")
        store = client.open_store("memory-tool")["store"]
        await _compare(table, AnthropicMemoryTool(client, store))
        await _converse(table, AnthropicMemoryTool(client, store))
        _edit_side_by_side(table, client, store)
        lost = await _ours(AnthropicMemoryTool(client, "no-such-store"), _view("/memories/x"))
        table.holds("a store that does not exist", lost[1].startswith("There is no store 'no-such-store'"))
        table.end()
    async with AsyncFluxClient() as waiting:
        table = Comparison("Anthropic's memory tool: AsyncFluxClient", "BetaLocalFilesystemMemoryTool")
        store = (await waiting.open_store("memory-tool-async"))["store"]
        await _compare(table, AsyncAnthropicMemoryTool(waiting, store))
        await _converse(table, AsyncAnthropicMemoryTool(waiting, store))
        table.end()


if __name__ == "__main__":
    asyncio.run(main())
