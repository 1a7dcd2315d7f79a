"""Tokeniser and stemmer: one analysis for grains and questions, for any script.

`tokens` are the folded words, `terms` the stems that are indexed and searched, `key` the 64-bit hash of a term.
A text is split at white space first, because such chunks recur: all further work is cached per chunk.
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

LONGEST = 64  # characters of a term; longer ones are no words and are cut
_MOST_PARTS = 8  # parts of a compound; a longer chain is a text without spaces and is not indexed as a whole
_ROOM = 65_536  # cached chunks and terms, about 20 MB; a full cache is emptied

_WORD = rf"[^\W_][\w{scripts.MARKS}]*"
# Words, and the signs that join them into one name: mail and host names, files, versions, code, numbers, hyphens. A
# joining sign is always between two letters or digits, so that the pattern needs no backtracking.
_PIECE = re.compile(rf"{_WORD}(?:(?:[.@&'\-]|(?<=\d)[,:/](?=\d)){_WORD})*(?:\+\+|#(?!\w))?")
_SEPARATORS = re.compile(r"[.@&,:/_'\-]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:'\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS_OR_DIGITS = re.compile(r"\d+|[^\W\d_]+")
_EDGES = "\"'.,;:!?()[]{}<>*_~`|/\\-"
# Written in capital letters these are content words, in small letters stop words.
_ACRONYMS = frozenset({"US", "IT", "WHO", "UN", "EU"})
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_ELISIONS = frozenset({"l", "d", "j", "c", "n", "m", "t", "s", "qu", "dell", "all", "nell", "sull", "un", "jusqu"})
_ENDINGS = ("'s", "n't", "'re", "'ve", "'ll", "'d", "'m")

# Snowball's own cache is off (size 0): this module caches whole chunks, and Snowball's cache is not thread-safe.
_STEMMERS = {
    name: Stemmer.Stemmer(name, 0) for name in ("english", "greek", "russian", "armenian", "arabic", "hindi", "tamil")
}

T = TypeVar("T")
_tokens: dict[str, tuple[str, ...]] = {}
_terms: dict[str, tuple[str, ...]] = {}
_keys: dict[str, int] = {}


def tokens(text: str) -> list[str]:
    """All words of the text, folded; compounds whole and in parts, unspaced scripts as pairs of characters."""
    result: list[str] = []
    for chunk in text.split():
        cached = _tokens.get(chunk)
        if cached is None:
            cached = _cache(_tokens, chunk, tuple(_tokenise_chunk(chunk)))
        result += cached
    return result


def terms(text: str) -> list[str]:
    """Stems of the content words, in order and as often as they occur.

    A text of nothing but stop words gives its tokens, so that "who are you" can be searched and found too.
    """
    result: list[str] = []
    for chunk in text.split():
        cached = _terms.get(chunk)
        if cached is None:
            cached = _cache(_terms, chunk, _stem_chunk(chunk))
        result += cached
    return result or tokens(text)


def key(term: str) -> int:
    """A term as an unsigned 64-bit number that is the same in every process and on every machine; never 0."""
    number = _keys.get(term)
    if number is None:
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "little") or 1
        _cache(_keys, term, number)
    return number


def keys(terms: Sequence[str]) -> NDArray[np.uint64]:
    """The keys of terms, in their order."""
    return np.fromiter(map(key, terms), dtype=np.uint64, count=len(terms))


def stem(token: str) -> str:
    """A folded token as it is indexed. Identifiers, numbers and unspaced scripts are not changed."""
    if token.isascii():
        return str(_STEMMERS["english"].stemWord(token)) if token.isalpha() else token
    language = scripts.language(token)
    if language is None or _SEPARATORS.search(token) or scripts.unspaced(token):
        return token
    return str(_STEMMERS[language].stemWord(token)) or token


def number(written: str) -> str:
    """A number without thousands separators."""
    if _THOUSANDS.fullmatch(written) is None:
        return written
    if written.count(".") > 1:
        return written.replace(".", "").replace(",", ".")
    return written.replace(",", "").replace("'", "")


def _cache(cache: dict[str, T], name: str, value: T) -> T:
    if len(name) <= LONGEST:
        if len(cache) >= _ROOM:
            cache.clear()
        cache[name] = value
    return value


def _stem_chunk(chunk: str) -> tuple[str, ...]:
    chunk_tokens = _tokenise_chunk(chunk)
    if not _is_acronym(chunk):
        chunk_tokens = [token for token in chunk_tokens if token not in STOP]
    return tuple([stem(token) for token in chunk_tokens])


def _is_acronym(chunk: str) -> bool:
    bare = chunk.strip(_EDGES)
    return bare in _ACRONYMS or (bare.isupper() and _DOTTED.fullmatch(bare) is not None)


def _tokenise_chunk(chunk: str) -> list[str]:
    """Tokens of one chunk of text between spaces."""
    bare = chunk.strip(_EDGES)
    if bare.isascii() and bare.isalpha():
        return _split_word(bare)
    result: list[str] = []
    for match in _PIECE.finditer(scripts.normalised(chunk)):
        piece = match.group()
        if piece[-1] in "+#":
            core = piece.rstrip("+#")
            result.append(scripts.folded(piece)[:LONGEST])
            result += _split_parts([core])
        elif piece[0].isdigit() and _THOUSANDS.fullmatch(piece):
            result.append(number(scripts.folded(piece))[:LONGEST])
        elif "'" in piece:
            result += _split_apostrophe(piece)
        else:
            result += _split_compound(piece)
    return result


def _split_apostrophe(piece: str) -> list[str]:
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
        return _split_compound(piece) if piece else []
    inner = piece.split("'")
    joined = [scripts.folded("".join(inner))[:LONGEST]] if len(inner) <= _MOST_PARTS else []
    return joined + _split_parts(inner)


def _split_compound(piece: str) -> list[str]:
    """A compound whole and in parts; hyphens are removed from the whole ("e-mail" is "email"), other signs are kept."""
    if "," in piece and not _DECIMAL.fullmatch(piece):
        return [token for part in piece.split(",") for token in _split_compound(part)]
    piece = piece.strip("_").removeprefix("www.")
    inner = _SEPARATORS.split(piece)
    if len(inner) == 1:
        return _split_word(piece)
    if len(inner) > _MOST_PARTS:
        return _split_parts(inner)
    whole = scripts.folded(piece)[:LONGEST]
    if _DECIMAL.fullmatch(whole):
        return [whole.replace(",", ".")]
    if _DOTTED.fullmatch(whole):
        return [whole.replace(".", "")]
    signs = set(_SEPARATORS.findall(piece))
    if signs == {"-"}:
        whole = whole.replace("-", "")
    return [whole, *_split_parts(inner)]


def _split_parts(inner: list[str]) -> list[str]:
    """Words inside a compound, without single ASCII letters and digits."""
    return [token for part in inner if part for token in _split_word(part) if len(token) > 1 or not token.isascii()]


def _split_word(word: str) -> list[str]:
    """Tokens of a word without signs; camelCase and words with digits give the whole and its parts."""
    if word.isascii() and word.isalpha():
        low = word.lower()
        if word[1:].islower() or len(word) < 3 or word.isupper():
            return [low[:LONGEST]]
        if word[-1] == "s" and word[:-1].isupper():  # PDFs
            return [low[:-1][:LONGEST]]
        return [low[:LONGEST], *[part.lower()[:LONGEST] for part in _CAMEL.findall(word) if 1 < len(part) < len(low)]]
    if scripts.unspaced(word):
        runs = scripts.pieces(word)
        return [token for run, spaced in runs for token in (_split_word(run) if spaced else [run])]
    return _split_letters_digits(scripts.folded(word))


def _split_letters_digits(low: str) -> list[str]:
    """Tokens of letters mixed with digits: "3km" is also "3 km", "8th" is 8, an id of many runs only itself."""
    if low.isalpha() or low.isdigit():
        return [low[:LONGEST]]
    if not low[:1].isalnum():  # an accent of a character that is no letter
        return []
    ordinal = _ORDINAL.fullmatch(low)
    if ordinal:
        return [ordinal[1][:LONGEST]]
    runs = _LETTERS_OR_DIGITS.findall(low) if any(map(str.isdigit, low)) else ()
    whole = low[:LONGEST]
    return [whole, *[run[:LONGEST] for run in runs if len(run) > 1]] if 1 < len(runs) <= 3 else [whole]
