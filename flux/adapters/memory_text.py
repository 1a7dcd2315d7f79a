"""What Anthropic's memory tool answers, as functions of paths and texts. A refused command raises ValueError."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

FOLDER = "memories"  # of the store: what the tool calls /memories
MAX_LINES = 999_999


def path_in_store(given: str) -> str:
    """The path in the store of a path of the tool."""
    if not given.startswith("/memories"):
        raise ValueError(f"Path must start with /memories, got: {given}")
    path = posixpath.normpath(f"/memories/{given.removeprefix('/memories').lstrip('/')}")
    if path != "/memories" and not path.startswith("/memories/"):
        raise ValueError(f"Path {given} would escape /memories directory")
    return path[1:]


def file_view(shown: str, text: str, view_range: Sequence[int] | None) -> str:
    """The lines of a file, or those from the first to the second number of the range; -1 is the last line."""
    lines, first, last = text.split("\n"), 1, -1
    if len(lines) > MAX_LINES:
        raise ValueError(f"File {shown} exceeds maximum line limit of {MAX_LINES:,} lines.")
    if view_range and len(view_range) == 2:
        first, last = max(1, view_range[0]), view_range[1]
    wanted = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {shown} with line numbers:\n{_numbered(wanted, first)}"


def folder_view(shown: str, files: Mapping[str, int]) -> str:
    """Files and folders of two levels, from the sizes of all files by their paths below the folder."""
    sizes: dict[tuple[str, ...], int] = {}
    for path, size in files.items():
        names = tuple(path.split("/"))
        for depth in range(1, min(len(names), 2) + 1):
            row = names if depth == len(names) else (*names[:depth], "")  # a folder's ends with a slash
            sizes[row] = sizes.get(row, 0) + size
    rows = [f"{_size(sum(files.values()))}\t{shown}"]
    for row in sorted(sizes):
        if not any(name.startswith(".") for name in row):
            rows.append(f"{_size(sizes[row])}\t{shown}/{'/'.join(row)}")
    return "\n".join(
        [f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:", *rows]
    )


def replaced(shown: str, text: str, old: str, new: str) -> tuple[str, str]:
    """The text with its one occurrence of `old` replaced, and the answer that shows it."""
    lines, at = list[int](), text.find(old)
    while at != -1:
        lines.append(text.count("\n", 0, at))
        at = text.find(old, at + 1)
    if not lines:
        raise ValueError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {shown}.")
    if text.count(old) > 1:
        numbers = ", ".join(str(line + 1) for line in lines)
        raise ValueError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
            "Please ensure it is unique"
        )
    changed, first = text.replace(old, new), max(0, lines[0] - 2)
    snippet = _numbered(changed.split("\n")[first : lines[0] + 3], first + 1)
    return (
        changed,
        f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}",
    )


def inserted(text: str, line: int, added: str) -> str:
    """The text with lines added after a line; 0 is before the first one."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        raise ValueError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, added.rstrip("\n"))
    return "\n".join(lines).removesuffix("\n") + "\n"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    """Bytes in the largest unit of 1,024 that they fill, for example 1.5K."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**power
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{'BKMG'[power]}"
