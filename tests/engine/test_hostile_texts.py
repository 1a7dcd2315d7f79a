"""No text keeps the analysis busy: 64 kB of the worst patterns stay far below a second each."""

# ruff: noqa: RUF001  (letters of other scripts are meant)
from __future__ import annotations

import time

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


@pytest.mark.parametrize("pattern", PATTERNS, ids=[ascii(pattern) for pattern in PATTERNS])
def test_64_kilobytes_of_it_are_analysed_at_once(pattern):
    text = pattern * (SIZE // len(pattern.encode("utf-8", "surrogatepass")))
    for analyse in (words.tokens, words.terms, marks.mark_text, marks.find_title, question.read_question, _mentions):
        begun = time.process_time()
        analyse(text)
        assert time.process_time() - begun < 1


def _mentions(text: str) -> list[mentions.Mention]:
    return mentions.find_mentions(text, 0)


def test_one_endless_word_is_one_short_term():
    assert words.terms("x" * SIZE) == ["x" * words.LONGEST]


def test_a_chain_without_spaces_loses_none_of_its_words():
    chain = ".".join(f"word{number}x" for number in range(2000))
    assert {"word0x", "word1000x", "word1999x"} <= set(words.terms(chain))


def test_characters_that_stand_for_whole_sentences_do_not_blow_a_text_up():
    assert len(scripts.normalised("\ufdfa" * 1000)) < 3000
