"""A clock that is set ten years ahead, and back: nothing is lost, windows stay open, scores are finite."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from accounts.principals import shell
from fluxcore.models import IdempotencyKey, Job, JobLine
from fluxcore.work.sweep import sweep_and_run
from fluxcore.writes import booth, idempotency
from memory.grains.lifecycle import verbs
from memory.grains.models import Conduit, Grain, LastRecall, Tombstone, Trace, Transition, Vector, Vote
from memory.health import instance_health
from tests.grains.lifecycle.conftest import NOON, PLAIN

pytestmark = pytest.mark.either_database

TEN_YEARS = timedelta(days=3650)
TABLES = (Grain, Conduit, Vector, Trace, Vote, Transition, Tombstone, LastRecall, IdempotencyKey)


def rows() -> dict[str, list]:
    return {table.__name__: sorted(table.objects.values_list("pk", flat=True)) for table in TABLES}


def test_ten_years_ahead_and_back_loses_nothing(life):
    marked = life.memory.store(PLAIN, provenance="ai_stated")
    for text in ("Zoe keeps the ladder behind the shed", "Max lends the drill to Zoe", "the gate creaks in winter"):
        life.memory.store(text, provenance="ai_stated")
    booth.write(lambda: idempotency.run_once("somebody", "a key", ["asked"], lambda: {"answer": 1}))
    life.memory.drain()
    answer = life.memory.ask("who has the drill")
    life.memory.vote(answer["trace_id"], answer["grains"][0]["id"], True)
    verbs.delete(shell(), grain=marked)
    life.memory.drain()
    sweep_and_run()
    life.rounds("notice")
    before, asked = rows(), life.memory.ask("who has the drill")
    kept = [(grain["id"], grain["score"]) for grain in asked["grains"]]
    before["Trace"] = rows()["Trace"]

    for moment in (NOON + TEN_YEARS, NOON + TEN_YEARS + timedelta(minutes=1), NOON + timedelta(minutes=2)):
        life.jump(moment)
        sweep_and_run()  # what beat does: the schedule, and every job it asks for
        life.rounds()
        assert rows() == before, moment
        then = life.memory.ask("who has the drill")
        assert all(math.isfinite(grain["score"]) and 0 <= grain["score"] <= 1 for grain in then["grains"])
        before["Trace"] = rows()["Trace"]
    assert [(grain["id"], grain["score"]) for grain in then["grains"]] == kept
    assert life.status(marked) == "pending_deletion"
    assert verbs.undelete(shell(), grain=marked)["changed"], "ten years by the clock did not close the window"
    said = JobLine.objects.filter(job__kind__startswith="grains.", text__contains="The clock moved by +3650.0 days")
    assert said.exists(), "and the job says why it did nothing"
    assert not Job.objects.filter(state="parked").exists()
    assert any("The clock moved" in warning for warning in instance_health.warnings("full")), (
        "and flux_status and GET /health"
    )


def test_a_clock_that_stays_ahead_is_believed_after_a_day_of_running(life):
    grain = life.memory.store(PLAIN, provenance="ai_stated")
    life.jump(NOON + TEN_YEARS)
    sweep_and_run()
    life.rounds("age")
    assert life.status(grain) == "active"
    life.pass_days(0.9)
    life.rounds("age")
    assert life.status(grain) == "active"
    life.pass_days(0.2)
    life.rounds("age")
    assert life.status(grain) == "dormant"


def test_what_was_marked_by_a_clock_that_ran_ahead_is_purged_by_the_time_lived(life):
    grain = life.memory.store(PLAIN)
    life.jump(NOON + TEN_YEARS)
    sweep_and_run()
    verbs.delete(shell(), grain=grain)
    life.jump(NOON + timedelta(minutes=3))
    sweep_and_run()
    life.pass_days(0.99)
    life.rounds("purge")
    assert Grain.objects.exists()
    life.pass_days(0.02)
    life.rounds("purge")
    assert not Grain.objects.exists(), "not in ten years' time"
