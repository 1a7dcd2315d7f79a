"""Tables that fit the terminal: words are not broken, and rows that are too wide are printed field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2  # spaces between two columns
LEAST = 20  # columns of a value, however narrow the terminal
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Row = Sequence[Text]


def print_table(console: Console, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print rows below their column names; without names, each row is a label and its value."""
    if not any(columns):
        console.print(*_pairs(console, [(row[0], row[1]) for row in rows]), sep="\n")
        return
    widths = _widths(columns, rows, console.width)
    if widths is None:  # try without empty columns
        kept = [place for place in range(len(columns)) if any(row[place].plain for row in rows)]
        columns, rows = [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]
        widths = _widths(columns, rows, console.width)
    if widths is not None:
        console.print(_table(columns, rows, widths))
        return
    for number, row in enumerate(rows):
        fields = [(Text(name, "bold"), cell) for name, cell in zip(columns, row, strict=True) if cell.plain]
        console.print(*([""] if number else []), *_pairs(console, fields), sep="\n")


def format_minute(moment: str | None) -> str:
    """Time as two words, date and time of day, so that a narrow column breaks it into two lines."""
    return (moment or "")[:16].replace("T", " ")


def short_id(text: str) -> str:
    """Beginning of an id of 36 characters, any other name unchanged; --json has the full id."""
    return f"{text[:8]}…" if _ID.fullmatch(text) else text


def _table(columns: Sequence[str], rows: Sequence[Row], widths: Sequence[int]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column, width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _widths(columns: Sequence[str], rows: Sequence[Row], room: int) -> list[int] | None:
    """Widths of columns: at least the longest word, more if there is space. None if the words alone are too wide."""
    texts = [[column, *(row[place].plain for row in rows)] for place, column in enumerate(columns)]
    widths = [max(map(_longest_word, column)) for column in texts]
    wanted = [max(cell_len(line) for text in column for line in (text.splitlines() or [""])) for column in texts]
    spare = room - sum(widths) - GAP * (len(columns) - 1)
    if spare < 0:
        return None
    # Narrowest columns first, so that a long text gets the remaining space.
    order = sorted(range(len(columns)), key=lambda place: wanted[place] - widths[place])
    for left, place in zip(range(len(columns), 0, -1), order, strict=True):
        more = min(wanted[place] - widths[place], spare // left)
        widths[place] += more
        spare -= more
    return widths


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _pairs(console: Console, fields: Sequence[tuple[Text, Text]]) -> Iterator[Text]:
    """Lines of labels and values, one pair below the other; words are not broken."""
    indent = max((label.cell_len for label, _ in fields), default=0) + GAP
    for label, value in fields:
        room = max(LEAST, console.width - indent, _longest_word(value.plain))
        for number, line in enumerate(value.wrap(console, room)):
            begin = label.copy() if number == 0 else Text()
            begin.pad_right(indent - begin.cell_len)
            yield begin + line
