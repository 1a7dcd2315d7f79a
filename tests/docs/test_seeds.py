"""docs/seeds.md: what it says is here, is here."""

from __future__ import annotations

import importlib
import re

import pytest
from django.urls import resolve

from flux import cli
from fluxcore import config
from mcp_bridge import registry
from memory.api.urls import CALLS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "seeds.md").read_text()
ROUTES = {re.sub(r"<str:\w+>", "{id}", re.sub(r"<(?:path|text):(\w+)>", r"{\1}", f"/{route}")) for route, _ in CALLS}


def rows() -> list[tuple[str, str]]:
    found = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    assert all(len(row) == 2 for row in found), "a row has two cells"
    return [(line.strip(), here.strip()) for line, here in found if line.strip() != "line"]


NAMES = sorted({name for _, here in rows() for name in re.findall(r"`([^`]+)`", here)})


def test_every_line_says_where_it_is_or_why_not() -> None:
    assert len(rows()) > 60
    assert [line for line, here in rows() if len(here) < 5] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_said_to_be_here_is_here(name: str) -> None:
    if re.fullmatch(r"(GET|POST|PUT|DELETE) /\S*", name):
        assert name.split()[1] in ROUTES
    elif name.startswith("/"):
        assert resolve(name, urlconf="dashboard.urls")
    elif name.startswith("flux_"):
        assert registry.find_tool(name) is not None or name == "flux_extracts"
    elif name.startswith("flux "):
        assert cli._short(name.split()[1]) in cli.commands()
    elif re.fullmatch(r"(flux|memory)(\.\w+)+", name) and not name.startswith("memory.write"):
        assert found(name) is not None
    elif re.fullmatch(r"[A-Z][A-Z_]{5,}", name):
        assert name in config.FIELDS or name.startswith("FLUX_")


def found(name: str) -> object:
    """A module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    return None


def test_the_programs_written_from_the_seeds_are_there() -> None:
    assert list((ROOT / "tests" / "seed_programs").glob("test_*.py"))
