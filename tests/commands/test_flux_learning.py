"""flux_learning"""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore import clock
from fluxcore.work import worker
from memory.grains.models import Grain, SpaceRankerWeights, Vote, VoteEffect
from memory.learning import feedback
from memory.recall import recall


@pytest.fixture
def voted(run):
    """The operator asked, and said what was missing; the trace and the grain."""
    run("flux_space", "create", "main")
    run("flux_store", "The boiler was serviced in March")
    run("flux_store", "The cat sleeps on the radiator")
    worker.drain()
    person = shell(Space.objects.get(name="main"))
    answer = recall.recall(person, query="When was the heater maintained?", k=5)
    grain = str(Grain.objects.get(text__contains="boiler").uuid)
    feedback.feedback(person, trace_id=answer["trace_id"], missed=[grain])
    worker.drain()
    return answer["trace_id"], grain


def test_it_lists_who_said_what_about_which_grain(run, voted):
    trace, grain = voted
    (one,) = run("flux_learning", "--json").json()["votes"]
    assert (one["trace_id"], one["grain_id"], one["useful"], one["applied"]) == (trace, grain, True, True)
    assert one["query"] == "When was the heater maintained?"
    text = run("flux_learning").text
    assert "heater" in text and "missing" in " ".join(text.split()) and trace[:8] in text


def test_nothing_learned_says_how_to_begin(run):
    run("flux_space", "create", "main")
    assert "POST /feedback" in run("flux_learning", "list").text


def test_it_explains_what_a_vote_did(run, voted):
    trace, grain = voted
    found = run("flux_learning", "explain", "--trace", trace, "--grain", grain, "--json").json()
    assert found["links"] and all(link["part"] > 0 for link in found["links"])
    assert any(link["from_entry"] for link in found["links"])
    assert "change by this feedback" in run("flux_learning", "explain", "--trace", trace, "--grain", grain).text


@pytest.mark.parametrize("bound", ["trace", "grain", "caller", "since"])
def test_it_takes_votes_back_by_any_bound(run, voted, bound):
    trace, grain = voted
    value = {"trace": trace, "grain": grain, "caller": Vote.objects.get().judged.actor, "since": "2020-01-01T00:00:00Z"}
    assert run("flux_learning", "undo", f"--{bound}", value[bound], "--reason", "a test", "--json").json() == {
        "undone": 1
    }
    worker.drain()
    assert not VoteEffect.objects.exists()
    assert AuditEntry.objects.filter(action="grains.unlearn", reason="a test").exists()
    assert "withdrawn" in run("flux_learning").text
    assert "0 ratings were" in run("flux_learning", "undo", f"--{bound}", value[bound]).text


@pytest.mark.parametrize(
    "words",
    [
        ("undo",),
        ("explain",),
        ("explain", "--trace", "x", "--grain", "y"),
        ("list", "--limit", "0"),
        ("undo", "--since", "yesterday"),
        ("undo", "--grain", "x"),
        ("list", "--caller", ""),
    ],
    ids=" ".join,
)
def test_it_refuses_what_it_cannot_understand(run, voted, words):
    said = run("flux_learning", *words, "--json")
    assert said.status == 65 and said.json()["error"]["code"] == "invalid"
    assert Vote.objects.filter(undone_at=None).exists()


def test_another_space_is_left_alone(run, voted):
    run("flux_space", "create", "other")
    assert run("flux_learning", "--space", "other", "--json").json()["votes"] == []
    assert run("flux_learning", "undo", "--since", "2020-01-01T00:00:00Z", "--space", "other", "--json").json() == {
        "undone": 0
    }


def test_it_lists_how_far_votes_moved_the_weights(run, voted):
    assert run("flux_learning", "--json").json()["weights"] == []
    SpaceRankerWeights.objects.create(
        space=Space.objects.get(name="main"),
        version="of another release",
        weights={"names": 0.1, "hop": -0.4},
        questions=40,
        before=0.5,
        after=0.55,
        at=clock.now(),
    )
    (own,) = run("flux_learning", "--json").json()["weights"]
    assert (own["space"], own["questions"], own["in_use"]) == ("main", 40, False)
    assert list(own["steps"]) == ["hop", "names"]
    assert "50.0 → 55.0" in " ".join(run("flux_learning").text.split())
