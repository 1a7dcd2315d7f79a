"""Lines of contents, which end at a line feed and nowhere else, read without keeping the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_PART = 256 * 1024  # bytes of a line that come at once


class LinePart(NamedTuple):
    """A line with its end, or a part of a very long one."""

    number: int  # of the line, from 1
    offset: int  # of the first byte in the content
    data: bytes

    @property
    def next_offset(self) -> int:
        return self.offset + len(self.data)

    @property
    def ends(self) -> bool:
        """Whether the line ends here."""
        return self.data.endswith(b"\n")


def parts(chunks: Iterable[bytes], *, number: int = 1, offset: int = 0) -> Iterator[LinePart]:
    """The lines of a content; `number` and `offset` are those of the first byte."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            part = LinePart(number, offset, line + b"\n")
            yield part
            number, offset = number + 1, part.next_offset
        if len(rest) > MAX_PART:
            yield LinePart(number, offset, rest)
            offset, rest = offset + len(rest), b""
    if rest:
        yield LinePart(number, offset, rest)


def of_text(text: str) -> list[str]:
    """The lines of a text with their ends."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]
