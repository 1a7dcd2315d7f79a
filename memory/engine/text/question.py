"""Question analysis: terms, mentions, and the kind of answer a question wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memory.engine.text import names, scripts, words
from memory.engine.text.marks import FIRST_PERSON, mark_text
from memory.engine.text.mentions import Mention, find_mentions

LONGEST = 16_384  # characters of a question that are read


@dataclass(frozen=True, eq=False)  # compared by identity: comparing patterns takes longer than matching them
class QuestionPattern:
    """Patterns by which a question shows the kind of answer it wants."""

    whole: re.Pattern[str]
    begins: re.Pattern[str]  # first words of `whole`

    def matches(self, query: Query) -> bool:
        """Whether the question has one of the phrases. Most have none of their first words, which is checked first."""
        return bool(query.signs & _SIGN_OF[self]) and self.whole.search(query.folded) is not None


def _pattern(spaced: str, unspaced: str) -> QuestionPattern:
    """Pattern of any of these phrases: whole words in scripts with spaces, substrings in those without."""
    words = spaced.split()
    first = [begin for word in words for begin in _first_words(word)]
    return QuestionPattern(
        re.compile(f"{_alternatives(words)}|{'|'.join(unspaced.split())}"), re.compile(_alternatives(first))
    )


def _alternatives(words: list[str]) -> str:
    return rf"(?<!\w)(?:{'|'.join(words)})(?!\w)".replace("_", " ")


def _first_words(word: str) -> list[str]:
    """First words of a phrase: two if its first space is optional."""
    begin, space, _ = word.partition("_")
    return [begin, word.replace("_?", "")] if "_?" in word else [begin] if space else [word]


# Matched against the folded text: lower case, no accents. An underscore means a space.
_WHEN = _pattern(
    "when when's (?:what|which)_(?:time|date|day|year|month|week) how_long_ago since_when "
    "wann quand cuando quando wanneer когда",
    "什么时候 什麼時候 何时 哪天 哪年 几点 いつ 何時 何日 언제 เมื่อไ",
)
_WHO = _pattern(
    "who whom whose who's wer wem wen wessen qui quien quienes chi quem кто кого кому чей", "谁 誰 누구 누가 ใคร"
)
_WHERE = _pattern(
    "where where's (?:what|which)_(?:place|city|country|town|state|location|street|address) "
    "wo wohin woher donde adonde dove onde waar где куда откуда",
    "哪里 哪儿 哪裡 在哪 どこ 어디 ที่ไหน",
)
_WHICH = _pattern(
    "which what_(?:kind|type|sort|brand|model|name|colou?r)s? welche[rsnm]? quel(?:le)?s? cual(?:es)? qual[ei]? quais "
    "welke какой какая какое какие",
    "哪个 哪個 哪种 哪些 どの どちら どれ 어느 어떤 ไหน",
)
_HOW_MANY = _pattern(
    "how_(?:many|much|often|old|long|far|tall|big|high|large|heavy|fast) number_of "
    r"what_(?:number|amount|price|cost|age|percentage) wie_?viele? combien cuant[oa]s? quant[oiae]s? hoeveel сколько",
    "多少 几个 幾個 多大 多久 いくつ いくら 何人 몇 얼마 กี่ เท่าไ",
)
_PREFERENCE = _pattern(
    r"favou?rites? prefer(?:s|red|ences?)? likes? loves? enjoys? dislikes? hates? recommend(?:s|ed|ations?)? "
    r"suggest(?:s|ed|ions?)? advice ideas? tips should_i interested_in hobb(?:y|ies) lieblings\w* empfiehl\w* "
    r"empfehl\w* prefer\w* prefier\w* recommand\w* recomiend\w* recomend\w* gusta\w* любим\w* нрав\w* посовет\w*",
    "喜欢 喜歡 最爱 推荐 推薦 建议 好き おすすめ 좋아 추천 ชอบ แนะนำ",
)
_ORDERING = _pattern(
    r"first last latest earliest before after recent(?:ly)? previous(?:ly)? next order sequence chronological(?:ly)? "
    r"initial(?:ly)? finally originally eventually zuerst zuletzt premiere? derniere? primer[oa]? ultim[oa] сначала "
    r"после последн\w*",
    "最后 最後 首先 第一次 之前 之后 之後 最初 最近 처음 마지막",
)
_NEGATION = _pattern(
    r"not no never none nobody nothing without \w{2,8}n't cannot except other_than neither nicht kein\w* nie jamais "
    r"nunca jamas niet geen не нет никогда",
    "不 没 沒 ない ません 안 않 없 ไม่",
)
_NOW = _pattern(
    "now nowadays currently? at_present presently latest most_recent these_days at_the_moment still so_far inzwischen "
    "derzeit aktuell jetzt maintenant actuellement ahora actualmente",
    "现在 目前 今",
)
_SIGN_OF = {
    kind: 1 << at
    for at, kind in enumerate((_WHEN, _WHO, _WHERE, _WHICH, _HOW_MANY, _PREFERENCE, _ORDERING, _NEGATION, _NOW))
}
_ALL = (1 << len(_SIGN_OF)) - 1
_signs: dict[str, int] = {}
_ROOM = 65_536  # cached words; a full cache is emptied
_OPENS_YES_NO = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "am",
        "do",
        "does",
        "did",
        "can",
        "could",
        "will",
        "would",
        "should",
        "has",
        "have",
        "had",
    )
)


@dataclass(eq=False)
class Query:
    """An analysed question. The kind of answer it wants is computed on first use: few spaces need it."""

    text: str
    terms: tuple[str, ...]
    keys: NDArray[np.uint64]  # of the terms, in their order
    mentions: tuple[Mention, ...]

    @cached_property
    def pairs(self) -> NDArray[np.uint64]:
        """Keys of adjacent terms, one row of two per pair."""
        return np.column_stack((self.keys[:-1], self.keys[1:]))

    @cached_property
    def capitals(self) -> tuple[str, ...]:
        """Unique terms of words that are capitalised inside a sentence."""
        if self.text.islower():
            return ()
        return tuple(dict.fromkeys(_capital_terms(self._chunks)))

    @property
    def wants_when(self) -> bool:
        return _WHEN.matches(self)

    @property
    def wants_who(self) -> bool:
        return _WHO.matches(self)

    @property
    def wants_where(self) -> bool:
        return _WHERE.matches(self)

    @property
    def wants_which(self) -> bool:
        return _WHICH.matches(self)

    @property
    def wants_how_many(self) -> bool:
        return _HOW_MANY.matches(self)

    @property
    def wants_preference(self) -> bool:
        return _PREFERENCE.matches(self)

    @cached_property
    def first_person(self) -> bool:
        return bool(mark_text(self.text) & FIRST_PERSON)

    @cached_property
    def yes_no(self) -> bool:
        return bool(self._chunks) and self._chunks[0].core in _OPENS_YES_NO

    @property
    def ordering(self) -> bool:
        """Whether it asks for an order: first, last, before, after, latest."""
        return _ORDERING.matches(self)

    @property
    def present(self) -> bool:
        """Whether it asks for the present: now, currently, these days."""
        return _NOW.matches(self)

    @property
    def negation(self) -> bool:
        return _NEGATION.matches(self)

    @cached_property
    def folded(self) -> str:
        return scripts.folded(scripts.normalised(self.text))

    @cached_property
    def signs(self) -> int:
        """Bits of the patterns whose first words occur in it; all bits if the script may have no spaces."""
        if not self.text.isascii():
            return _ALL
        found = 0
        for word in self.folded.split():
            cached = _signs.get(word)
            found |= _word_signs(word) if cached is None else cached
        return found

    @cached_property
    def _chunks(self) -> list[names.Chunk]:
        return [names.judge_chunk(raw) for raw in scripts.normalised(self.text).split()]


def read_question(query: str, said_at: int | None = None) -> Query:
    """Analyse a question; `said_at` (seconds since 1970, UTC) resolves its relative dates such as "yesterday"."""
    query = query[:LONGEST]
    terms = words.terms(query)
    return Query(query, tuple(terms), words.keys(terms), tuple(find_mentions(query, said_at)))


def _word_signs(word: str) -> int:
    signs = sum(bit for kind, bit in _SIGN_OF.items() if kind.begins.search(word))
    if len(word) <= words.LONGEST:
        if len(_signs) >= _ROOM:
            _signs.clear()
        _signs[word] = signs
    return signs


def _capital_terms(chunks: list[names.Chunk]) -> list[str]:
    """Terms of capitalised words; at the beginning of a sentence only words that are not common."""
    terms: list[str] = []
    begins = True
    for chunk in chunks:
        if chunk.capital and not (begins and chunk.common):
            terms += words.terms(chunk.core)
        begins = chunk.stops
    return terms
