"""flux_recall"""

from __future__ import annotations

import pytest

from memory.grains.models import Trace


@pytest.fixture
def memory(run):
    run("flux_space", "create", "main")
    run("flux_store", "The boiler was serviced in March", "--speaker", "Ada", "--session", "house", "--tag", "heating")
    run("flux_store", "The cat sleeps on the boiler", "--provenance", "external_source")
    run("flux_store", "Nothing else happened")


def contents(said):
    return [grain["content"] for grain in said.json()["grains"]]


def test_for_scripts_it_is_the_answer_of_the_verb(run, memory):
    answer = run("flux_recall", "When was the boiler serviced?", "--json").json()
    assert answer["grains"][0]["content"] == "The boiler was serviced in March"
    assert set(answer) == {
        "grains",
        "trace_id",
        "confidence",
        "hop_count",
        "features",
        "fallback_triggered",
        "expansion_candidates",
        "rung",
        "vectors_missing",
        "query_truncated",
    }
    assert str(Trace.objects.get().uuid) == answer["trace_id"], "the receipt is there when the command ends"
    assert Trace.objects.get().actor.startswith("shell:")


def test_for_people_it_is_a_list_with_scores_confidence_and_rung(run, memory):
    text = run("flux_recall", "When was the boiler serviced?").text
    first, *_, last = text.splitlines()
    assert first.startswith(" 1 ") and "█" in first and "The boiler was serviced in March" in first and "Ada" in first
    assert last.startswith("confidence ") and "%, " in last and str(Trace.objects.get().uuid) in last
    assert "Returned because of" not in text


def test_it_explains_each_grain_in_words_and_parts(run, memory):
    text = run("flux_recall", "When was the boiler serviced?", "--explain").text
    assert "Returned because of" in text and "shared words" in text


@pytest.mark.parametrize(
    "bounds",
    [("--k", "1"), ("--tag", "heating"), ("--session", "house"), ("--origin-floor", "user_stated")],
    ids=" ".join,
)
def test_a_question_can_be_bounded(run, memory, bounds):
    found = contents(run("flux_recall", "boiler serviced", *bounds, "--json"))
    assert found[0] == "The boiler was serviced in March" and "The cat sleeps on the boiler" not in found


def test_statuses_and_times_bound_it_too(run, memory):
    for bounds in (
        ("--status", "archived"),
        ("--until", "2001-01-01T00:00:00Z"),
        ("--as-of", "2001-01-01T00:00:00Z"),
        ("--since", "2999-01-01T00:00:00Z"),
        ("--min-score", "1.0", "--tag", "none"),
    ):
        assert contents(run("flux_recall", "boiler", *bounds, "--json")) == [], bounds


def test_where_nothing_answers_it_says_so(run, memory):
    text = run("flux_recall", "qwertyuiop", "--tag", "none").text
    assert text.startswith("No memories found.") and "confidence 0%" in text


@pytest.mark.parametrize(
    "arguments", [(), ("",), ("x", "--k", "0"), ("x", "--min-score", "2"), ("x", "--since", "yesterday")], ids=ascii
)
def test_what_cannot_be_asked_is_refused(run, memory, arguments):
    said = run("flux_recall", *arguments, "--json")
    assert (said.status, said.json()["error"]["code"]) == (65, "invalid")


def test_a_space_that_is_not_there_is_named(run, memory):
    assert run("flux_recall", "x", "--space", "nowhere", "--json").json()["error"]["code"] == "not_found"
