"""Commands of Anthropic's memory tool as calls of a client; `flux/adapters/anthropic.py` makes them a tool.

The commands are coroutines for both clients: of the one that blocks every answer is there at once, so that they never
wait.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from flux import errors
from flux.adapters import memory_text
from flux.adapters.memory_text import FOLDER, path_in_store
from flux.client import AsyncFluxClient, FluxClient
from flux.errors import FluxError

PAGE = 1000  # files of one answer, and of one deletion
TRIES = 50  # of an edit, while others change the same file


class MemoryCommands:
    """The commands of the tool on one store. Refusals are ValueErrors with the words of the SDK's file tool."""

    def __init__(self, client: FluxClient | AsyncFluxClient, store: str) -> None:
        self.client, self.store = client, store

    async def view(self, command: Any) -> str:
        text = await self._text(command.path)
        if text is not None:
            return memory_text.file_view(command.path, text, command.view_range)
        path, cursor, sizes = path_in_store(command.path), None, dict[str, int]()
        while True:
            page = await _done(self.client.list_files(self.store, path, limit=PAGE, cursor=cursor))
            sizes |= {file["path"].removeprefix(f"{path}/"): file["bytes"] for file in page["files"]}
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return memory_text.folder_view(command.path, sizes)

    async def create(self, command: Any) -> str:
        path, refused = path_in_store(command.path), ValueError(f"File {command.path} already exists")
        if path == FOLDER:
            raise refused
        try:
            await _done(self.client.put_file(self.store, path, command.file_text, expected_sha=""))
        except errors.Conflict as refusal:
            if refusal.details.get("path") != path:  # a file is where the path needs a folder
                raise
            raise refused from refusal
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        def change(text: str) -> tuple[str, str]:
            return memory_text.replaced(command.path, text, command.old_str, command.new_str)

        return await self._edit(command.path, change)

    async def insert(self, command: Any) -> str:
        def change(text: str) -> tuple[str, str]:
            new = memory_text.inserted(text, command.insert_line, command.insert_text)
            return new, f"The file {command.path} has been edited."

        return await self._edit(command.path, change)

    async def delete(self, command: Any) -> str:
        path = path_in_store(command.path)
        if path == FOLDER:
            raise ValueError("Cannot delete the /memories directory itself")
        try:
            await _done(self.client.delete_files(self.store, path))
        except errors.NotFound as refusal:
            raise _unknown(refusal, command.path) from refusal
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        old, new = path_in_store(command.old_path), path_in_store(command.new_path)
        if old == FOLDER:
            raise ValueError("Cannot rename the /memories directory itself")
        if new == FOLDER or (await _done(self.client.list_files(self.store, new, limit=1)))["files"]:
            raise ValueError(f"The destination {command.new_path} already exists")
        try:
            await _done(self.client.move_files(self.store, old, new, recursive=True))
        except errors.NotFound as refusal:
            raise _unknown(refusal, command.old_path) from refusal
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self, _: None) -> str:
        while (page := (await _done(self.client.list_files(self.store, FOLDER, limit=PAGE))))["files"]:
            if page["next_cursor"] is None:
                await _done(self.client.delete_files(self.store, FOLDER))
            else:  # more than one call deletes
                for file in page["files"]:
                    await _done(self.client.delete_file(self.store, file["path"]))
        return "All memory cleared"

    async def _text(self, shown: str) -> str | None:
        """The text of a file; None for a folder."""
        path = path_in_store(shown)
        try:
            if path != FOLDER:
                content: bytes = await _done(self.client.get_file(self.store, path))
                return content.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"The file {shown} is not text in UTF-8.") from error
        except errors.NotFound as refusal:
            if not (await _done(self.client.list_files(self.store, path, limit=1)))["files"]:
                raise _unknown(refusal, shown, ". Please provide a valid path.") from refusal
        return None

    async def _edit(self, shown: str, change: Callable[[str], tuple[str, str]]) -> str:
        """Write what `change` makes of the text; of the new text if somebody else was faster."""
        for _ in range(TRIES):
            text = await self._text(shown)
            if text is None:
                raise ValueError(f"The path {shown} is not a file.")
            new, answer = change(text)
            sha = hashlib.sha256(text.encode()).hexdigest()
            try:
                await _done(self.client.put_file(self.store, path_in_store(shown), new, expected_sha=sha))
            except errors.Conflict:
                continue
            return answer
        raise ValueError(f"The file {shown} is being changed by others. Nothing was written; try again.")


async def _done(answer: Any) -> Any:
    """What a method of either client answered."""
    return await answer if isawaitable(answer) else answer


def _unknown(refusal: FluxError, shown: str, more: str = "") -> Exception:
    """The error for a path that does not exist; for a store that does not, the refusal itself."""
    return ValueError(f"The path {shown} does not exist{more}") if "path" in refusal.details else refusal
