"""Dates in a text as ISO features, each at its own precision: day, week, month, year.

Absolute forms stand for themselves; relative ones ("last Friday") are resolved against the time of saying, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import NamedTuple

_EPOCH = date(1970, 1, 1).toordinal()
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FOREIGN_MONTHS = (
    "januar janvier enero gennaio janeiro januari января январь",
    "februar fevrier février febrero febbraio fevereiro februari февраля февраль",
    "märz maerz mars marzo março maart марта март",
    "avril abril aprile апреля апрель",
    "mai mayo maggio maio mei мая май",
    "juni juin junio giugno junho июня июнь",
    "juli juillet julio luglio julho июля июль",
    "août aout agosto augustus августа август",
    "septembre septiembre settembre setembro сентября сентябрь",
    "oktober octobre octubre ottobre outubro октября октябрь",
    "novembre noviembre novembro ноября ноябрь",
    "dezember décembre decembre diciembre dicembre dezembro december декабря декабрь",
)
_MONTH = {name: n for n, name in enumerate(MONTHS, 1)}
_MONTH |= {name[:3]: n for n, name in enumerate(MONTHS, 1)} | {"sept": 9}
_MONTH |= {name: n for n, names in enumerate(_FOREIGN_MONTHS, 1) for name in names.split()}
_COUNT = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "couple": 2,
    "a couple of": 2,
    "couple of": 2,
}

# What a text must hold for a rule to be tried at all.
MONTH, WEEKDAY, UNIT, NEAR, DIGIT, SPELLED = 1, 2, 4, 8, 16, 32
_SIGNS = dict.fromkeys(_MONTH, MONTH) | dict.fromkeys(WEEKDAYS, WEEKDAY)
_SIGNS |= dict.fromkeys(("day", "days", "week", "weeks", "weekend", "month", "months", "year", "years"), UNIT)
_SIGNS |= dict.fromkeys(("today", "tonight", "yesterday", "tomorrow", "night", "morning", "afternoon", "evening"), NEAR)
# Numbers in letters: no rule of a date needs them by themselves.
NUMBERS = {
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
}
_SIGNS |= dict.fromkeys(NUMBERS, SPELLED)
_LETTERS = re.compile(r"[^\W\d_]+")

_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_ENGLISH = "|".join((*MONTHS, *(name[:3] for name in MONTHS), "sept"))
_DAYS = "|".join(WEEKDAYS)
_D = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_M = r"(?P<m>0?[1-9]|1[0-2])"
_Y = r"(?P<y>(?:19|20|21)\d\d)"
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_COUNT, key=len, reverse=True))})"
_UNIT = "(?P<u>day|week|month|year)s?"
_TURN = "(?P<t>last|past|previous|next|coming|this)"


class DateFeature(NamedTuple):
    """A date feature, and how specific it is: 0 the most."""

    rank: int
    feature: str


def _day(when: date) -> list[DateFeature]:
    return [DateFeature(0, when.isoformat()), DateFeature(2, when.isoformat()[:7])]


def _named_day(when: date) -> list[DateFeature]:
    """A day written out is also met by who names it without its year, or only its month."""
    return [*_day(when), DateFeature(4, when.isoformat()[5:]), DateFeature(4, MONTHS[when.month - 1])]


def _week(when: date) -> list[DateFeature]:
    year, week, _ = when.isocalendar()
    thursday = when + timedelta(3 - when.weekday())
    return [DateFeature(1, f"{year:04}-W{week:02}"), DateFeature(3, thursday.isoformat()[:7])]


def _month(year: int, month: int) -> list[DateFeature]:
    return [DateFeature(1, f"{date(year, month, 1).isoformat()[:7]}")]


def _shifted(when: date, months: int) -> tuple[int, int]:
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    return year, month + 1


def _nearest(said: date, month: int, day: int) -> list[DateFeature]:
    """A day without a year is the one nearest to the saying; the 29th of February may be years away."""
    near: list[date] = []
    for year in range(said.year - 4, said.year + 5):
        try:
            near.append(date(year, month, day))
        except ValueError:
            continue
    return _day(min(near, key=lambda one: abs(one - said))) if near else []


def _absolute(found: re.Match[str], said: date | None) -> list[DateFeature]:
    return _named_day(date(int(found["y"]), int(found["m"]), int(found["d"])))


def _either(found: re.Match[str], said: date | None) -> list[DateFeature]:
    """Day and month in doubtful order: both readings."""
    year, first, second = int(found["y"]), int(found["a"]), int(found["b"])
    readings: list[DateFeature] = []
    for month, day in dict.fromkeys(((first, second), (second, first))):
        try:
            readings += _day(date(year, month, day))
        except ValueError:
            continue
    return readings


def _written(found: re.Match[str], said: date | None) -> list[DateFeature]:
    """A month with a day, a year or both, in letters or where the script tells which number is which."""
    parts = found.groupdict()
    month, day, year = _MONTH[parts["name"]] if "name" in parts else int(parts["m"]), parts.get("d"), parts.get("y")
    if day is None:
        return [*_month(int(year or 0), month), DateFeature(4, MONTHS[month - 1])]
    if year is None:
        date(2000, month, int(day))  # the 31st of June is none
        resolved = _nearest(said, month, int(day)) if said else []
        return [DateFeature(1, f"{month:02}-{int(day):02}"), *resolved, DateFeature(4, MONTHS[month - 1])]
    return _named_day(date(int(year), month, int(day)))


def _year(found: re.Match[str], said: date | None) -> list[DateFeature]:
    return [DateFeature(3, found["y"])]


def _bare_month(found: re.Match[str], said: date | None) -> list[DateFeature]:
    return [DateFeature(4, MONTHS[_MONTH[found["name"]] - 1])]


def _weekday(found: re.Match[str], said: date | None) -> list[DateFeature]:
    return [DateFeature(5, found["w"])]


def _near_day(found: re.Match[str], said: date | None) -> list[DateFeature]:
    if said is None:
        return []
    shift = {"yest": -1, "last": -1, "tomo": 1}.get(found.group()[:4], 0)
    if found.group().startswith("the day"):
        shift = -2 if "before" in found.group() else 2
    return _day(said + timedelta(shift))


def _distance(found: re.Match[str], said: date | None) -> list[DateFeature]:
    """So many days, weeks, months or years ago or ahead."""
    if said is None:
        return []
    count = int(found["n"]) if found["n"].isdigit() else _COUNT[found["n"]]
    return _moved(said, found["u"], -count if found.group().endswith("ago") else count)


def _moved(said: date, unit: str, count: int) -> list[DateFeature]:
    if unit == "day":
        return _day(said + timedelta(count))
    if unit == "week":
        return _week(said + timedelta(7 * count))
    if unit == "month":
        return _month(*_shifted(said, count))
    return [DateFeature(3, f"{said.replace(year=said.year + count, day=1).year:04}")]


def _turned(found: re.Match[str], said: date | None) -> list[DateFeature]:
    """Last, this or next week, month, year, weekend, weekday or named month."""
    if said is None:
        return []
    turn, what = {"this": 0, "next": 1, "coming": 1}.get(found["t"], -1), found["what"]
    if what in ("week", "weekend"):
        return _week(said + timedelta(7 * turn))
    if what in ("month", "year"):
        return _moved(said, what, turn)
    if what in WEEKDAYS:
        ahead = WEEKDAYS.index(what) - said.weekday()
        if turn:
            ahead = ahead % 7 or 7 if turn > 0 else -(-ahead % 7 or 7)
        return _day(said + timedelta(ahead))
    month = _MONTH[what]
    passed = {0: 0, 1: month <= said.month, -1: -(month >= said.month)}[turn]
    return _month(said.year + passed, month)


Reading = Callable[[re.Match[str], date | None], list[DateFeature]]


class DateRule(NamedTuple):
    """How one form is read. Each sign of `needs` must be in the text; none of them is cheaper than trying."""

    needs: int
    pattern: re.Pattern[str]
    read: Reading


def _rule(needs: int, pattern: str, read: Reading) -> DateRule:
    return DateRule(needs, re.compile(rf"(?<![\w.]){pattern}(?!\w)"), read)


_TH = "(?:st|nd|rd|th)?"
_NAME = rf"(?P<name>{_NAMES})\.?"
# In order: what one rule has read, the next ones do not see.
_RULES = (
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년] ?{_M}[月월] ?{_D}[日일]"), _absolute),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년] ?{_M}[月월]"), _written),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_M}[月월] ?{_D}[日일]"), _written),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년]"), _year),
    _rule(DIGIT, rf"{_Y}[-/.]{_M}[-/.]{_D}(?:t[\d:.]+z?)?", _absolute),
    _rule(DIGIT, rf"{_D}\.{_M}\.{_Y}", _absolute),
    _rule(DIGIT, rf"(?P<a>\d\d?)[-/](?P<b>\d\d?)[-/]{_Y}", _either),
    _rule(DIGIT, rf"{_Y}-{_M}", _written),
    _rule(DIGIT | MONTH, rf"{_D}{_TH}(?: of| de|\.)?[ -]{_NAME}(?: de|,)?[ -]{_Y}", _written),
    _rule(DIGIT | MONTH, rf"{_NAME}[ -]{_D}{_TH},?[ -]{_Y}", _written),
    _rule(DIGIT | MONTH, rf"{_NAME}(?: of| de|,)?[ -]{_Y}", _written),
    _rule(DIGIT | MONTH, rf"{_D}{_TH}(?: of| de|\.)?[ -](?P<name>{_NAMES})", _written),
    _rule(DIGIT | MONTH, rf"(?P<name>{_ENGLISH})\.?[ -](?:the )?{_D}{_TH}", _written),
    _rule(DIGIT, rf"(?<![^\W\d]-){_Y}", _year),
    _rule(NEAR | UNIT, "the day (?:before yesterday|after tomorrow)", _near_day),
    _rule(NEAR, "(?:today|tonight|yesterday|tomorrow|last night|this (?:morning|afternoon|evening))", _near_day),
    _rule(UNIT, rf"{_N} {_UNIT} (?:ago|from now)", _distance),
    _rule(UNIT, rf"in {_N} {_UNIT}", _distance),
    _rule(UNIT, rf"{_TURN} (?P<what>weekend|week|month|year)", _turned),
    _rule(WEEKDAY, rf"{_TURN} (?P<what>{_DAYS})", _turned),
    _rule(MONTH, rf"{_TURN} (?P<what>{_ENGLISH})", _turned),
    _rule(WEEKDAY, rf"(?P<w>{_DAYS})", _weekday),
    _rule(MONTH, rf"(?P<name>{'|'.join(name for name in MONTHS if name not in ('may', 'march'))})", _bare_month),
    _rule(MONTH, "(?:in|of|by|since|until|during|early|late|mid|every) (?P<name>may|march)", _bare_month),
)


def said_on(said_at: int | None) -> date | None:
    """The day of a moment, or None where the calendar does not reach."""
    if said_at is None:
        return None
    ordinal = _EPOCH + said_at // 86_400
    return date.fromordinal(ordinal) if 1 <= ordinal <= date.max.toordinal() else None


def date_signs(word: str) -> int:
    """Which signs of a date or a number a lower-case word shows."""
    found = DIGIT if any(map(str.isdigit, word)) else 0
    for letters in _LETTERS.findall(word):
        found |= _SIGNS.get(letters, 0)
    return found


def find_dates(low: str, said_at: int | None, shown: int) -> tuple[list[DateFeature], str]:
    """Features of the dates in a lower-case text that shows these signs, and the text with what was read blanked."""
    said = said_on(said_at)
    found: list[DateFeature] = []
    for rule in _RULES:
        if not rule.needs & ~shown:
            low = rule.pattern.sub(partial(_blanked, rule.read, said, found), low)
    return found, low


def _blanked(read: Reading, said: date | None, found: list[DateFeature], match: re.Match[str]) -> str:
    try:
        found += read(match, said)
    except (ValueError, OverflowError):
        return match.group()  # the 31st of June, or past the end of the calendar
    return " " * len(match.group())
