"""Health comes round by itself: measured every tick, replayed every week, once whoever asks"""

from __future__ import annotations

from fluxcore.models import Job
from fluxcore.work import schedule, worker
from memory.health import jobs as health_jobs
from memory.health.models import SpaceHealth


def rounds(kind: str) -> int:
    return Job.objects.filter(kind=kind).count()


def test_a_space_is_measured_every_quarter_of_an_hour_and_replayed_every_week(ward):
    schedule.ask_for_what_is_due()
    worker.drain()
    assert SpaceHealth.objects.get(space=ward.space).beat == 1
    schedule.ask_for_what_is_due()
    assert rounds(health_jobs.GATHER) == 1
    ward.pass_time(minutes=15)
    schedule.ask_for_what_is_due()
    worker.drain()
    assert (rounds(health_jobs.GATHER), SpaceHealth.objects.get(space=ward.space).beat) == (2, 2)
    before = rounds(health_jobs.REPLAY)
    ward.pass_time(days=7)
    schedule.ask_for_what_is_due()
    worker.drain()
    assert rounds(health_jobs.REPLAY) == before + 1
    assert set(Job.objects.filter(kind__startswith="health.").values_list("state", flat=True)) == {"done"}


def test_nobody_measures_where_nobody_wants_it(ward, configure):
    configure(HEALTH_TICK_MINUTES=0.0)
    schedule.ask_for_what_is_due()
    assert rounds(health_jobs.GATHER) == 0
