"""No text keeps the analysis busy: 64 kB of the worst patterns stay far below a second each."""

# ruff: noqa: RUF001  (letters of other scripts are meant)
from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memory.engine.text import marks, mentions, question, scripts, words

SIZE = 65_536  # bytes
PATTERNS = [
    "a",
    "A",
    "1",
    " ",
    "\n",
    ".",
    "_",
    "(",
    '"',
    "“",
    "@",
    "a.",
    "a-",
    "a'",
    "l'",
    "n't",
    "aB",
    "1,",
    "1,000,",
    "1-",
    "1/",
    "1:",
    "a@",
    "a.b@",
    "a_",
    "a_b.",
    "http://a",
    "A ",
    "A. ",
    "A of ",
    "in a ",
    "may ",
    "May 8 ",
    "2023-",
    "(555) ",
    "+1",
    "a-1-",
    "never ",
    "- x\n",
    "-\n",
    "{\n",
    "\n        ",
    "a: b",
    "\u0301\u0316",
    "a\u0301\u0316\u0327\u0345",
    "我",
    "猫",
    "什",
    "あ",
    "タ",
    "각",
    "\u1100\u1161\u11a8",
    "กิ่",
    "\u0e33",
    "हि",
    "१",
    "\ufdfa",
    "1\ufdfa",
    "\u200d",
    "\0",
    "\ud800",
    "👩\u200d👧",
    "🇩",
    "İ",
    "ß",
    "𝓗",
]


ORDINARY = "Anna drove the old car to Lisbon on 3 May 2024, because her sister's train was late. "


@pytest.fixture(scope="module")
def ordinary() -> float:
    """Processor time that a question of as many bytes of plain sentences takes on this machine."""
    return _cost(question.read_question, ORDINARY * (SIZE // len(ORDINARY)))


def _cost(analyse: Callable[[str], object], text: str) -> float:
    """The least of three: what else the machine does can only add to it."""
    spent = []
    for _ in range(3):
        begun = time.process_time()
        analyse(text)
        spent.append(time.process_time() - begun)
    return min(spent)


@pytest.mark.proof
@pytest.mark.parametrize("pattern", PATTERNS, ids=[ascii(pattern) for pattern in PATTERNS])
def test_64_kilobytes_of_it_cost_little_more_than_plain_sentences(pattern, ordinary):
    text = pattern * (SIZE // len(pattern.encode("utf-8", "surrogatepass")))
    for analyse in (words.tokens, words.terms, marks.mark_text, marks.find_title, question.read_question, _mentions):
        assert _cost(analyse, text) < 50 * ordinary, analyse  # six times at most, where none is worse than linear


def _mentions(text: str) -> list[mentions.Mention]:
    return mentions.find_mentions(text, 0)


def test_one_endless_word_is_one_short_term():
    assert words.terms("x" * SIZE) == ["x" * words.LONGEST]


def test_a_chain_without_spaces_loses_none_of_its_words():
    chain = ".".join(f"word{number}x" for number in range(2000))
    assert {"word0x", "word1000x", "word1999x"} <= set(words.terms(chain))


def test_characters_that_stand_for_whole_sentences_do_not_blow_a_text_up():
    assert len(scripts.normalised("\ufdfa" * 1000)) < 3000
