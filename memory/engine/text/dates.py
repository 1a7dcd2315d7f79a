"""Dates in a text as ISO features, each at its own precision: day, week, month, year.

Relative dates ("last Friday") are resolved against the time at which the text was said, in UTC.
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

# Signs of dates and numbers in a text; a rule is tried only if the text shows all signs it needs.
MONTH, WEEKDAY, UNIT, NEAR, DIGIT, SPELLED = 1, 2, 4, 8, 16, 32
_SIGNS = dict.fromkeys(_MONTH, MONTH) | dict.fromkeys(WEEKDAYS, WEEKDAY)
_SIGNS |= dict.fromkeys(("day", "days", "week", "weeks", "weekend", "month", "months", "year", "years"), UNIT)
_SIGNS |= dict.fromkeys(("today", "tonight", "yesterday", "tomorrow", "night", "morning", "afternoon", "evening"), NEAR)
# Numbers in letters. Their sign SPELLED is needed by amounts only, by no rule of dates.
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
_DIRECTION = "(?P<t>last|past|previous|next|coming|this)"


class DateFeature(NamedTuple):
    """A date at its precision (2023-05-08, 2023-W19, 2023-05, may), and its rank: 0 is the most specific."""

    rank: int
    feature: str


def _day_features(when: date) -> list[DateFeature]:
    return [DateFeature(0, when.isoformat()), DateFeature(2, when.isoformat()[:7])]


def _full_day_features(when: date) -> list[DateFeature]:
    """Features of a day with its year: also the day without the year, and the month alone, so that those match too."""
    return [*_day_features(when), DateFeature(4, when.isoformat()[5:]), DateFeature(4, MONTHS[when.month - 1])]


def _week_features(when: date) -> list[DateFeature]:
    year, week, _ = when.isocalendar()
    thursday = when + timedelta(3 - when.weekday())
    return [DateFeature(1, f"{year:04}-W{week:02}"), DateFeature(3, thursday.isoformat()[:7])]


def _month_features(year: int, month: int) -> list[DateFeature]:
    return [DateFeature(1, f"{date(year, month, 1).isoformat()[:7]}")]


def _shift_months(when: date, months: int) -> tuple[int, int]:
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    return year, month + 1


def _nearest_day(said_day: date, month: int, day: int) -> list[DateFeature]:
    """A day without a year: the one nearest to the day of saying; the 29th of February may be years away."""
    near: list[date] = []
    for year in range(said_day.year - 4, said_day.year + 5):
        try:
            near.append(date(year, month, day))
        except ValueError:
            continue
    return _day_features(min(near, key=lambda candidate: abs(candidate - said_day))) if near else []


def _absolute(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    return _full_day_features(date(int(match["y"]), int(match["m"]), int(match["d"])))


def _ambiguous(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    """Day and month in ambiguous order: both readings."""
    year, first, second = int(match["y"]), int(match["a"]), int(match["b"])
    readings: list[DateFeature] = []
    for month, day in dict.fromkeys(((first, second), (second, first))):
        try:
            readings += _day_features(date(year, month, day))
        except ValueError:
            continue
    return readings


def _month_with_day_or_year(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    """A month with a day, a year or both, in letters or in a script that marks which number is which."""
    parts = match.groupdict()
    month, day, year = _MONTH[parts["name"]] if "name" in parts else int(parts["m"]), parts.get("d"), parts.get("y")
    if day is None:
        return [*_month_features(int(year or 0), month), DateFeature(4, MONTHS[month - 1])]
    if year is None:
        date(2000, month, int(day))  # raises ValueError for the 31st of June
        resolved = _nearest_day(said_day, month, int(day)) if said_day else []
        return [DateFeature(1, f"{month:02}-{int(day):02}"), *resolved, DateFeature(4, MONTHS[month - 1])]
    return _full_day_features(date(int(year), month, int(day)))


def _year(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    return [DateFeature(3, match["y"])]


def _bare_month(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    return [DateFeature(4, MONTHS[_MONTH[match["name"]] - 1])]


def _weekday(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    return [DateFeature(5, match["w"])]


def _relative_day(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    if said_day is None:
        return []
    shift = {"yest": -1, "last": -1, "tomo": 1}.get(match.group()[:4], 0)
    if match.group().startswith("the day"):
        shift = -2 if "before" in match.group() else 2
    return _day_features(said_day + timedelta(shift))


def _ago_or_ahead(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    """A number of days, weeks, months or years ago or ahead."""
    if said_day is None:
        return []
    count = int(match["n"]) if match["n"].isdigit() else _COUNT[match["n"]]
    return _shift(said_day, match["u"], -count if match.group().endswith("ago") else count)


def _shift(said_day: date, unit: str, count: int) -> list[DateFeature]:
    if unit == "day":
        return _day_features(said_day + timedelta(count))
    if unit == "week":
        return _week_features(said_day + timedelta(7 * count))
    if unit == "month":
        return _month_features(*_shift_months(said_day, count))
    return [DateFeature(3, f"{said_day.replace(year=said_day.year + count, day=1).year:04}")]


def _relative_period(match: re.Match[str], said_day: date | None) -> list[DateFeature]:
    """Last, this or next week, month, year, weekend, weekday or named month."""
    if said_day is None:
        return []
    direction, what = {"this": 0, "next": 1, "coming": 1}.get(match["t"], -1), match["what"]
    if what in ("week", "weekend"):
        return _week_features(said_day + timedelta(7 * direction))
    if what in ("month", "year"):
        return _shift(said_day, what, direction)
    if what in WEEKDAYS:
        days = WEEKDAYS.index(what) - said_day.weekday()
        if direction:
            days = days % 7 or 7 if direction > 0 else -(-days % 7 or 7)
        return _day_features(said_day + timedelta(days))
    month = _MONTH[what]
    years = {0: 0, 1: month <= said_day.month, -1: -(month >= said_day.month)}[direction]
    return _month_features(said_day.year + years, month)


Reading = Callable[[re.Match[str], date | None], list[DateFeature]]


class DateRule(NamedTuple):
    """Pattern and reader of one written form. A rule is tried only if the text shows all signs of `needs`."""

    needs: int
    pattern: re.Pattern[str]
    read: Reading


def _rule(needs: int, pattern: str, read: Reading) -> DateRule:
    return DateRule(needs, re.compile(rf"(?<![\w.]){pattern}(?!\w)"), read)


_TH = "(?:st|nd|rd|th)?"
_NAME = rf"(?P<name>{_NAMES})\.?"
# Tried in order: text that one rule has matched is blanked for the rules after it.
_RULES = (
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년] ?{_M}[月월] ?{_D}[日일]"), _absolute),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년] ?{_M}[月월]"), _month_with_day_or_year),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_M}[月월] ?{_D}[日일]"), _month_with_day_or_year),
    DateRule(DIGIT, re.compile(rf"(?<!\d){_Y}[年년]"), _year),
    _rule(DIGIT, rf"{_Y}[-/.]{_M}[-/.]{_D}(?:t[\d:.]+z?)?", _absolute),
    _rule(DIGIT, rf"{_D}\.{_M}\.{_Y}", _absolute),
    _rule(DIGIT, rf"(?P<a>\d\d?)[-/](?P<b>\d\d?)[-/]{_Y}", _ambiguous),
    _rule(DIGIT, rf"{_Y}-{_M}", _month_with_day_or_year),
    _rule(DIGIT | MONTH, rf"{_D}{_TH}(?: of| de|\.)?[ -]{_NAME}(?: de|,)?[ -]{_Y}", _month_with_day_or_year),
    _rule(DIGIT | MONTH, rf"{_NAME}[ -]{_D}{_TH},?[ -]{_Y}", _month_with_day_or_year),
    _rule(DIGIT | MONTH, rf"{_NAME}(?: of| de|,)?[ -]{_Y}", _month_with_day_or_year),
    _rule(DIGIT | MONTH, rf"{_D}{_TH}(?: of| de|\.)?[ -](?P<name>{_NAMES})", _month_with_day_or_year),
    _rule(DIGIT | MONTH, rf"(?P<name>{_ENGLISH})\.?[ -](?:the )?{_D}{_TH}", _month_with_day_or_year),
    _rule(DIGIT, rf"(?<![^\W\d]-){_Y}", _year),
    _rule(NEAR | UNIT, "the day (?:before yesterday|after tomorrow)", _relative_day),
    _rule(NEAR, "(?:today|tonight|yesterday|tomorrow|last night|this (?:morning|afternoon|evening))", _relative_day),
    _rule(UNIT, rf"{_N} {_UNIT} (?:ago|from now)", _ago_or_ahead),
    _rule(UNIT, rf"in {_N} {_UNIT}", _ago_or_ahead),
    _rule(UNIT, rf"{_DIRECTION} (?P<what>weekend|week|month|year)", _relative_period),
    _rule(WEEKDAY, rf"{_DIRECTION} (?P<what>{_DAYS})", _relative_period),
    _rule(MONTH, rf"{_DIRECTION} (?P<what>{_ENGLISH})", _relative_period),
    _rule(WEEKDAY, rf"(?P<w>{_DAYS})", _weekday),
    _rule(MONTH, rf"(?P<name>{'|'.join(name for name in MONTHS if name not in ('may', 'march'))})", _bare_month),
    _rule(MONTH, "(?:in|of|by|since|until|during|early|late|mid|every) (?P<name>may|march)", _bare_month),
)


def said_on(said_at: int | None) -> date | None:
    """The day of a time in seconds since 1970; None if `date` cannot represent it."""
    if said_at is None:
        return None
    ordinal = _EPOCH + said_at // 86_400
    return date.fromordinal(ordinal) if 1 <= ordinal <= date.max.toordinal() else None


def date_signs(word: str) -> int:
    """Signs of dates and numbers that a lower-case word shows."""
    signs = DIGIT if any(map(str.isdigit, word)) else 0
    for letters in _LETTERS.findall(word):
        signs |= _SIGNS.get(letters, 0)
    return signs


def find_dates(low: str, said_at: int | None, shown: int) -> tuple[list[DateFeature], str]:
    """Features of the dates in a lower-case text that shows these signs, and the text with those dates blanked."""
    said_day = said_on(said_at)
    found: list[DateFeature] = []
    for rule in _RULES:
        if not rule.needs & ~shown:
            low = rule.pattern.sub(partial(_read_and_blank, rule.read, said_day, found), low)
    return found, low


def _read_and_blank(read: Reading, said_day: date | None, found: list[DateFeature], match: re.Match[str]) -> str:
    try:
        found += read(match, said_day)
    except (ValueError, OverflowError):
        return match.group()  # the 31st of June, or past the end of the calendar
    return " " * len(match.group())
