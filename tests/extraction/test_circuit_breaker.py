"""A model that is down is asked at most once a second, by all processes together, and is found well by itself"""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock
from fluxcore.models import Job
from fluxcore.writes import booth
from memory.extraction import circuit_breaker, model_status
from memory.extraction.models import Extraction, ModelServer
from tests.core.threads import together
from tests.extraction.ollama import fails, html, prose, well

pytestmark = pytest.mark.usefixtures("standing_clock")


def turns(times):
    return [booth.write(circuit_breaker.take_turn) is None for _ in range(times)]


@pytest.fixture
def down(desk):
    booth.write(lambda: circuit_breaker.record_failure("no connection"))
    return desk


def test_a_model_that_is_well_is_asked_whenever_there_is_something(desk):
    assert turns(3) == [True, True, True]


def test_after_a_failure_one_caller_gets_the_next_turn(down):
    assert turns(2) == [False, False]
    ModelServer.objects.update(next_at=clock.now())
    assert turns(3) == [True, False, False]


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (500, 60)])
def test_each_failure_doubles_the_pause_up_to_a_minute(failures, seconds):
    assert circuit_breaker.pause_after(failures) == timedelta(seconds=seconds)


def test_a_success_ends_it(down):
    booth.write(circuit_breaker.record_success)
    assert turns(2) == [True, True]
    assert model_status.overview()["state"] == "well"


def test_another_model_begins_anew(down, configure):
    configure(LLM_MODEL="another:1b")
    assert turns(1) == [True]


def test_a_clock_that_was_set_back_does_not_silence_it(down):
    ModelServer.objects.update(next_at=clock.now() + timedelta(days=3))
    assert turns(2) == [True, False]


def test_many_texts_are_one_call_while_it_is_down(desk):
    desk.model.behave(fails)
    for number in range(5):
        desk.hand_over(f"Letter {number} came. It was read.")
        desk.work()
    assert len(desk.model.calls) == 1
    assert Job.objects.filter(kind="extraction.extract", state="queued").count() == 1
    found = model_status.overview()
    assert (found["state"], found["failures"], found["waiting"]) == ("down", 1, 5)
    assert found["problem"] == "the server answered 500"


def test_on_trial_there_is_no_second_call_at_once(desk):
    desk.model.behave(html)
    desk.hand_over("A letter came. It was read.")
    desk.work()
    assert len(desk.model.calls) == 2
    desk.later()
    assert len(desk.model.calls) == 3


def test_a_text_the_model_cannot_read_does_not_stop_the_others(desk):
    def moody(server, line, text):
        (prose if "riddle" in text else well)(server, line, text)

    desk.model.behave(moody)
    riddle = desk.hand_over("A riddle came. Nobody read it.")["grain_id"]
    letter = desk.hand_over("A letter came. It was read.")["grain_id"]
    desk.work()
    ModelServer.objects.update(next_at=clock.now())
    Job.objects.filter(state="queued").update(due_at=clock.now())
    desk.work()
    assert [desk.row(one).state for one in (riddle, letter)] == ["waiting", "done"]
    assert model_status.overview()["state"] == "well"


def test_a_text_is_given_up_in_the_end_and_can_be_asked_about_again(desk):
    from accounts.principals import find_space, shell
    from memory.extraction import extract, extraction_job

    desk.model.behave(prose)
    grain = desk.hand_over("A riddle came. Nobody read it.")["grain_id"]
    desk.work()
    for _ in extraction_job.RETRY_PAUSES:
        assert desk.row(grain).state == "waiting"
        desk.later()
    assert (desk.row(grain).state, desk.row(grain).tries) == ("given_up", len(extraction_job.RETRY_PAUSES) + 1)
    assert any("flux_extract --again" in said for said in model_status.warnings())
    desk.model.behave(well)
    assert extract.retry_given_up(shell(find_space("home"))) == {"waiting": 1}
    desk.later()
    assert desk.row(grain).state == "done"


def test_a_model_that_is_away_never_makes_a_text_be_given_up(desk):
    desk.model.behave(fails)
    grain = desk.hand_over("A letter came. It was read.")["grain_id"]
    desk.work()
    for _ in range(12):
        desk.later()
    assert (desk.row(grain).state, desk.row(grain).tries) == ("waiting", 0)


def test_two_workers_do_not_ask_about_the_same_text(desk):
    """The second one finds it taken; a worker that died lets it go in time."""
    grain = desk.hand_over("A letter came. It was read.")["grain_id"]
    row = desk.row(grain)
    Extraction.objects.filter(pk=row.pk).update(taken_until=clock.now() + timedelta(seconds=60))
    desk.work()
    assert desk.model.calls == []
    Extraction.objects.filter(pk=row.pk).update(taken_until=clock.now() - timedelta(seconds=1))
    desk.later()
    assert desk.row(grain).state == "done"


def test_of_eight_who_come_at_once_one_gets_the_turn(down):
    ModelServer.objects.update(next_at=clock.now())
    found = together(8, lambda _: booth.write(circuit_breaker.take_turn) is None)
    assert sorted(found) == [False] * 7 + [True]
