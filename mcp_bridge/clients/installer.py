"""Installer of the MCP entry in a client's configuration file; the rest of the file is unchanged, and backed up."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluxcore import files
from mcp_bridge.clients.programs import ConnectionMethod, McpClientProgram, toml_table
from mcp_bridge.instructions import BEGIN, END, instructions_block


class UnmergeableFile(ValueError):
    """A file that cannot be changed safely; the message says what to do instead."""


@dataclass(frozen=True)
class InstallPlan:
    """A file's present and planned content."""

    file: Path
    old_text: str | None  # None: the file does not exist
    new_text: str

    @property
    def changes(self) -> bool:
        return self.old_text != self.new_text

    def diff(self) -> str:
        old, new = (self.old_text or "").splitlines(keepends=True), self.new_text.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.file), str(self.file)))

    def carry_out(self) -> Path | None:
        """Write the file atomically. Returns the path of the backup, if the file existed."""
        if _read(self.file) != self.old_text:
            # Clients write their files at any time: a change made in between would be lost.
            raise UnmergeableFile(f"{self.file} was changed meanwhile. Nothing was written; try again.")
        real = self.file.resolve()  # a symbolic link is kept, and the temporary file is on the same disk
        real.parent.mkdir(parents=True, exist_ok=True)
        backup, mode = None, 0o600
        if self.old_text is not None:
            backup, mode = _free(self.file), real.stat().st_mode & 0o777
            files.replace_file(backup, self.old_text, mode=mode)
        files.replace_file(real, self.new_text, mode=mode)
        return backup


def plan_install(
    client: McpClientProgram, method: ConnectionMethod, file: Path, *, replace: bool = False
) -> InstallPlan:
    """Plan to add the entry of this instance, or to replace its earlier one, whatever name that has.

    An entry of the same name for another memory is kept, unless `replace` is set: its name was then chosen on purpose.
    """
    old_text = _read(file)
    merge, load = (_into_toml, tomllib.loads) if client.toml else (_into_json, json.loads)
    entry = client.entry(method)
    name = method.name if replace else _name_for(method.name, entry, _servers(old_text or "", client.table, load), file)
    return InstallPlan(file, old_text, merge(old_text or "", client.table, name, entry, file))


def _servers(text: str, table: str, load: Callable[[str], Any]) -> dict[str, Any]:
    """The servers of a file; none if it cannot be parsed, since the merge then reports the error."""
    try:
        return {name: entry for name, entry in load(text)[table].items() if isinstance(entry, dict)}
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return {}


def _name_for(name: str, entry: dict[str, Any], servers: dict[str, Any], file: Path) -> str:
    same = [other for other, server in servers.items() if _target(server) == _target(entry)]
    if name in servers and name not in same:
        raise UnmergeableFile(
            f"{file} has an entry {name!r} for another server. Choose another name with --entry NAME, or replace "
            f"that one with --entry {name}."
        )
    return same[0] if same and name not in same else name


def _target(entry: dict[str, Any]) -> tuple[str, ...] | None:
    """Which memory an entry of any client uses: a URL, or an instance of this machine. None: not a Flux Memory."""
    env = entry["env"] if isinstance(entry.get("env"), dict) else {}
    url = entry.get("url") or entry.get("httpUrl") or env.get("FLUX_URL")
    if url:
        return ("url", str(url).removesuffix("/mcp"))
    words = [str(word) for word in entry["args"]] if isinstance(entry.get("args"), list) else []
    if not {"flux_mcp", "mcp_bridge.entry"} & set(words) or "--name" not in words[:-1]:
        return None
    return ("instance", str(env.get("FLUX_HOME", "")), words[words.index("--name") + 1])


def plan_instructions(file: Path, ceiling: str) -> InstallPlan:
    """Plan to append the instructions to AGENTS.md or CLAUDE.md, or to replace an earlier version of them."""
    old_text = _read(file)
    text = old_text or ""
    start = text.rfind(BEGIN)
    end = text.find(END, start)
    if -1 not in (start, end):
        return InstallPlan(
            file, old_text, text[:start] + instructions_block(ceiling).rstrip("\n") + text[end + len(END) :]
        )
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return InstallPlan(file, old_text, text + gap + instructions_block(ceiling))


def _read(file: Path) -> str | None:
    """Text of a file with its line endings unchanged; None if it does not exist."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise UnmergeableFile(f"{file} cannot be read.") from None


def _into_json(text: str, table: str, name: str, entry: dict[str, Any], file: Path) -> str:
    try:
        found = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
        servers = found.setdefault(table, {})
        servers[name] = entry
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise UnmergeableFile(
            f"{file} is not plain JSON with a table {table!r}. Add the snippet to it by hand."
        ) from None
    new_text = json.dumps(found, indent=_indent(text), ensure_ascii=False) + "\n"
    try:
        new_text.encode()
    except UnicodeEncodeError:
        # A lone surrogate, from a text that a client cut, can only be written as an escape.
        new_text = json.dumps(found, indent=_indent(text)) + "\n"
    return new_text.replace("\n", "\r\n") if "\r\n" in text else new_text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Object of the pairs; raises ValueError on a duplicate name, of which one value would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate name")
    return found


def _indent(text: str) -> str:
    spaces = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return spaces.group(1) if spaces else "  "


def _into_toml(text: str, table: str, name: str, entry: dict[str, Any], file: Path) -> str:
    """TOML with the server's tables replaced, at the end of the text; comments and order of the rest are kept."""
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnmergeableFile(f"{file} is not valid TOML ({error}). Add the snippet to it by hand.") from None
    if not isinstance(expected.setdefault(table, {}), dict):
        raise UnmergeableFile(f"{table} in {file} is not a table. Add the snippet to it by hand.")
    expected[table][name] = entry
    kept = _without(
        text, re.compile(rf'\s*\[\s*{re.escape(table)}\s*\.\s*"?{re.escape(name)}"?\s*(\.[^\]]*)?\]\s*(#.*)?')
    )
    gap = "" if not kept.strip() else "\n" if kept.endswith("\n") else "\n\n"
    new_text = kept + gap + toml_table(table, name, entry)
    try:
        sound = tomllib.loads(new_text) == expected
    except tomllib.TOMLDecodeError:
        sound = False
    if not sound:
        raise UnmergeableFile(
            f"{file} writes its servers in a way that cannot be changed safely. Add the snippet by hand."
        )
    return new_text


def _without(text: str, header: re.Pattern[str]) -> str:
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = header.fullmatch(line.rstrip("\r\n")) is not None
        if not inside:
            kept.append(line)
    return "".join(kept)


def _free(file: Path) -> Path:
    """An unused name for the backup."""
    number = 0
    while True:
        found = file.with_name(f"{file.name}.flux-backup{f'-{number}' if number else ''}")
        if not found.exists():
            return found
        number += 1
