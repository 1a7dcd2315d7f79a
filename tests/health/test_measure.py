"""A space under observation: what is measured, when it warns, raises again and clears; young ones are well"""

from __future__ import annotations

import pytest

from fluxcore import clock
from fluxcore.errors import NotFound
from fluxcore.work.run import Run
from fluxcore.writes import booth
from memory.grains import store
from memory.grains.models import Grain
from memory.health import incremental_counts, measure, report
from memory.health import jobs as health_jobs
from memory.health.event_sums import ALL_TIME_HOUR, hour_of
from memory.health.models import HourlySum, Reading, SpaceHealth, Warning
from memory.health.signals import SIGNALS_BY_NAME
from memory.learning import feedback
from tests.grains.conftest import Memory
from tests.health.test_signals import CASES


def test_a_measurement_leaves_a_reading_of_every_signal(ward):
    condition = ward.measure()
    assert (condition.status, condition.beat, condition.measured_at) == ("healthy", 1, clock.now())
    assert set(Reading.objects.values_list("signal", flat=True)) == set(condition.signals) == set(SIGNALS_BY_NAME)
    assert not Warning.objects.exists()


def test_of_two_at_once_one_counts(ward):
    ward.measure()
    run = Run(0, None, health_jobs.MEASURE, ward.space.pk, {}, 1)  # type: ignore[arg-type]
    first, second = measure.measure(run), measure.measure(run)
    booth.write(first)
    with pytest.raises(Exception, match="measured by another process"):
        booth.write(second)
    assert SpaceHealth.objects.get().beat == 2


@pytest.mark.proof
@pytest.mark.either_database  # storing, asking, voting and measuring have tests of their own on both
def test_a_young_space_that_is_used_well_is_healthy_every_day(ward, configure):
    """Fourteen days of stores, questions and votes as agents give them: nothing to warn of, at no hour."""
    configure(EMBEDDING_MODEL_NAME="hashed")
    memory = Memory()
    people, places = ("Anna", "Ben", "Cleo", "Dan"), ("Porto", "Oslo", "Ghent", "Lisbon", "Turin")
    for day in range(14):
        facts = [
            {
                "content": f"On day {day} {people[(day + number) % 4]} visited {places[(2 * day + number) % 5]} "
                f"and bought {number + 2} maps of the old harbour.",
                "session": f"day-{day}",
                "provenance": "user_stated" if number % 3 == 0 else "ai_stated",
            }
            for number in range(6)
        ]
        store.store_batch(memory.principal, items=facts)
        memory.drain()
        said = []
        for number in range(22):
            answer = memory.ask(f"What did {people[number % 4]} buy in {places[(day + number) % 5]}?")
            if number % 8 != 7:
                best = answer["grains"][0]["id"]
                said.append({"trace_id": answer["trace_id"], "grain_id": best, "useful": number % 5 != 4})
        feedback.feedback_batch(memory.principal, items=said)
        memory.drain()
        for _ in range(2):
            condition = ward.measure()
            assert (condition.status, ward.open()) == ("healthy", {}), f"day {day}"
            ward.pass_time(hours=12)
    judged = {name: held["state"] for name, held in condition.signals.items()}
    assert not Warning.objects.exists()
    assert {judged[name] for name in ("retrieval_success_rate", "feedback_compliance_rate", "orphan_rate")} == {
        "healthy"
    }, "these must have been judged, or the test says nothing"
    assert sum(state == "healthy" for state in judged.values()) >= 8


def as_is(ward, counts):
    """Put a space into the condition that these counts tell of."""
    hour = hour_of(clock.now().timestamp()) - 1
    HourlySum.objects.all().delete()
    sums = next(iter(counts.sums.values()), {})
    rows = [("", hour, name, value) for name, value in sums.items()]
    rows += [("", ALL_TIME_HOUR, "recalls", counts.recalls), ("", ALL_TIME_HOUR, "judged", counts.judged)]
    rows += [(who, hour, name, value) for who, said in counts.callers.items() for name, value in said.items()]
    HourlySum.objects.bulk_create(
        HourlySum(space=ward.space, who=who, hour=at, name=name, value=value) for who, at, name, value in rows
    )
    replay = {"gain": counts.gain, "at": int(clock.now().timestamp())} if counts.gain is not None else {}
    SpaceHealth.objects.update_or_create(
        space=ward.space, defaults={"levels": dict(counts.levels), "counted": 0, "moved": 0, "replay": replay}
    )


