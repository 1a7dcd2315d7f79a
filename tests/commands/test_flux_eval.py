"""flux_eval"""

from __future__ import annotations

from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore.work import worker
from memory.health.models import CountedQuestion
from memory.learning import feedback
from memory.recall import recall


def judged(run) -> None:
    """Nobody but an agent is counted, so the operator's question is put on an agent's account."""
    run("flux_space", "create", "main")
    run("flux_store", "The boiler was serviced in March")
    run("flux_store", "The cat sleeps on the radiator")
    worker.drain()
    space = Space.objects.get(name="main")
    answer = recall.recall(shell(space), query="When was the heater maintained?", k=5)
    right = recall.recall(shell(space), query="boiler", k=1)["grains"][0]["id"]
    feedback.feedback(shell(space), trace_id=answer["trace_id"], missed=[right])
    worker.drain()
    from memory.grains.models import JudgedQuestion

    CountedQuestion.objects.create(
        space=space,
        judged=JudgedQuestion.objects.get().pk,
        who="agent:a",
        hour=1,
        judged_now=True,
        useful=False,
        evidence=True,
    )


def test_it_shows_what_votes_are_worth(run):
    judged(run)
    said = run("flux_eval", "--space", "main")
    assert said.status == 0
    assert "1 questions with feedback" in said.text and "without feedback" in said.text and "learning gain" in said.text
    found = run("flux_eval", "--json").json()["spaces"]["main"]
    assert found["questions"] == 1 and found["own"]["ndcg"] == 1.0
    assert AuditEntry.objects.filter(action="health.replay").count() == 2


def test_nothing_judged_says_how_to_begin(run):
    run("flux_space", "create", "main")
    assert "POST /feedback" in run("flux_eval").text
    assert run("flux_eval", "--json").json() == {"spaces": {"main": {"questions": 0}}}


def test_a_sample_out_of_bounds_is_refused(run):
    run("flux_space", "create", "main")
    assert run("flux_eval", "--sample", "0").status == run("flux_eval", "--sample", "5001").status != 0
