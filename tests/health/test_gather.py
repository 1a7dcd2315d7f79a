"""The log is counted once: by caller and hour, whoever tries it how often"""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import events
from fluxcore.errors import Conflict
from fluxcore.work.run import Run
from fluxcore.writes import booth
from memory.arena.changes import Changes
from memory.grains.models import JudgedQuestion, Vote, VoteEffect
from memory.health import gather
from memory.health import jobs as health_jobs
from memory.health.event_sums import ALL_TIME_HOUR
from memory.health.models import CountedQuestion, HourlySum, Reading, SpaceHealth
from tests.grains.conftest import Memory


def total(name: str, who: str = "") -> float:
    return sum(HourlySum.objects.filter(name=name, who=who).exclude(hour=ALL_TIME_HOUR).values_list("value", flat=True))


def test_recalls_are_counted_by_hour_and_by_caller(ward):
    ward.recalls(3, hops=2, fallback=True)
    ward.recalls(2, actor="agent:bert", grains=0)
    ward.measure()
    ward.pass_time(hours=1)
    ward.recalls(4)
    ward.measure()
    assert list(HourlySum.objects.filter(name="recalls", who="").order_by("hour").values_list("value", flat=True)) == [
        9,
        5,
        4,
    ]
    assert HourlySum.objects.get(name="recalls", hour=ALL_TIME_HOUR).value == 9
    assert (total("hops"), total("fallbacks"), total("answered")) == (3 * 2 + 2 + 4, 3, 7)
    assert (total("answered", "agent:alice"), total("answered", "agent:bert")) == (7, 0)


@pytest.mark.parametrize(
    ("actor", "label"),
    [("user:ada", ""), ("shell:root", ""), ("agent:a", "test"), ("agent:a", "cli:system"), ("agent:a", "x:ADMIN")],
)
def test_people_machinery_and_trials_do_not_count(ward, actor, label):
    ward.recalls(5, actor=actor, label=label)
    ward.recalls(1, label="tester")
    ward.measure()
    assert total("recalls") == 1


def test_stores_are_counted_with_who_claims_what(ward):
    ward.tell("grain.stored", {"origin": "user_stated"}, times=3)
    ward.tell("grain.corroborated", {"origin": "ai_stated"}, times=2)
    ward.tell("grain.stored", {"origin": "user_stated"}, actor="shell:root")
    ward.measure()
    assert (total("stores"), total("stores", "agent:alice"), total("stated", "agent:alice")) == (6, 5, 3)


def test_an_event_of_an_older_release_lacks_numbers_and_does_no_harm(ward):
    ward.tell("votes.applied", {"votes": 3})
    ward.tell("grains.recalled", {})
    ward.tell("grains.recalled", {"recalls": [{"actor": "agent:alice"}]})
    ward.measure()
    assert total("recalls") == 1 and total("answered") == 0


def test_a_stretch_that_was_counted_meanwhile_is_not_counted_again(ward):
    ward.recalls(3)
    ward.settle()
    run = Run(0, None, health_jobs.GATHER, None, {}, 1)  # type: ignore[arg-type]
    first, second = gather.gather(run), gather.gather(run)
    booth.write(first)
    with pytest.raises(Conflict):
        booth.write(second)
    assert total("recalls") == 3


def test_it_goes_on_where_it_stopped_and_in_parts(ward, monkeypatch):
    monkeypatch.setattr(gather, "PAGE", 2)
    monkeypatch.setattr(gather, "MOST", 4)
    for _ in range(9):
        ward.recalls(1)
    ward.measure()
    assert total("recalls") == 9
    found, _ = events.follow(gather.counted_position())
    assert "grains.recalled" not in {change.kind for change in found}


def test_votes_count_a_question_once_and_follow_every_change_of_mind(ward):
    memory = Memory()
    grains = [memory.store(f"The lighthouse of Oslo has {number} lamps") for number in range(3)]
    memory.drain()
    answer = memory.ask("How many lamps has the lighthouse of Oslo?")
    shown = [grain["id"] for grain in answer["grains"]]
    assert set(shown) == set(grains)

    def counted() -> tuple[float, float, float, float]:
        memory.drain()
        ward.measure()
        sure = sum(HourlySum.objects.filter(name__endswith=".hits").values_list("value", flat=True))
        return total("judged"), total("hits"), total("judged", memory.principal.actor), sure

    memory.vote(answer["trace_id"], shown[0], False)
    assert counted() == (1, 0, 1, 0)
    memory.vote(answer["trace_id"], shown[1], True)
    assert counted() == (1, 1, 1, 1)
    memory.vote(answer["trace_id"], shown[1], False)
    assert counted() == (1, 0, 1, 0)
    from memory.learning import feedback

    for grain in shown[:2]:
        feedback.withdraw(memory.principal, trace=answer["trace_id"], grain=grain)
    assert counted() == (0, 0, 0, 0)
    memory.vote(answer["trace_id"], shown[2], True)
    assert counted() == (1, 1, 1, 1)
    assert CountedQuestion.objects.count() == 1


def test_a_question_that_was_purged_counts_no_more(ward):
    memory = Memory()
    memory.store("The ferry to Turku leaves at nine")
    memory.drain()
    answer = memory.ask("When does the ferry leave?")
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], True)
    memory.drain()
    ward.measure()
    (number,) = JudgedQuestion.objects.values_list("id", flat=True)
    VoteEffect.objects.all().delete()
    Vote.objects.all().delete()
    JudgedQuestion.objects.all().delete()
    packed = Changes(judged=(number,)).pack()
    booth.write(
        lambda: events.append("grains.purged", space=ward.space.pk, actor="user:ada", subject="", packed=packed)
    )
    ward.measure()
    assert (total("judged"), total("hits"), CountedQuestion.objects.get().evidence) == (0, 0, False)


def test_what_becomes_of_grains_and_links_is_counted(ward):
    ward.tell("grain.promoted", {"from": "working", "to": "core", "why": "use"}, actor="worker", times=2)
    ward.tell("conduits.cut", {"conduits": 7}, actor="worker")
    ward.measure()
    assert (total("promoted"), total("dissolved")) == (2, 7)


def test_what_no_window_reaches_is_let_go(ward):
    ward.recalls(1)
    ward.tell("grain.stored", {"origin": "ai_stated"})
    ward.measure(2)
    ward.pass_time(days=3)
    ward.measure()
    assert total("stores") == 1 and total("stores", "agent:alice") == 0
    assert not Reading.objects.filter(hourly=False).exists()
    assert Reading.objects.values("at").distinct().count() == 3
    ward.pass_time(days=40)
    ward.measure()
    assert total("recalls") == 0 and HourlySum.objects.get(hour=ALL_TIME_HOUR, name="recalls").value == 1
    assert Reading.objects.values("at").distinct().count() == 1


def test_ten_times_the_history_costs_no_more_statements_and_no_more_rows(ward):
    """Sums by the hour: what was counted once is never read again."""

    def cost() -> tuple[int, int]:
        ward.settle()  # once that is so it stays so: waiting for others is no part of the cost
        with CaptureQueriesContext(connection) as asked:
            ward.measure()
        return len(asked.captured_queries), HourlySum.objects.count()

    ward.recalls(20)
    ward.measure()
    ward.recalls(1)
    before = cost()
    for _ in range(10):
        ward.recalls(200)
    ward.measure()
    ward.recalls(1)
    assert cost() == before
    assert SpaceHealth.objects.get().beat == 4
