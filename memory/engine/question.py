"""What a question asks for: its words, what it names, and what kind of answer it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine import names, scripts, words
from memory.engine.marks import FIRST_PERSON, marks
from memory.engine.mentions import Mention, mentions

LONGEST = 16_384  # characters of a question that are read


def _says(spaced: str, unspaced: str) -> re.Pattern[str]:
    """Any of these, as whole words where a script has spaces between them."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced.split())})(?!\w)|{'|'.join(unspaced.split())}".replace("_", " "))


# Matched against the folded text: lower case, no accents. An underscore stands for a space.
_WHEN = _says(
    "when when's (?:what|which)_(?:time|date|day|year|month|week) how_long_ago since_when "
    "wann quand cuando quando wanneer когда",
    "什么时候 什麼時候 何时 哪天 哪年 几点 いつ 何時 何日 언제 เมื่อไ",
)
_WHO = _says(
    "who whom whose who's wer wem wen wessen qui quien quienes chi quem кто кого кому чей", "谁 誰 누구 누가 ใคร"
)
_WHERE = _says(
    "where where's (?:what|which)_(?:place|city|country|town|state|location|street|address) "
    "wo wohin woher donde adonde dove onde waar где куда откуда",
    "哪里 哪儿 哪裡 在哪 どこ 어디 ที่ไหน",
)
_WHICH = _says(
    "which what_(?:kind|type|sort|brand|model|name|colou?r)s? welche[rsnm]? quel(?:le)?s? cual(?:es)? qual[ei]? quais "
    "welke какой какая какое какие",
    "哪个 哪個 哪种 哪些 どの どちら どれ 어느 어떤 ไหน",
)
_HOW_MANY = _says(
    "how_(?:many|much|often|old|long|far|tall|big|high|large|heavy|fast) number_of "
    r"what_(?:number|amount|price|cost|age|percentage) wie_?viele? combien cuant[oa]s? quant[oiae]s? hoeveel сколько",
    "多少 几个 幾個 多大 多久 いくつ いくら 何人 몇 얼마 กี่ เท่าไ",
)
_PREFERENCE = _says(
    r"favou?rites? prefer(?:s|red|ences?)? likes? loves? enjoys? dislikes? hates? recommend(?:s|ed|ations?)? "
    r"suggest(?:s|ed|ions?)? advice ideas? tips should_i interested_in hobb(?:y|ies) lieblings\w* empfiehl\w* "
    r"empfehl\w* prefer\w* prefier\w* recommand\w* recomiend\w* recomend\w* gusta\w* любим\w* нрав\w* посовет\w*",
    "喜欢 喜歡 最爱 推荐 推薦 建议 好き おすすめ 좋아 추천 ชอบ แนะนำ",
)
_ORDERING = _says(
    r"first last latest earliest before after recent(?:ly)? previous(?:ly)? next order sequence chronological(?:ly)? "
    r"initial(?:ly)? finally originally eventually zuerst zuletzt premiere? derniere? primer[oa]? ultim[oa] сначала "
    r"после последн\w*",
    "最后 最後 首先 第一次 之前 之后 之後 最初 最近 처음 마지막",
)
_NEGATION = _says(
    r"not no never none nobody nothing without \w{2,8}n't cannot except other_than neither nicht kein\w* nie jamais "
    r"nunca jamas niet geen не нет никогда",
    "不 没 沒 ない ません 안 않 없 ไม่",
)
_OPENS_YES_NO = frozenset(
    [
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
    ]
)


@dataclass(frozen=True)
class Query:
    """A question, read."""

    text: str
    terms: tuple[str, ...]
    keys: NDArray[np.uint64]  # of the terms, in their order
    pairs: NDArray[np.uint64]  # keys of adjacent terms, one row of two each
    mentions: tuple[Mention, ...]
    capitals: tuple[str, ...]  # terms of words that are capitalised inside a sentence, each once
    wants_when: bool
    wants_who: bool
    wants_where: bool
    wants_which: bool
    wants_how_many: bool
    wants_preference: bool
    first_person: bool
    yes_no: bool
    ordering: bool  # first, last, before, after, latest
    negation: bool


def read(query: str, said_at: int | None = None) -> Query:
    """What a question asks for; `said_at` (seconds since 1970, UTC) tells what its "yesterday" is."""
    query = query[:LONGEST]
    terms = words.terms(query)
    keys = words.keys(terms)
    low = scripts.folded(scripts.settled(query))
    chunks = [names.look(raw) for raw in scripts.settled(query).split()]
    return Query(
        text=query,
        terms=tuple(terms),
        keys=keys,
        pairs=np.column_stack((keys[:-1], keys[1:])),
        mentions=tuple(mentions(query, said_at)),
        capitals=tuple(dict.fromkeys(_capitals(chunks))),
        wants_when=bool(_WHEN.search(low)),
        wants_who=bool(_WHO.search(low)),
        wants_where=bool(_WHERE.search(low)),
        wants_which=bool(_WHICH.search(low)),
        wants_how_many=bool(_HOW_MANY.search(low)),
        wants_preference=bool(_PREFERENCE.search(low)),
        first_person=bool(marks(query) & FIRST_PERSON),
        yes_no=bool(chunks) and chunks[0].core in _OPENS_YES_NO,
        ordering=bool(_ORDERING.search(low)),
        negation=bool(_NEGATION.search(low)),
    )


def _capitals(chunks: list[names.Chunk]) -> list[str]:
    """A word at the beginning of a sentence counts unless it is a common one."""
    found: list[str] = []
    begins = True
    for chunk in chunks:
        if chunk.capital and not (begins and chunk.common):
            found += words.terms(chunk.core)
        begins = chunk.stops
    return found
