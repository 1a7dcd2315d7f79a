"""Dates of a text as features, at the edges of months, years and leap years."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.text.mentions import find_mentions


def seconds(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T13:56:00").replace(tzinfo=UTC).timestamp())


def dated(text: str, said: str | None = "2023-05-08") -> list[str]:
    """Features of the dates; 2023-05-08 was a Monday."""
    return [one.feature for one in find_mentions(text, seconds(said) if said else None) if one.kind == "date"]


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08",
        "on 2023-05-08T10:00:00Z",
        "2023/05/08",
        "8 May 2023",
        "8th of May 2023",
        "May 8, 2023",
        "May 8th, 2023",
        "8 may, 2023",
        "May-08-2023",
        "08.05.2023",
        "8. Mai 2023",
        "le 8 mai 2023",
        "8 de mayo de 2023",
        "8 мая 2023",
        "2023年5月8日",
        "2023년 5월 8일",
        "1:56 pm on 8 May, 2023",
    ],
)
def test_a_day_that_is_written_out_is_that_day_and_its_month(text):
    assert dated(text, None) == ["2023-05-08", "2023-05", "05-08", "may"]


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("05/08/2023", ["2023-05-08", "2023-08-05", "2023-05", "2023-08"]),  # both readings
        ("13/05/2023", ["2023-05-13", "2023-05"]),  # only one is possible
        ("05/05/2023", ["2023-05-05", "2023-05"]),
        ("March-15-2024", ["2024-03-15", "2024-03", "03-15", "march"]),
        ("29 February 2024", ["2024-02-29", "2024-02", "02-29", "february"]),
        ("May 2023", ["2023-05", "may"]),
        ("2023-05", ["2023-05", "may"]),
        ("in 1999", ["1999"]),
        ("in June", ["june"]),
        ("in May", ["may"]),
        ("you may go", []),
        ("on Friday", ["friday"]),
        ("May 8th", ["05-08", "may"]),
        ("at 10:30 or 5 pm", []),
        ("yesterday, last week, two months ago, next Friday, this morning, last year", []),  # nobody knows when
    ],
)
def test_without_the_time_of_saying_only_what_stands_by_itself_is_read(text, features):
    assert dated(text, None) == features


@pytest.mark.parametrize(
    "text", ["31 June 2023", "29 February 2023", "29/02/2023", "00/00/2023", "2023-13-45", "June 31st"]
)
def test_a_day_that_does_not_exist_is_no_date(text):
    assert [feature for feature in dated(text) if len(feature) == 10] == []


@pytest.mark.parametrize(
    ("text", "said", "features"),
    [
        ("yesterday", "2023-05-08", ["2023-05-07", "2023-05"]),
        ("yesterday", "2024-03-01", ["2024-02-29", "2024-02"]),
        ("yesterday", "2023-03-01", ["2023-02-28", "2023-02"]),
        ("last night", "2023-01-01", ["2022-12-31", "2022-12"]),
        ("this morning", "2023-05-08", ["2023-05-08", "2023-05"]),
        ("Tomorrow!", "2023-12-31", ["2024-01-01", "2024-01"]),
        ("the day before yesterday", "2023-05-08", ["2023-05-06", "2023-05"]),
        ("the day after tomorrow", "2023-05-08", ["2023-05-10", "2023-05"]),
        ("3 days ago", "2024-03-02", ["2024-02-28", "2024-02"]),
        ("a couple of days ago", "2023-05-08", ["2023-05-06", "2023-05"]),
        ("in ten days", "2023-12-25", ["2024-01-04", "2024-01"]),
        ("last week", "2023-05-08", ["2023-W18", "2023-05"]),
        ("last week", "2023-02-06", ["2023-W05", "2023-02"]),  # from January into February: where its Thursday is
        ("last week", "2021-01-04", ["2020-W53", "2020-12"]),
        ("next week", "2020-12-28", ["2021-W01", "2021-01"]),
        ("two weeks ago", "2023-05-08", ["2023-W17", "2023-04"]),
        ("last weekend", "2023-05-08", ["2023-W18", "2023-05"]),
        ("two months ago", "2023-01-31", ["2022-11"]),
        ("last month", "2024-03-31", ["2024-02"]),
        ("next month", "2023-12-15", ["2024-01"]),
        ("last year", "2024-02-29", ["2023"]),
        ("three years ago", "2023-05-08", ["2020"]),
        ("next Friday", "2023-05-08", ["2023-05-12", "2023-05"]),
        ("next Monday", "2023-05-08", ["2023-05-15", "2023-05"]),
        ("last Monday", "2023-05-08", ["2023-05-01", "2023-05"]),
        ("last Sunday", "2023-05-08", ["2023-05-07", "2023-05"]),
        ("this Friday", "2023-05-10", ["2023-05-12", "2023-05"]),
        ("last June", "2023-05-08", ["2022-06"]),
        ("last May", "2023-05-08", ["2022-05"]),
        ("next March", "2023-05-08", ["2024-03"]),
        ("next May", "2023-05-08", ["2024-05"]),
        ("this May", "2023-05-08", ["2023-05"]),
        ("on May 10th", "2023-05-08", ["2023-05-10", "05-10", "2023-05", "may"]),
        ("on December 30th", "2023-01-02", ["2022-12-30", "12-30", "2022-12", "december"]),
        ("on February 29th", "2023-05-08", ["2024-02-29", "02-29", "2024-02", "february"]),
        ("5月8日", "2023-05-08", ["2023-05-08", "05-08", "2023-05", "may"]),
    ],
)
def test_a_relative_date_is_resolved_against_the_time_of_saying(text, said, features):
    assert dated(text, said) == features


@pytest.mark.parametrize(
    ("said_at", "day"),
    [
        (1683504000, "2023-05-08"),
        (1683590399, "2023-05-08"),
        (1683590400, "2023-05-09"),
        (-1, "1969-12-31"),
        (0, "1970-01-01"),
    ],
)
def test_a_day_begins_and_ends_at_midnight_utc(said_at, day):
    assert find_mentions("today", said_at)[0].feature == day


def test_a_question_for_the_month_meets_what_happened_on_a_day_of_it():
    grain = dated("I ran a marathon yesterday", "2023-05-08")
    assert set(dated("What happened in May 2023?", None)) & set(grain)


@given(st.integers(-(2**62), 2**62))
@settings(max_examples=100)
def test_any_time_of_saying_is_taken(said_at):
    text = "yesterday, tomorrow, last week, next year, 999 years ago, in 12 months, last Friday, on May 8th"
    assert find_mentions(text, said_at) == find_mentions(text, said_at)


@given(st.dates(date(1900, 1, 1), date(2199, 12, 31)))
def test_every_day_of_the_calendar_is_read_in_three_forms(day):
    features = [
        [one.feature for one in find_mentions(text, None)]
        for text in (day.isoformat(), f"{day.day} {day:%B} {day.year}", f"{day:%B} {day.day}, {day.year}")
    ]
    assert all(found[:2] == [day.isoformat(), day.isoformat()[:7]] for found in features)
