"""Context shift: a sudden drop of usefulness is noticed once, and only where most answers are judged."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock
from fluxcore.models import Event
from fluxcore.writes import booth, write_locks
from memory.clusters import context_shift
from memory.grains.models import ContextShift, JudgedQuestion, Trace, Vote

pytestmark = pytest.mark.storage


class Ballot:
    """Judged recalls of one space, written as the votes leave them."""

    def __init__(self, space, grain):
        self.space, self.grain, self.count = space, grain, 0

    def judge(self, *outcomes: bool, **given) -> list[JudgedQuestion]:
        found = []
        for useful in outcomes:
            self.count += 1
            at = clock.now() - timedelta(hours=1)
            trace = Trace.objects.create(
                space_id=self.space,
                actor="agent:a",
                at=at,
                query=f"q{self.count}",
                rung="warm",
                confidence=0.5,
                hop_count=0,
                body="{}",
                rated=True,
            )
            one = JudgedQuestion.objects.create(
                uuid=trace.uuid, space_id=self.space, actor="agent:a", asked_at=at, query=trace.query, terms=b""
            )
            values = {"useful": useful, "strength": 1.0, "scale": 1.0, "at": at, **given}
            Vote.objects.create(space_id=self.space, judged=one, grain=self.grain, **values)
            found.append(one)
        return found

    def look(self) -> int:
        booth.write(lambda: context_shift.detect_shift(self.space), lock=write_locks.lock_name(self.space))
        return Event.objects.filter(kind="context.shifted").count()


@pytest.fixture
def ballot(town):
    return Ballot(town.space, town.store("a grain", vector=False))


def test_a_drop_of_a_quarter_is_a_shift(ballot):
    ballot.judge(*[True] * 15, *[True] * 11, *[False] * 4)
    assert ballot.look() == 1
    row = ContextShift.objects.get()
    assert (row.was, row.became, row.remaining) == (1.0, pytest.approx(11 / 15), 50)
    assert Event.objects.get(kind="context.shifted").data == {"was": 1.0, "became": 0.7333, "recalls": 50}


@pytest.mark.parametrize("bad", [0, 3])
def test_less_is_none(ballot, bad):
    ballot.judge(*[True] * (30 - bad), *[False] * bad)
    assert ballot.look() == 0


def test_too_few_judged_recalls_tell_nothing(ballot):
    ballot.judge(*[True] * 14, *[False] * 15)
    assert ballot.look() == 0


def test_what_was_bad_before_is_no_drop(ballot):
    ballot.judge(*[False] * 30)
    assert ballot.look() == 0


def test_silence_is_no_failure(ballot):
    ballot.judge(*[True] * 15, *[False] * 15)
    recent = Trace.objects.order_by("-id").values_list("id", flat=True)
    Trace.objects.filter(id__in=list(recent[:7])).update(rated=False)
    assert ballot.look() == 0
    Trace.objects.filter(id=recent[0]).update(rated=True)
    assert ballot.look() == 1  # 24 of 30


def test_answers_that_nobody_had_time_to_judge_do_not_count(ballot):
    ballot.judge(*[True] * 15, *[False] * 15)
    Trace.objects.all().update(rated=False)
    old = Trace.objects.order_by("-id").values_list("id", flat=True)
    Trace.objects.filter(id__in=list(old)).update(at=clock.now())
    assert ballot.look() == 1


def test_it_is_noticed_once_and_again_only_after_as_many_new_votes(ballot):
    ballot.judge(*[True] * 15, *[False] * 15)
    assert ballot.look() == ballot.look() == 1
    ContextShift.objects.update(remaining=0)
    assert ballot.look() == 1
    ballot.judge(*[True] * 15)
    assert ballot.look() == 1
    ballot.judge(*[False] * 15)
    assert ballot.look() == 2


def test_votes_taken_back_and_grains_that_were_missing_are_no_success(ballot):
    ballot.judge(*[True] * 15)
    ballot.judge(*[True] * 15, missed=True)
    assert ballot.look() == 1
    ContextShift.objects.all().delete()
    Event.objects.filter(kind="context.shifted").delete()
    Vote.objects.filter(missed=True).update(undone_at=clock.now())
    assert ballot.look() == 0  # those recalls are not judged any more


def test_it_can_be_switched_off(ballot, settings_of):
    settings_of(CONTEXT_SHIFT_ENABLED=False)
    ballot.judge(*[True] * 15, *[False] * 15)
    assert ballot.look() == 0


def test_the_cost_does_not_grow_with_history(ballot, django_assert_num_queries):
    ballot.judge(*[True] * 60)
    with django_assert_num_queries(2):
        context_shift.detect_shift(ballot.space)


def test_an_arena_that_is_built_meanwhile_knows(ballot):
    from memory.arena.build import build_arena

    assert not build_arena(ballot.space, "").exploring
    ContextShift.objects.create(space_id=ballot.space, judged=1, was=1, became=0, at=clock.now(), remaining=3)
    assert build_arena(ballot.space, "").exploring
    booth.write(lambda: context_shift._count_wide(ballot.space, 5), lock=write_locks.lock_name(ballot.space))
    assert ContextShift.objects.get().remaining == 0
    assert not build_arena(ballot.space, "").exploring
    assert Event.objects.filter(kind="context.settled").count() == 1
