"""Numbers in a text: with the word of what they count, as amounts of money, as phone numbers and ids."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from memory.engine.text import dates, words
from memory.engine.text.stopwords import STOP

# Rank of a number by how specific it is; `find_mentions` keeps the lowest ranks.
AMOUNT, BARE = 3, 7

_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee", "%": "percent"}
_UNITS = {
    "usd": "dollar",
    "eur": "euro",
    "gbp": "pound",
    "bucks": "dollar",
    "kilometers": "km",
    "kilometres": "km",
    "kilometer": "km",
    "kilometre": "km",
    "kilograms": "kg",
    "kilos": "kg",
    "kgs": "kg",
    "meters": "meter",
    "metres": "meter",
    "metre": "meter",
    "mins": "minute",
    "min": "minute",
    "hrs": "hour",
    "hr": "hour",
    "secs": "second",
    "sec": "second",
    "yrs": "year",
    "lbs": "pound",
    "children": "child",
    "people": "person",
    "men": "man",
    "women": "woman",
    "feet": "foot",
}
_TENS = {"k": 3, "m": 6, "mn": 6, "bn": 9}

_CLOCK = re.compile(
    r"(?<![\w.])\d{1,2}(?:[:.]\d\d(?::\d\d)?)? ?(?:am|pm|a\.m\.|p\.m\.|uhr)(?!\w)"
    r"|(?<![\w.])\d{1,2}:\d\d(?::\d\d)?(?!\w)"
)
_PHONE = re.compile(
    r"(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\) ?|\d{2,5}[ .-])\d{3,4}[ .-]?\d{3,4}(?![\w.]|,\d)"
    r"|(?<!\w)\+\d{7,15}(?!\w)"
)
_IDENTITY = re.compile(r"(?<![\w.@/-])[a-z\d]{1,20}(?:-[a-z\d]{1,20}){0,5}(?![\w@/-]|\.\w)")
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<before>[$€£¥₹] ?)?(?P<digits>\d+(?:[.,']\d+)*)(?P<tens>(?:k|mn?|bn)(?!\w))?"
    r"(?: ?(?P<after>[€£$¥₹%])|[ -]?(?P<unit>[^\W\d_]{1,20})(?!\w))?"
)
_IN_LETTERS = re.compile(rf"(?<!\w)(?P<digits>{'|'.join(dates.NUMBERS)}) (?P<unit>[^\W\d_]{{2,20}})(?!\w)")


def find_amounts(low: str, shown: int) -> list[tuple[int, str]]:
    """Numbers of a lower-case text whose dates are blanked, with their rank. Times of day are left out."""
    found: list[tuple[int, str]] = []
    if shown & dates.DIGIT:
        low = _CLOCK.sub(" ", low)
        low = _PHONE.sub(lambda match: _collect_phone(match, found), low)
        low = _IDENTITY.sub(lambda match: _collect_identifier(match, found), low)
        found += [amount for match in _NUMBER.finditer(low) if (amount := _read_amount(match))]
    for match in _IN_LETTERS.finditer(low) if shown & dates.SPELLED else ():
        unit = _singular_unit(match["unit"])
        if unit:
            found.append((AMOUNT, f"{dates.NUMBERS[match['digits']]} {unit}"))
    return found


def _collect_phone(match: re.Match[str], found: list[tuple[int, str]]) -> str:
    digits = "".join(filter(str.isdigit, match.group()))
    if not 7 <= len(digits) <= 15:
        return match.group()
    found.append((AMOUNT, digits))
    return " "


def _collect_identifier(match: re.Match[str], found: list[tuple[int, str]]) -> str:
    """Collect an identifier of letters and digits, too long for a number with a unit: "INV-2023-001", not "3km"."""
    written = match.group()
    letters, digits = sum(map(str.isalpha, written)), sum(map(str.isdigit, written))
    is_unit = written[0].isdigit() and written.isalnum() and letters < 3
    if not letters or not digits or len(written) < 4 or is_unit or _NUMBER.fullmatch(written):
        return written
    found.append((AMOUNT, written))
    return " "


def _read_amount(match: re.Match[str]) -> tuple[int, str] | None:
    digits = words.number(match["digits"])[:32]
    if match["tens"]:
        digits = _scale(digits, _TENS[match["tens"]])
    if digits.count(".") > 1:  # a version or an address
        return AMOUNT, digits
    sign = (match["before"] or match["after"] or "").strip()
    unit = _CURRENCY[sign] if sign else _singular_unit(match["unit"] or "")
    if unit:
        return AMOUNT, f"{digits} {unit}"
    return (BARE, digits) if len(digits) > 1 else None


def _scale(digits: str, zeros: int) -> str:
    try:
        return f"{(Decimal(digits).scaleb(zeros)).normalize():f}"
    except InvalidOperation:
        return digits


def _singular_unit(word: str) -> str:
    """The counted word in the singular; "" for a stop word or a verb form."""
    if word in STOP or word.endswith(("ed", "ing", "ly")):
        return ""
    if word in _UNITS:
        return _UNITS[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us")) and len(word) > 3:
        return word[:-1]
    return word
