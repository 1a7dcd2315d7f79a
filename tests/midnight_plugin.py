"""Pytest plugin: every test once more with midnight falling at a chosen place in it.

    python -m pytest -p tests.midnight_plugin --turns 4 tests/accounts

The clock begins two seconds before midnight UTC, so that a second, a half minute (a step of sign-in codes), a minute,
an hour and a day turn at once. The first run of a test counts how often it reads the clock; the others let midnight
fall before a read spread over that count. A test that owns its clock notices nothing. Tests that start processes of
their own, whose clocks nobody moves, are left out, and of a test with many parameters two cases are run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from fluxcore import clock

PROCESSES = {"instance", "blank", "made", "running", "fleet", "workshop", "browser", "served"}  # fixtures
WITH_PROCESSES = ("tests/browser/", "tests/dashboard/test_live_sockets.py")
CASES = 2

_reads: dict[str, int] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--turns", type=int, default=4, help="places at which midnight falls, for each test")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.fixturenames.append("midnight")
    metafunc.parametrize("midnight", range(metafunc.config.getoption("--turns") + 1), indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    cases: dict[str, set[str]] = {}
    kept: dict[Any, None] = {}
    for item in items:
        case = _without_place(item)
        seen = cases.setdefault(item.nodeid.partition("[")[0], set())
        alone = not PROCESSES & set(item.fixturenames) and not item.nodeid.startswith(WITH_PROCESSES)
        if alone and (case in seen or len(seen) < CASES):
            seen.add(case)
            kept[item] = None
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _without_place(item: Any) -> str:
    parameters = {name: index for name, index in item.callspec.indices.items() if name != "midnight"}
    return f"{item.nodeid.partition('[')[0]} {parameters}"


@pytest.fixture(autouse=True)
def midnight(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    place, places = request.param, request.config.getoption("--turns")
    case = _without_place(request.node)
    turn = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    at = None
    if place:
        count = _reads.get(case, 0)
        if place > count:
            pytest.skip("it reads the clock less often")
        at = 1 + (place - 1) * count // min(count, places)
    reads = 0
    snapshots = sys.modules.get("tests.admin.snapshots")
    if snapshots is not None:  # of a house that was built after the last midnight, and so tomorrow
        monkeypatch.setattr(snapshots, "FRESH_SECONDS", 0)

    with time_machine.travel(turn - timedelta(seconds=2)) as traveller:

        def counted(read: Any) -> Any:
            def reading() -> Any:
                nonlocal reads
                reads += 1
                if reads == at and datetime.now(UTC) < turn:
                    traveller.move_to(turn + timedelta(milliseconds=1))
                return read()

            return reading

        monkeypatch.setattr(time, "time", counted(time.time))
        monkeypatch.setattr(clock, "now", counted(clock.now))
        monkeypatch.setattr(timezone, "now", counted(timezone.now))
        yield
    if not place:
        _reads[case] = reads
