"""Tables of the shell fit a terminal of 80 columns, and no word in them is broken"""

from __future__ import annotations

import os

import pytest
from rich.console import Console
from rich.text import Text

from fluxcore import command_names
from memory.management import tables

SHOWN = [
    "flux_token",
    "flux_agent",
    "flux_agent show assistant",
    "flux_space",
    "flux_grant",
    "flux_audit tail",
    "flux_audit verify",
    "flux_jobs list",
    "flux_jobs schedule",
    "flux_admin list",
    "flux_kv list assistant --values",
    "flux_board boards",
    "flux_board locks",
    "flux_health",
    "flux_status",
    "flux_learning list",
    "flux_agent tools assistant",
]


@pytest.fixture
def filled(run):
    """A little of everything, with names and texts of some length."""
    for line in (
        "flux_space create main",
        "flux_agent create assistant",
        "flux_agent create research-assistant-of-the-night --parent assistant",
        "flux_token mint assistant --days 30",
        "flux_token mint research-assistant-of-the-night",
        "flux_grant give assistant metrics.read --hours 8",
        "flux_store Anna-prefers-the-night-train",
        'flux_kv write assistant notes/a-key-of-some-length {"text":[1,2,3]}',
    ):
        assert run(*line.split()).status == 0, line
    return run


def test_tables_fit_eighty_columns(filled, monkeypatch):
    # As for the usual instance: a name of its own makes the commands in the texts below a table longer.
    monkeypatch.setattr(command_names, "USUAL_NAME", os.environ.get("FLUX_NAME"))
    for command in SHOWN:
        monkeypatch.setenv("COLUMNS", "400")
        wide = filled(*command.split())
        monkeypatch.setenv("COLUMNS", "80")
        narrow = filled(*command.split())
        assert (wide.status, narrow.status) == (0, 0), narrow.text
        assert set(narrow.text.split()) <= set(wide.text.split()), f"{command} breaks a word"
        # A word that is longer than half a line may stick out; it is not broken.
        lines = [line.rstrip() for line in narrow.text.splitlines()]
        assert [line for line in lines if len(line) > 80 and len(line.split()[-1]) < 40] == [], command


def shown(columns, *rows, width=80) -> str:
    console = Console(width=width, highlight=False, soft_wrap=True)
    with console.capture() as said:
        tables.print_table(console, columns, [[Text(cell) for cell in row] for row in rows])
    return said.get()


def test_a_long_text_wraps_between_its_words():
    said = shown(("name", "text"), ("a", "word " * 40), ("b", "short"))
    assert all(len(line) <= 80 for line in said.splitlines())
    assert set(said.split()) == {"name", "text", "a", "b", "word", "short"}


def test_columns_that_hold_nothing_give_their_room_away():
    row = ("x" * 30, "", "y" * 40)
    assert shown(("one", "a-column-that-is-empty", "two"), row).split() == ["one", "two", row[0], row[2]]


def test_what_is_too_wide_for_columns_is_shown_field_by_field():
    said = shown(("one", "two", "three"), ("x" * 50, "", "y" * 60), ("a", "b", "c"))
    assert said.splitlines() == [
        f"one    {'x' * 50}",
        f"three  {'y' * 60}",
        "",
        "one    a",
        "two    b",
        "three  c",
    ]


def test_a_word_longer_than_the_line_stays_whole():
    said = shown(("", ""), ("path", "see " + "/long" * 30))
    assert "/long" * 30 in said
