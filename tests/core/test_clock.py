"""Clock: UTC when stored, RFC 3339 with an offset in requests, naive times refused."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxcore import clock
from fluxcore.errors import Invalid
from tests.instances import ROOT


def test_now_is_aware_of_its_zone():
    assert clock.now().tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-16T04:30:00Z", "2026-11-16T04:30:00.000000Z"),
        ("2026-11-16t04:30:00z", "2026-11-16T04:30:00.000000Z"),
        ("2026-11-16 04:30:00+00:00", "2026-11-16T04:30:00.000000Z"),
        ("2026-11-16T04:30:00.5+02:00", "2026-11-16T02:30:00.500000Z"),
        ("2024-02-29T23:59:59.123456-11:30", "2024-03-01T11:29:59.123456Z"),
        ("2038-01-19T03:14:08Z", "2038-01-19T03:14:08.000000Z"),
    ],
)
def test_a_time_with_an_offset_is_converted_to_utc(text, meant):
    assert clock.rfc3339(clock.parse(text)) == meant


@pytest.mark.parametrize("text", ["2026-11-16T04:30:00", "2026-11-16 04:30:00.25"])
def test_a_naive_time_is_refused(text):
    with pytest.raises(Invalid, match="needs an offset"):
        clock.parse(text, name="since")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-16",
        "20261116T043000Z",
        "2026-W47-1T00:00:00Z",
        "2026-11-16T04:30Z",
        "1763267400",
        "2026-02-30T00:00:00Z",
        "2026-11-16T24:01:00Z",
        "2026-11-16T04:30:60Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "\uff12\uff10\uff12\uff16-11-16T04:30:00Z",
        "2026-11-16T04:30:00Z\n",
        "2026-11-16T04:30:00+0100",
        None,
        5,
        ["2026-11-16T04:30:00Z"],
    ],
)
def test_anything_else_is_refused_by_its_name(text):
    with pytest.raises(Invalid) as refusal:
        clock.parse(text, name="since")
    assert refusal.value.details == {"field": "since"}
    assert refusal.value.message.startswith("since:")


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.just(UTC)))
def test_a_time_is_the_same_after_formatting_and_parsing(moment):
    assert clock.parse(clock.rfc3339(moment)) == moment


def test_text_from_a_raw_query_is_utc():
    assert clock.rfc3339("2026-11-16 04:30:00.000001") == "2026-11-16T04:30:00.000001Z"
    assert clock.rfc3339(None) is None


def test_the_steady_clock_only_grows_and_is_the_machines():
    first = clock.steady()
    code = "from fluxcore import clock; print(clock.steady(), clock.boot())"
    other, boot = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert first <= float(other) <= clock.steady()
    assert boot == clock.boot()


READS = re.compile(
    r"\btime\.(time|clock_gettime|gmtime|localtime|ctime)(_ns)?\b|\bfrom time import|"
    r"\bdate(time)?\.(now|utcnow|today)\b|\btimezone\.(now|localtime|localdate)\b"
)


def test_no_other_module_reads_the_system_clock():
    packages = ("fluxsite", "fluxcore", "accounts", "memory", "dashboard", "mcp_bridge", "flux")
    readers = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts and READS.search(path.read_text())
    }
    assert readers == {"fluxcore/clock.py"}
