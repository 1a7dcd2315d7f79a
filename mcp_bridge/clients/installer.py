"""Putting the memory into a client's own file: nothing else in it changes, and what was there is kept beside it."""

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
    """The file is not what we could change without harm; the message says what to do instead."""


@dataclass(frozen=True)
class InstallPlan:
    """What a file is and what it would become."""

    file: Path
    before: str | None  # None: there is no such file
    after: str

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        old, new = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.file), str(self.file)))

    def carry_out(self) -> Path | None:
        """Write it in one step; the backup, if there was something to keep."""
        if _read(self.file) != self.before:
            # Clients write theirs all the time: what came in between would be lost.
            raise UnmergeableFile(f"{self.file} was changed meanwhile. Nothing was written; try again.")
        real = self.file.resolve()  # a link stays one, and what is new lies beside what it replaces
        real.parent.mkdir(parents=True, exist_ok=True)
        backup, mode = None, 0o600
        if self.before is not None:
            backup, mode = _free(self.file), real.stat().st_mode & 0o777
            files.replace_file(backup, self.before, mode=mode)
        files.replace_file(real, self.after, mode=mode)
        return backup


def plan_install(client: McpClientProgram, way: ConnectionMethod, file: Path, *, replace: bool = False) -> InstallPlan:
    """The entry of this instance: in the place of its earlier one whatever that is called, or beside the others.

    An entry of the same name that leads elsewhere stays, unless `replace` says that its name was chosen.
    """
    before = _read(file)
    merge, load = (_into_toml, tomllib.loads) if client.toml else (_into_json, json.loads)
    entry = client.entry(way)
    name = way.name if replace else _name_for(way.name, entry, _servers(before or "", client.table, load), file)
    return InstallPlan(file, before, merge(before or "", client.table, name, entry, file))


def _servers(text: str, table: str, load: Callable[[str], Any]) -> dict[str, Any]:
    """The entries of a file; none where it cannot be read: the merge says what is wrong with it."""
    try:
        return {name: entry for name, entry in load(text)[table].items() if isinstance(entry, dict)}
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return {}


def _name_for(name: str, entry: dict[str, Any], servers: dict[str, Any], file: Path) -> str:
    same = [other for other, found in servers.items() if _target(found) == _target(entry)]
    if name in servers and name not in same:
        raise UnmergeableFile(
            f"{file} has an entry {name!r} that leads elsewhere. Choose another name with --entry NAME, or replace "
            f"that one with --entry {name}."
        )
    return same[0] if same and name not in same else name


def _target(entry: dict[str, Any]) -> tuple[str, ...] | None:
    """Which memory an entry of any client leads to: an address, or an instance of this machine. None: not ours."""
    env = entry["env"] if isinstance(entry.get("env"), dict) else {}
    url = entry.get("url") or entry.get("httpUrl") or env.get("FLUX_URL")
    if url:
        return ("url", str(url).removesuffix("/mcp"))
    words = [str(word) for word in entry["args"]] if isinstance(entry.get("args"), list) else []
    if not {"flux_mcp", "mcp_bridge.entry"} & set(words) or "--name" not in words[:-1]:
        return None
    return ("instance", str(env.get("FLUX_HOME", "")), words[words.index("--name") + 1])


def plan_instructions(file: Path, ceiling: str) -> InstallPlan:
    """The block for AGENTS.md or CLAUDE.md: after what stands there, or in the place of an earlier one."""
    before = _read(file)
    text = before or ""
    start = text.rfind(BEGIN)
    end = text.find(END, start)
    if -1 not in (start, end):
        return InstallPlan(
            file, before, text[:start] + instructions_block(ceiling).rstrip("\n") + text[end + len(END) :]
        )
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return InstallPlan(file, before, text + gap + instructions_block(ceiling))


def _read(file: Path) -> str | None:
    """With the ends of its lines as they are."""
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
    after = json.dumps(found, indent=_indent(text), ensure_ascii=False) + "\n"
    try:
        after.encode()
    except UnicodeEncodeError:
        # Half a character, where a client cut a text short, has no other form than its escape.
        after = json.dumps(found, indent=_indent(text)) + "\n"
    return after.replace("\n", "\r\n") if "\r\n" in text else after


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands there twice one value would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _indent(text: str) -> str:
    spaces = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return spaces.group(1) if spaces else "  "


def _into_toml(text: str, table: str, name: str, entry: dict[str, Any], file: Path) -> str:
    """Comments and order stay: only the tables of this server are taken out and put back at the end."""
    try:
        wanted = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnmergeableFile(f"{file} is not valid TOML ({error}). Add the snippet to it by hand.") from None
    if not isinstance(wanted.setdefault(table, {}), dict):
        raise UnmergeableFile(f"{table} of {file} is no table. Add the snippet to it by hand.")
    wanted[table][name] = entry
    kept = _without(
        text, re.compile(rf'\s*\[\s*{re.escape(table)}\s*\.\s*"?{re.escape(name)}"?\s*(\.[^\]]*)?\]\s*(#.*)?')
    )
    gap = "" if not kept.strip() else "\n" if kept.endswith("\n") else "\n\n"
    after = kept + gap + toml_table(table, name, entry)
    try:
        sound = tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        sound = False
    if not sound:
        raise UnmergeableFile(
            f"{file} writes its servers in a way that cannot be changed safely. Add the snippet by hand."
        )
    return after


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
    """A name for the backup that takes nothing else's place."""
    number = 0
    while True:
        found = file.with_name(f"{file.name}.flux-backup{f'-{number}' if number else ''}")
        if not found.exists():
            return found
        number += 1
