"""Differences for a page, with invisible characters made visible: lines of a unified diff, and changed values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from fluxcore.visible_text import visible

MOST = 5_000  # lines of one page
_HEAD = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True)
class DiffLine:
    """One line: `kind` is added, removed, same, gap (lines left out) or end (no line end at the end of the file)."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None

    @property
    def sign(self) -> str:
        return {"added": "+", "removed": "\N{MINUS SIGN}"}.get(self.kind, "")


@dataclass(frozen=True)
class ShownDiff:
    """A difference as pages show it."""

    lines: list[DiffLine]
    added: int
    removed: int
    cut: bool


def shown_diff(diff: str) -> ShownDiff:
    lines = diff_lines(diff)
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("added", "removed"))
    return ShownDiff(lines[:MOST], added, removed, len(lines) > MOST)


def diff_lines(diff: str) -> list[DiffLine]:
    """The lines of a diff without its two headers, at most one more than `MOST`."""
    found, old, new = list[DiffLine](), 0, 0
    for line in diff.split("\n")[2:]:
        if len(found) > MOST:
            break
        mark, text = line[:1], visible(line[1:])
        if mark == "@" and (head := _HEAD.match(line)):
            old, new = int(head[1]), int(head[2])
            if found:
                found.append(DiffLine("gap", ""))
        elif mark == "+":
            found.append(DiffLine("added", text, new=new))
            new += 1
        elif mark == "-":
            found.append(DiffLine("removed", text, old=old))
            old += 1
        elif mark == "\\":
            found.append(DiffLine("end", "No line end at the end of the file"))
        elif mark == " ":
            found.append(DiffLine("same", text, old, new))
            old, new = old + 1, new + 1
    return found


def changed_values(changes: list[dict[str, Any]], most: int) -> list[dict[str, str]]:
    """The first changed values of JSON, each as JSON."""
    return [
        {"op": one["op"], "at": visible(one["at"])}
        | {name: visible(json.dumps(one[name], ensure_ascii=False)) for name in ("old", "new") if name in one}
        for one in changes[:most]
    ]
