"""How a text becomes words: one analysis for grains and for questions, for any script.

`tokens` are the words as they are compared, `terms` what is indexed and searched, `key` a term as a number.
A text is cut at white space first, because such a chunk recurs: all work below is done once per chunk.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import Stemmer  # type: ignore[import-not-found]
from numpy.typing import NDArray

from memory.engine.text import scripts
from memory.engine.text.stopwords import STOP

LONGEST = 64  # characters of a term; what is longer is no word, its beginning is enough
_MOST_PARTS = 8  # a chain of more is a text without spaces and has no name as a whole
_ROOM = 65_536  # chunks and terms remembered at a time, about 20 MB; then it begins anew

_WORD = rf"[^\W_][\w{scripts.MARKS}]*"
# Words, and what joins them into one name: mail and host names, files, versions, code, numbers, hyphens. Each joiner
# stands between two letters or digits, so that nothing is tried twice.
_PIECE = re.compile(rf"{_WORD}(?:(?:[.@&'\-]|(?<=\d)[,:/](?=\d)){_WORD})*(?:\+\+|#(?!\w))?")
_SEPARATORS = re.compile(r"[.@&,:/_'\-]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:'\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS_OR_DIGITS = re.compile(r"\d+|[^\W\d_]+")
_EDGES = "\"'.,;:!?()[]{}<>*_~`|/\\-"
# Capital letters make a word of what is grammar in small ones.
_SPELLED_OUT = frozenset({"US", "IT", "WHO", "UN", "EU"})
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_ELISIONS = frozenset({"l", "d", "j", "c", "n", "m", "t", "s", "qu", "dell", "all", "nell", "sull", "un", "jusqu"})
_ENDINGS = ("'s", "n't", "'re", "'ve", "'ll", "'d", "'m")

# Snowball's own memory is off: ours holds whole chunks, and theirs is not made for several threads.
_STEMMERS = {
    name: Stemmer.Stemmer(name, 0) for name in ("english", "greek", "russian", "armenian", "arabic", "hindi", "tamil")
}

T = TypeVar("T")
_tokens: dict[str, tuple[str, ...]] = {}
_terms: dict[str, tuple[str, ...]] = {}
_keys: dict[str, int] = {}


def tokens(text: str) -> list[str]:
    """Every word of the text, folded; compound ones whole and in parts, unspaced scripts as pairs of characters."""
    found: list[str] = []
    for chunk in text.split():
        known = _tokens.get(chunk)
        if known is None:
            known = _remembered(_tokens, chunk, tuple(_cut(chunk)))
        found += known
    return found


def terms(text: str) -> list[str]:
    """The stems that say what the text is about, in order and as often as they occur.

    A text of nothing but stop words is its tokens: also "who are you" must be found and must find.
    """
    found: list[str] = []
    for chunk in text.split():
        known = _terms.get(chunk)
        if known is None:
            known = _remembered(_terms, chunk, _stemmed(chunk))
        found += known
    return found or tokens(text)


def key(term: str) -> int:
    """A term as an unsigned 64-bit number that is the same in every process and on every machine; never 0."""
    found = _keys.get(term)
    if found is None:
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        found = int.from_bytes(digest, "little") or 1
        _remembered(_keys, term, found)
    return found


def keys(terms: Sequence[str]) -> NDArray[np.uint64]:
    """The keys of terms, in their order."""
    return np.fromiter(map(key, terms), dtype=np.uint64, count=len(terms))


def stem(token: str) -> str:
    """A folded token as it is indexed. Names of code, numbers and unspaced scripts stay as they are."""
    if token.isascii():
        return str(_STEMMERS["english"].stemWord(token)) if token.isalpha() else token
    language = scripts.language(token)
    if language is None or _SEPARATORS.search(token) or scripts.unspaced(token):
        return token
    return str(_STEMMERS[language].stemWord(token)) or token


def number(written: str) -> str:
    """A number without separators of thousands."""
    if _THOUSANDS.fullmatch(written) is None:
        return written
    if written.count(".") > 1:
        return written.replace(".", "").replace(",", ".")
    return written.replace(",", "").replace("'", "")


def _remembered(memory: dict[str, T], name: str, value: T) -> T:
    if len(name) <= LONGEST:
        if len(memory) >= _ROOM:
            memory.clear()
        memory[name] = value
    return value


def _stemmed(chunk: str) -> tuple[str, ...]:
    found = _cut(chunk)
    if not _spelled_out(chunk):
        found = [token for token in found if token not in STOP]
    return tuple([stem(token) for token in found])


def _spelled_out(chunk: str) -> bool:
    bare = chunk.strip(_EDGES)
    return bare in _SPELLED_OUT or (bare.isupper() and _DOTTED.fullmatch(bare) is not None)


def _cut(chunk: str) -> list[str]:
    """The tokens of what stands between two spaces."""
    bare = chunk.strip(_EDGES)
    if bare.isascii() and bare.isalpha():
        return _word(bare)
    found: list[str] = []
    for match in _PIECE.finditer(scripts.normalised(chunk)):
        piece = match.group()
        if piece[-1] in "+#":
            core = piece.rstrip("+#")
            found.append(scripts.folded(piece)[:LONGEST])
            found += _parts([core])
        elif piece[0].isdigit() and _THOUSANDS.fullmatch(piece):
            found.append(number(scripts.folded(piece))[:LONGEST])
        elif "'" in piece:
            found += _apostrophe(piece)
        else:
            found += _compound(piece)
    return found


def _apostrophe(piece: str) -> list[str]:
    """Contractions and possessives lose their ending, French and Italian words their article."""
    whole = scripts.folded(piece)
    if whole in STOP:
        return [whole]
    for ending in _ENDINGS:
        if whole.endswith(ending):
            piece = piece[: -len(ending)]
            break
    head, _, rest = piece.partition("'")
    if rest and head.casefold() in _ELISIONS:
        piece = rest
    if "'" not in piece:
        return _compound(piece) if piece else []
    inner = piece.split("'")
    joined = [scripts.folded("".join(inner))[:LONGEST]] if len(inner) <= _MOST_PARTS else []
    return joined + _parts(inner)


def _compound(piece: str) -> list[str]:
    """A joined name whole and in parts: a hyphen joins for good ("e-mail" is "email"), other signs stay."""
    if "," in piece and not _DECIMAL.fullmatch(piece):
        return [token for part in piece.split(",") for token in _compound(part)]
    piece = piece.strip("_").removeprefix("www.")
    inner = _SEPARATORS.split(piece)
    if len(inner) == 1:
        return _word(piece)
    if len(inner) > _MOST_PARTS:
        return _parts(inner)
    whole = scripts.folded(piece)[:LONGEST]
    if _DECIMAL.fullmatch(whole):
        return [whole.replace(",", ".")]
    if _DOTTED.fullmatch(whole):
        return [whole.replace(".", "")]
    signs = set(_SEPARATORS.findall(piece))
    if signs == {"-"}:
        whole = whole.replace("-", "")
    return [whole, *_parts(inner)]


def _parts(inner: list[str]) -> list[str]:
    """The words inside a name. A single letter or digit of it says nothing."""
    return [token for part in inner if part for token in _word(part) if len(token) > 1 or not token.isascii()]


def _word(word: str) -> list[str]:
    """A word without signs in it; what is written in camelCase or with digits comes whole and in parts."""
    if word.isascii() and word.isalpha():
        low = word.lower()
        if word[1:].islower() or len(word) < 3 or word.isupper():
            return [low[:LONGEST]]
        if word[-1] == "s" and word[:-1].isupper():  # PDFs
            return [low[:-1][:LONGEST]]
        return [low[:LONGEST], *[part.lower()[:LONGEST] for part in _CAMEL.findall(word) if 1 < len(part) < len(low)]]
    if scripts.unspaced(word):
        runs = scripts.pieces(word)
        return [token for run, spaced in runs for token in (_word(run) if spaced else [run])]
    return _mixed(scripts.folded(word))


def _mixed(low: str) -> list[str]:
    """Letters and digits: "3km" is also "3 km", "8th" is 8, an id of many runs only itself."""
    if low.isalpha() or low.isdigit():
        return [low[:LONGEST]]
    if not low[:1].isalnum():  # an accent that belonged to a sign of another script
        return []
    ordinal = _ORDINAL.fullmatch(low)
    if ordinal:
        return [ordinal[1][:LONGEST]]
    runs = _LETTERS_OR_DIGITS.findall(low) if any(map(str.isdigit, low)) else ()
    whole = low[:LONGEST]
    return [whole, *[run[:LONGEST] for run in runs if len(run) > 1]] if 1 < len(runs) <= 3 else [whole]
