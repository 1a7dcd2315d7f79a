"""Splitting of a text into passages: by headings, paragraphs and code blocks, each with its lines.

Every passage is a piece of the text itself, and short enough for an encoder to see all of it. A paragraph that is too
long is split at sentences, a code block at lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST, LEAST = 1_200, 200  # characters of a passage; shorter neighbours under the same heading are joined
MAX_PASSAGES = 5_000  # of one text; the rest is not indexed
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")  # noqa: RUF001


@dataclass(frozen=True)
class Passage:
    """A piece of a text, its lines from 1, and the heading above it."""

    text: str
    first: int
    last: int
    heading: str = ""


def split_text(text: str) -> list[Passage]:
    """The passages of a text in their order."""
    found: list[Passage] = []
    for block in _joined(_blocks(text)):
        for piece in _pieces(block):
            if len(found) == MAX_PASSAGES:
                return found
            if piece.text.strip():
                found.append(piece)
    return found


def _blocks(text: str) -> Iterator[Passage]:
    """Paragraphs, lists and code blocks as they stand. The first below a heading begins with it, and with those above.

    Headings at the end, with nothing below them, are a block of their own.
    """
    heading, fence, all_lines = "", "", _lines(text)
    lines, first, titled = list[str](), 1, 0  # `titled`: number of the first heading that waits for its block
    for number, line in enumerate(all_lines, 1):
        mark = _FENCE.match(line)
        title = None if fence else _HEADING.match(line)
        if title or (not fence and not line.strip()):
            if lines:
                yield Passage("\n".join(lines), first, number - 1, heading)
            lines = []
            if title:
                heading, titled = title[2].strip("# ")[:200], titled or number
            continue
        if not lines:
            first, titled = titled or number, 0
            lines = all_lines[first - 1 : number - 1]
        lines.append(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
            if not fence:
                yield Passage("\n".join(lines), first, number, heading)
                lines = []
    if lines:
        yield Passage("\n".join(lines), first, len(all_lines), heading)
    elif titled:
        ends = [line.strip() for line in all_lines[titled - 1 :]]
        last = titled + max(place for place, line in enumerate(ends) if line)
        yield Passage("\n".join(all_lines[titled - 1 : last]), titled, last, heading)


def _lines(text: str) -> list[str]:
    """Lines as everybody who reads a file counts them: form feeds and Unicode's separators end none."""
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    return [line.removesuffix("\r") for line in lines]


def _joined(blocks: Iterator[Passage]) -> Iterator[Passage]:
    """Blocks, of which short ones below the same heading are one passage with the next."""
    held: Passage | None = None
    for block in blocks:
        if held is not None and _belong_together(held, block):
            held = Passage(f"{held.text}\n\n{block.text}", held.first, block.last, held.heading)
            continue
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield held


def _belong_together(one: Passage, next_one: Passage) -> bool:
    fits = len(one.text) + len(next_one.text) < MOST
    return one.heading == next_one.heading and len(one.text) < LEAST and fits


def _pieces(block: Passage) -> Iterator[Passage]:
    """The block, in parts of at most MOST characters: whole lines where they fit, else sentences, else words."""
    if len(block.text) <= MOST:
        yield block
        return
    held, first = "", block.first
    for number, line in enumerate(block.text.split("\n"), block.first):
        for part in _short_parts(line):
            if held and len(held) + len(part) >= MOST:
                in_line = held.endswith(" ")  # the last part is of this line
                yield Passage(held.rstrip(), first, number if in_line else number - 1, block.heading)
                held = ""
            if not held:
                first = number
            held += part
        held += "\n"
    if held.strip():
        yield Passage(held.rstrip(), first, block.last, block.heading)


def _short_parts(line: str) -> Iterator[str]:
    """A line in parts of at most MOST characters."""
    if len(line) <= MOST:
        yield line
        return
    for sentence in _SENTENCE_END.split(line):
        for start in range(0, len(sentence), MOST - 1):
            yield sentence[start : start + MOST - 1] + " "
