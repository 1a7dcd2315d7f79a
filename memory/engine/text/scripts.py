"""Unicode scripts: normalisation, accents, and scripts that are written without spaces."""

# ruff: noqa: RUF001  (letters of other scripts are meant)
from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from memory.engine.text.stopwords import CHINESE_PARTICLES, CHINESE_QUESTIONS


def _character_class(numbers: list[int]) -> str:
    """Code points as the inside of a character class."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


# Vowel signs and accents: `\w` does not match them, so words of many scripts would be split at them.
_MARK_BLOCKS = (
    (0x300, 0x3100),
    (0xA660, 0xAC00),
    (0xFB1E, 0xFB1F),
    (0xFE20, 0xFE30),
    (0x10A00, 0x12000),
    (0x1E000, 0x1E950),
)
MARKS = _character_class(
    [n for first, end in _MARK_BLOCKS for n in range(first, end) if unicodedata.category(chr(n))[0] == "M"]
)
HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u309f\u30fc"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
# Thai, Lao, Burmese, Khmer.
SOUTH_EAST = "\u0e01-\u0e3a\u0e40-\u0e4f\u0e80-\u0eff\u1000-\u109f\u1780-\u17d3"

_UNSPACED = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}{HANGUL}{SOUTH_EAST}]")
_PARTICLE = f"[{CHINESE_PARTICLES}]|{'|'.join(CHINESE_QUESTIONS)}"
_RUNS = re.compile(
    f"(?P<particle>{_PARTICLE})|(?P<pairs>(?:(?!{_PARTICLE})[{HAN}])+|[{HIRAGANA}]+|[{KATAKANA}]+|[{HANGUL}]+)"
    f"|(?P<syllables>[{SOUTH_EAST}]+)|(?P<word>[^{HAN}{HIRAGANA}{KATAKANA}{HANGUL}{SOUTH_EAST}]+)"
)
_SYLLABLE = re.compile(f"[^{MARKS}][{MARKS}]{{0,4}}")

# More marks on one letter than any language has. `unicodedata` sorts a run of marks by insertion: without this a text
# of nothing but marks would take seconds.
_STACKED_MARKS = re.compile(f"([{MARKS}]{{4}})[{MARKS}]+")
_INVISIBLE = re.compile("[\u00ad\u0640\u180e\u200c-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_APOSTROPHES = re.compile("[\u2018\u2019\u201b\u02bc\u00b4\u2032\uff07]")

# Accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowels. Not those that make a letter of its own: й ў ї.
_ACCENTS = re.compile(
    "(?<![иу])\u0306|(?<!і)\u0308|[\u0300-\u0305\u0307\u0309-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652\u0670]"
)
# Letters that no decomposition takes apart.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ŧ": "t", "ς": "σ"}
)

# Snowball's language for a script that mostly writes one.
_LANGUAGES = (
    (0x0000, 0x024F, "english"),
    (0x1E00, 0x1EFF, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)


def normalised(text: str) -> str:
    """NFKC without invisible characters, in linear time for any text; every apostrophe is the straight one."""
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", _APOSTROPHES.sub("'", text))
    if not unicodedata.is_normalized("NFKC", text):
        # One character may become eighteen; a result of more than twice the length is no real text and is cut.
        text = unicodedata.normalize("NFKC", _STACKED_MARKS.sub(r"\1", text))[: 2 * len(text) + 64]
    return text


def folded(word: str) -> str:
    """The word for comparison: without case and accents, digits of any script in ASCII."""
    word = word.casefold()
    if word.isascii():
        return word
    if any(letter.isdecimal() and letter > "9" for letter in word):
        word = "".join(str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in word)
    word = unicodedata.normalize("NFD", _STACKED_MARKS.sub(r"\1", word))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", word)).translate(_PLAIN)


def unspaced(text: str) -> bool:
    """Whether the text has a character of a script without spaces between words."""
    return _UNSPACED.search(text) is not None


def pieces(text: str) -> list[tuple[str, bool]]:
    """Runs of one script each: words as they are (True), unspaced scripts as overlapping pairs (False).

    Chinese particles and question words are runs of their own, and kana and Han are separated, because words end there.
    """
    result: list[tuple[str, bool]] = []
    for match in _RUNS.finditer(text):
        run, kind = match.group(), match.lastgroup
        if kind == "pairs":
            result += [(pair, False) for pair in _overlapping_pairs(run)]
        elif kind == "syllables":
            result += [(pair, False) for pair in _overlapping_pairs(_SYLLABLE.findall(run))]
        else:
            result.append((run, kind == "word"))
    return result


def _overlapping_pairs(run: str | list[str]) -> list[str]:
    if len(run) < 2:
        return list(run)
    return [first + second for first, second in pairwise(run)]


def language(word: str) -> str | None:
    """The language whose stemmer fits the script of the word, if one does."""
    number = ord(word[0])
    for first, last, name in _LANGUAGES:
        if first <= number <= last:
            return name
    return None
