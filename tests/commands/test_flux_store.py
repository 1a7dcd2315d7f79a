"""flux_store"""

from __future__ import annotations

import io

import pytest

from accounts.models import AuditEntry
from memory.grains.models import Grain


@pytest.fixture
def main(run):
    run("flux_space", "create", "main")


@pytest.fixture
def given(monkeypatch):
    """What standard input holds."""

    def lines(text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return lines


def texts():
    return list(Grain.objects.order_by("id").values_list("text", flat=True))


def test_it_remembers_a_text_with_all_that_is_said_about_it(run, main):
    said = run(
        "flux_store",
        "The boiler was serviced",
        "--session",
        "house",
        "--speaker",
        "Ada",
        "--time",
        "2026-03-02T09:00:00+01:00",
        "--tag",
        "heating",
        "--tag",
        "home",
        "--valid-from",
        "2026-03-01T00:00:00Z",
        "--valid-to",
        "2027-03-01T00:00:00Z",
        "--provenance",
        "external_source",
        "--reason",
        "from the invoice",
        "--json",
    )
    grain = Grain.objects.get()
    assert said.json() == {
        "grain_id": str(grain.uuid),
        "status": "stored",
        "action": "stored_wired",
        "provenance": "external_source",
    }
    assert (grain.text, grain.session, grain.speaker, grain.tags) == (
        "The boiler was serviced",
        "house",
        "Ada",
        ["heating", "home"],
    )
    assert [moment.isoformat() for moment in (grain.said_at, grain.valid_from, grain.valid_to)] == [
        "2026-03-02T08:00:00+00:00",
        "2026-03-01T00:00:00+00:00",
        "2027-03-01T00:00:00+00:00",
    ]
    entry = AuditEntry.objects.get(action="grains.store")
    assert entry.actor.startswith("shell:") and entry.reason == "from the invoice"


def test_whoever_sits_at_the_shell_states_it_and_hears_what_became_of_it(run, main):
    first, second = run("flux_store", "Rain is wet"), run("flux_store", "Rain is wet")
    grain = Grain.objects.get()
    assert grain.origin == "user_stated" and grain.corroborations == 1
    assert (first.text, second.text) == (f"Stored: {grain.uuid}\n", f"Corroborated: {grain.uuid}\n")


def test_a_dash_stores_each_line_of_standard_input(run, main, given):
    given("one\n\n  \ntwo\r\nthree")
    said = run("flux_store", "-", "--session", "s", "--json")
    assert said.status == 0
    assert said.json() == {"stored": 3, "corroborated": 0, "refused": 0, "errors": []}
    assert texts() == ["one", "two", "three"]
    assert list(Grain.objects.order_by("id").values_list("ordinal", flat=True)) == [0, 1, 2]


def test_more_lines_than_one_call_takes_are_stored_in_batches(run, main, given):
    given("".join(f"line {n}\n" for n in range(250)))
    assert run("flux_store", "-").text == "250 stored, 0 corroborated, 0 refused\n"
    assert texts() == [f"line {n}" for n in range(250)]


def test_a_bad_line_is_refused_by_its_number_and_costs_no_other(run, main, given):
    given(b"good\n\nno \xff utf-8\nwith a \0\nalso good\n")
    said = run("flux_store", "-", "--json")
    assert said.status == 65
    assert [(one["line"], one["code"]) for one in said.json()["errors"]] == [(3, "invalid"), (4, "invalid")]
    assert texts() == ["good", "also good"]


def test_nothing_on_standard_input_stores_nothing(run, main, given):
    given("\n")
    assert run("flux_store", "-", "--json").json() == {"stored": 0, "corroborated": 0, "refused": 0, "errors": []}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        (" ",),
        ("x\udcff",),
        ("x", "--time", "yesterday"),
        ("x", "--tag", ""),
        ("x", "--speaker", "a\nb"),
        ("x", "--valid-from", "2027-01-01T00:00:00Z", "--valid-to", "2026-01-01T00:00:00Z"),
    ],
    ids=ascii,
)
def test_what_cannot_be_stored_is_refused(run, main, arguments):
    said = run("flux_store", *arguments, "--json")
    assert (said.status, said.json()["error"]["code"]) == (65, "invalid")
    assert texts() == []


def test_a_space_that_is_not_there_is_named(run, main):
    assert run("flux_store", "x", "--space", "nowhere", "--json").json()["error"]["code"] == "not_found"