# One of each kind of number is asked of both databases: sums, levels, callers and the replay.
ON_BOTH = {"retrieval_success_rate", "orphan_rate", "provenance_skew", "learning_gain"}


@pytest.mark.parametrize(
    "name",
    [name if name in ON_BOTH else pytest.param(name, marks=pytest.mark.either_database) for name in SIGNALS_BY_NAME],
)
@pytest.mark.either_database
def test_each_signal_warns_raises_again_and_clears(ward, name):
    good, bad, _, severity = CASES[name]
    dwell = SIGNALS_BY_NAME[name].dwell
    ward.pass_time(days=60)

    def measured(counts, times):
        for _ in range(times):
            as_is(ward, counts)
            ward.measure()
            ward.pass_time(minutes=15)

    measured(bad, dwell - 1)
    assert name not in ward.open()
    measured(bad, 1)
    assert ward.open()[name] == severity
    measured(good, dwell)
    assert name in ward.open()
    measured(good, 1)
    assert name not in ward.open()
    measured(bad, dwell)
    assert [kind for kind, subject in ward.told() if subject == name] == [
        "warning.raised",
        "warning.cleared",
        "warning.raised_again",
    ]
    assert list(Warning.objects.filter(signal=name).order_by("id").values_list("times", flat=True)) == [1, 2]


def test_an_acknowledged_warning_is_listed_and_no_longer_makes_the_space_look_ill(ward, make_token):
    from accounts.principals import shell

    ward.pass_time(days=60)
    as_is(ward, CASES["orphan_rate"][1])
    assert ward.measure(3).status == "warning"
    found = report.acknowledge(shell(ward.space), signal="orphan_rate", reason="an import")
    assert found["acknowledged_by"].startswith("shell:")
    assert SpaceHealth.objects.get().status == "healthy"
    assert ward.measure().status == "healthy" and "orphan_rate" in ward.open()
    told = report.report(shell(ward.space))
    assert [(one["signal"], one["acknowledged_by"]) for one in told["active_warnings"]] == [
        ("orphan_rate", found["acknowledged_by"])
    ]
    with pytest.raises(NotFound):
        report.acknowledge(shell(ward.space), signal="hit_rate")


def test_what_is_there_is_counted_in_stretches_of_a_bounded_size(ward, monkeypatch):
    memory = Memory()
    for number in range(7):
        memory.store(f"Fact {number} about Porto", session="one")
    memory.drain()
    Grain.objects.filter(uuid=memory.store("Nobody asks for this")).update(status="dormant", enriched=True)
    whole = ward.measure().levels
    assert (whole["active"], whole["dormant"], whole["archived"]) == (7, 1, 0)
    assert whole["conduits"] > 7 and 0 < whole["weight"] < whole["conduits"]
    monkeypatch.setattr(incremental_counts, "STRETCH", 3)
    parts, walk, rounds = None, {}, 0
    while parts is None and rounds < 10:
        walk, parts = incremental_counts.count_next_stretch(ward.space.pk, walk)
        rounds += 1
    assert parts == pytest.approx(whole) and rounds == 3


def test_a_graph_that_did_not_change_is_not_counted_again(ward, monkeypatch):
    memory = Memory()
    memory.store("One fact about Porto")
    memory.drain()
    ward.measure()
    ward.measure()
    monkeypatch.setattr(incremental_counts, "count_next_stretch", lambda *_: pytest.fail("counted again"))
    ward.recalls(3)
    assert ward.measure().levels["active"] == 1


def test_a_grain_that_nothing_leads_to_is_an_orphan_once_it_was_looked_at(ward):
    memory = Memory()
    grain = memory.store("quite alone")
    assert ward.measure().levels["orphans"] in (0, 1)
    Grain.objects.filter(uuid=grain).update(enriched=False)
    assert incremental_counts.count_next_stretch(ward.space.pk, {})[1]["orphans"] == 0
    Grain.objects.filter(uuid=grain).update(enriched=True)
    assert incremental_counts.count_next_stretch(ward.space.pk, {})[1]["orphans"] == 1
