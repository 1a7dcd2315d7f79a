"""What a space may spend on the model in a day: counted before the call, never exceeded, seen by everybody"""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.principals import find_space
from fluxcore import clock
from fluxcore.writes import booth
from memory.extraction import budget, model_status, prompt
from memory.extraction import jobs as extraction_jobs
from memory.extraction.models import AgentSpend, Extraction, ModelSpend
from memory.grains.models import Grain
from tests.extraction.ollama import html
from tests.grains.conftest import Memory

pytestmark = pytest.mark.usefixtures("standing_clock")


def texts(desk, count):
    return [desk.hand_over(f"Parcel {number} arrived. It was opened.")["grain_id"] for number in range(count)]


def spend():
    return ModelSpend.objects.get()


def test_calls_and_tokens_are_counted_as_the_server_reports_them(desk):
    texts(desk, 2)
    desk.work()
    assert (spend().calls, spend().failed, spend().tokens) == (2, 0, 2 * 340)


def test_what_nobody_reports_is_counted_at_the_most_it_could_be(desk):
    desk.model.behave(html)
    (grain,) = texts(desk, 1)
    desk.work()
    assert (spend().calls, spend().failed) == (2, 2)
    assert spend().tokens == 2 * prompt.max_call_tokens(Grain.objects.get(uuid=grain))


def test_no_call_is_made_beyond_the_calls_of_the_day(desk, configure):
    configure(LLM_CALLS_PER_DAY=3)
    texts(desk, 5)
    desk.work()
    assert len(desk.model.calls) == spend().calls == 3
    assert Extraction.objects.filter(state="waiting", tries=0).count() == 2
    assert model_status.overview()["spaces_without_budget"] == 1


def test_a_retry_is_a_call_like_any_other(desk, configure):
    configure(LLM_CALLS_PER_DAY=1)
    desk.model.behave(html)
    texts(desk, 1)
    desk.work()
    assert len(desk.model.calls) == 1


def test_no_call_is_made_that_could_cost_more_than_is_left(desk, configure):
    grain = texts(desk, 3)[0]
    most = prompt.max_call_tokens(Grain.objects.get(uuid=grain))
    configure(LLM_TOKENS_PER_DAY=most + 340)
    desk.work()
    assert len(desk.model.calls) == 2
    assert spend().tokens == 2 * 340


def test_tomorrow_there_is_money_again(desk, configure):
    configure(LLM_CALLS_PER_DAY=1)
    texts(desk, 2)
    desk.work()
    assert booth.write(extraction_jobs.ask_for_what_waits) == 0, "nobody is woken for nothing"
    for model in (ModelSpend, AgentSpend):
        model.objects.update(day=clock.now().date() - timedelta(days=1))
    desk.later()
    assert len(desk.model.calls) == 2
    assert Extraction.objects.filter(state="waiting").count() == 0


def test_zero_forbids_every_call(desk, configure):
    configure(LLM_TOKENS_PER_DAY=0)
    texts(desk, 1)
    desk.work()
    assert desk.model.calls == []


def test_each_space_has_a_budget_of_its_own(desk):
    other = type(desk)(Memory("elsewhere", "bob"), desk.model)
    texts(desk, 1)
    texts(other, 2)
    desk.work()
    calls = {one.space.name: one.calls for one in ModelSpend.objects.select_related("space")}
    assert calls == {"home": 1, "elsewhere": 2}
    assert model_status.overview(find_space("elsewhere").pk)["today"]["calls"] == 2
    assert model_status.overview()["today"]["calls"] == 3


def test_one_agent_leaves_the_others_their_part_of_the_budget(desk, configure):
    configure(LLM_CALLS_PER_DAY=5, LLM_AGENT_SHARE=0.5)
    other = type(desk)(Memory("home", "bob"), desk.model)
    texts(desk, 5)
    desk.work()
    assert len(desk.model.calls) == 3, "half of five, rounded up"
    other.hand_over("The van was sold.")
    desk.later()
    assert {one.who: one.calls for one in AgentSpend.objects.all()} == {"agent:alice": 3, "agent:bob": 1}
    assert spend().calls == 4
    assert Extraction.objects.filter(state="waiting", asked_by="agent:alice").count() == 2
    assert (
        "1 agent(s) have used up their share of today's model budget, for example alice (LLM_AGENT_SHARE)"
        in model_status.warnings()
    )
    configure(LLM_CALLS_PER_DAY=5, LLM_AGENT_SHARE=1.0)
    desk.later()
    assert spend().calls == 5


def test_a_share_counts_tokens_too_and_as_the_server_reports_them(desk, configure):
    Memory("home", "bob")
    grain = texts(desk, 3)[0]
    most = prompt.max_call_tokens(Grain.objects.get(uuid=grain))
    configure(LLM_TOKENS_PER_DAY=2 * (most + 340), LLM_AGENT_SHARE=0.5)
    desk.work()
    assert AgentSpend.objects.get().tokens == spend().tokens == 2 * 340


def test_an_agent_alone_in_its_space_has_all_of_the_budget(desk, configure):
    configure(LLM_CALLS_PER_DAY=2, LLM_AGENT_SHARE=0.5)
    texts(desk, 3)
    desk.work()
    assert spend().calls == 2


def test_words_for_a_question_take_the_share_of_who_asks(desk, configure):
    Memory("home", "bob")
    configure(LLM_CALLS_PER_DAY=2, LLM_AGENT_SHARE=0.5)
    space = find_space("home").pk
    assert booth.write(lambda: budget.reserve_call(space, 1, "agent:alice")) is not None
    assert booth.write(lambda: budget.reserve_call(space, 1, "agent:alice")) is None
    assert booth.write(lambda: budget.reserve_call(space, 1, "user:ada")) is not None


def test_a_full_space_keeps_the_text_and_takes_no_statement(desk, configure):
    configure(MAX_GRAINS_PER_SPACE=1)
    (grain,) = texts(desk, 1)
    desk.work()
    assert (desk.row(grain).state, desk.derived()) == ("given_up", [])
    assert "MAX_GRAINS_PER_SPACE" in desk.row(grain).problem


@pytest.mark.parametrize("spent", [None, 0, 10, 5000])
def test_what_a_call_did_cost_takes_the_place_of_what_it_could(desk, spent):
    space = find_space("home").pk
    day = booth.write(lambda: budget.reserve_call(space, 100))
    booth.write(lambda: budget.settle_call(space, day, taken=100, spent=spent))
    assert spend().tokens == (100 if spent is None else spent)
