"""The documents as the tests see them: their shell commands, links and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *DECISIONS,
]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[str]:
    """Every command of every ```sh block and every ```python block, in order; continued lines and here-documents are
    one command."""
    for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            yield f".venv/bin/python - <<'EOF'\n{text}EOF"
            continue
        if language != "sh":
            continue
        lines = iter(text.splitlines())
        for line in lines:
            # A quote that is open goes on in the next line as well.
            while line.endswith("\\") or line.count("'") % 2:
                line += "\n" + next(lines)
            document = re.search(r"<<'(\w+)'", line)
            if document:
                for more in lines:
                    line += "\n" + more
                    if more == document.group(1):
                        break
            if line.strip() and not line.lstrip().startswith("#"):
                yield line


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def table(page: Path, heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, without their heads."""
    text = page.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip() for line in text.splitlines() if line.startswith("|")]
    heads = {at + offset for at, line in enumerate(lines) if line.startswith("|---") for offset in (-1, 0)}
    rows = [line.strip("|").split("|") for at, line in enumerate(lines) if at not in heads]
    return [[cell.strip() for cell in row] for row in rows]
