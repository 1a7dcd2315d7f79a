"""Health comes round by itself: measured every tick, replayed every week, once whoever asks"""

from __future__ import annotations

from fluxcore import jobs, schedule
from fluxcore.models import Job
from memory.health import chores
from memory.health.models import SpaceHealth


def rounds(kind: str) -> int:
    return Job.objects.filter(kind=kind).count()


def test_a_space_is_measured_every_quarter_of_an_hour_and_replayed_every_week(ward):
    schedule.ask_for_what_is_due()
    jobs.drain()
    assert SpaceHealth.objects.get(space=ward.space).beat == 1
    schedule.ask_for_what_is_due()
    assert rounds(chores.GATHER) == 1
    ward.pass_time(minutes=15)
    schedule.ask_for_what_is_due()
    jobs.drain()
    assert (rounds(chores.GATHER), SpaceHealth.objects.get(space=ward.space).beat) == (2, 2)
    before = rounds(chores.REPLAY)
    ward.pass_time(days=7)
    schedule.ask_for_what_is_due()
    jobs.drain()
    assert rounds(chores.REPLAY) == before + 1
    assert set(Job.objects.filter(kind__startswith="health.").values_list("state", flat=True)) == {"done"}


def test_nobody_measures_where_nobody_wants_it(ward, configure):
    configure(HEALTH_TICK_MINUTES=0.0)
    schedule.ask_for_what_is_due()
    assert rounds(chores.GATHER) == 0
