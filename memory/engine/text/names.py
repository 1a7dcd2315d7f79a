"""Names in a text: runs of capitalised words, addresses, handles, identifiers of code, quoted titles."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.engine.text import dates, scripts
from memory.engine.text.stopwords import COMMON, STOP

# Rank of a name by how specific it is; `find_mentions` keeps the lowest ranks.
ADDRESS, LONG, SINGLE, PART = 0, 1, 4, 8
_ROOM = 65_536  # cached chunks; a full cache is emptied
_LONGEST = 64  # characters of a chunk that are parsed
_MOST_WORDS = 6  # of a run; a longer one is a headline

_BEFORE = re.compile(r"^[^\w@#$€£¥₹+]+")
_AFTER = re.compile(r"[^\w+#)(]+$")
# Matches whole chunks only; each quantifier is bounded or over disjoint characters, against slow backtracking.
_CODE = re.compile(
    r"(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})"
    r"|(?P<handle>@\w[\w.]{1,40})|\#(?P<tag>[^\W\d]\w{1,40})"
    r"|https?://(?:www\.)?(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?:[/:?\#].*)?"
    r"|(?P<call>[A-Za-z_]\w*(?:\.\w+){0,8})\(\)"
    r"|(?P<dotted>[^\W\d_]\w+(?:\.[^\W\d_]\w+)+|\w*[^\W_]_\w+|[a-z]+[A-Z]\w*|[A-Za-z]\+\+|[A-Z]\#)"
)
_QUOTED = re.compile(r"[“„«「『《]([^“”„«»「」『』《》\n]{2,60})[”“»」』》]|(?<!\w)\"([^\"\n]{2,60})\"(?!\w)")
_KATAKANA = re.compile(f"[{scripts.KATAKANA}]{{2,32}}")
_CONNECTORS = frozenset({"of", "de", "da", "di", "del", "la", "van", "von", "der", "den", "bin", "al", "y", "the"})
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "st", "prof", "jr", "sr"})
_FIRST_HALVES = frozenset({"new", "old", "big", "great"})  # common words that begin many a name: New York
_NEVER_NAMES = frozenset(
    {"i", "i'm", "i've", "i'd", "i'll", "the", "a", "an", "ok", "okay", "lol", "omg", *dates.WEEKDAYS, *dates.MONTHS}
)

_NO_NAME_PARTS = STOP | COMMON | _CONNECTORS


class Chunk(NamedTuple):
    """Properties of a chunk of text between spaces that decide whether it is part of a name."""

    core: str  # folded, without the signs around it
    capital: bool
    common: bool  # a common word: a capital at the start of a sentence does not make it a name
    opens: bool  # a sign before it: no name continues across it
    ends: bool  # a sign after it
    stops: bool  # the end of a sentence
    shown: int  # signs of dates and numbers, see `dates.date_signs`
    code: str  # the chunk as an address, handle or identifier, else ""


_chunks: dict[str, Chunk] = {}


def judge_chunk(raw: str) -> Chunk:
    """Properties of a chunk, cached."""
    chunk = _chunks.get(raw)
    if chunk is None:
        chunk = _parse_chunk(raw)
        if len(raw) <= _LONGEST:
            if len(_chunks) >= _ROOM:
                _chunks.clear()
            _chunks[raw] = chunk
    return chunk


def _parse_chunk(raw: str) -> Chunk:
    shown = dates.date_signs(raw[:_LONGEST].lower()) | (dates.SPELLED if len(raw) > _LONGEST else 0)
    bare = _AFTER.sub("", _BEFORE.sub("", raw[:_LONGEST]))
    core = bare.strip("()")
    code = _match_identifier(bare) or _match_identifier(core)
    possessive = core.endswith(("'s", "'S"))
    if possessive:
        core = core[:-2]
    low = scripts.folded(core)
    tail = raw[raw.rfind(bare) + len(bare) :] if len(raw) <= _LONGEST else "."
    initial = tail == "." and (len(core) == 1 or low in _TITLES)
    return Chunk(
        core=low,
        capital=core[:1].isupper() and low not in _NEVER_NAMES,
        common=low in STOP or low in COMMON or low.endswith(("ing", "ly", "ed")),
        opens=not raw.startswith(bare[:1]),
        ends=(bool(tail) or possessive or bare.endswith(")")) and not initial,
        stops=any(sign in tail for sign in ".!?…:。") and not initial,
        shown=shown,
        code=code,
    )


def _match_identifier(bare: str) -> str:
    match = _CODE.fullmatch(bare)
    return scripts.folded(match[str(match.lastgroup)]).strip("_") if match else ""


def find_names(text: str) -> tuple[list[tuple[int, str]], int]:
    """Names with their rank, and the signs of dates and numbers of all chunks."""
    found: list[tuple[int, str]] = []
    shown = 0
    for line in text.splitlines():
        chunks = [judge_chunk(raw) for raw in line.split()]
        for chunk in chunks:
            shown |= chunk.shown
        if len(chunks) > 2 and line.isupper():
            continue  # in a headline of capital letters every word looks like a name
        _collect_runs(chunks, found)
    return found, shown


def _collect_runs(chunks: list[Chunk], found: list[tuple[int, str]]) -> None:
    run: list[str] = []
    links: list[str] = []  # small words after a run that belong to it if it continues: "Bank of"
    begins = True
    for core, capital, common, opens, ends, stops, _, code in chunks:
        if run and (opens or code or len(run) >= _MOST_WORDS):
            _close_run(run, links, found)
        if code:
            found.append((ADDRESS, code))
        elif capital:
            if begins and common:
                links = [core] if core in _FIRST_HALVES else []
            else:
                run += [*links, core]
                links = []
        elif run and core in _CONNECTORS:
            links.append(core)
        elif run or links:
            _close_run(run, links, found)
        if ends:
            _close_run(run, links, found)
        begins = stops
    _close_run(run, links, found)


def _close_run(run: list[str], links: list[str], found: list[tuple[int, str]]) -> None:
    """Add a finished run as a name, and its longer words as names of a lower rank."""
    links.clear()
    if not run:
        return
    if len(run) > 1:
        found.append((LONG, " ".join(run)))
        found += [(PART, word) for word in run if len(word) > 2 and word not in _NO_NAME_PARTS]
    elif len(run[0]) > 1 and not any(map(str.isdigit, run[0])):  # with digits it is an id, see `amounts`
        found.append((SINGLE, run[0]))
    run.clear()


def find_quoted(text: str) -> list[tuple[int, str]]:
    """Titles in quotation marks, and loan words in katakana: signs of names in scripts without capital letters."""
    found = []
    for match in _QUOTED.finditer(text):
        title = " ".join(scripts.folded(match[1] or match[2]).split())
        if title and title.count(" ") < 8:
            found.append((ADDRESS, title))
    found += [(SINGLE, run) for run in _KATAKANA.findall(text)]
    return found
