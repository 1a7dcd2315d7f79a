"""Words of the model for a question: only where somebody asked for them, and only if they come in time"""

from __future__ import annotations

import json
import threading

import pytest

from memory.embedding import breaker
from memory.extraction import expansion_words, mode
from memory.extraction.models import ModelServer, ModelSpend
from memory.recall import query_expansion
from tests.extraction.ollama import envelope, fails, http

NOTE = "Our tabby is twelve years old."


def knows(*found):
    """A model that finds these words."""

    def behaviour(server, line, question):
        line.sendall(http(envelope(json.dumps({"words": list(found)}))))

    return behaviour


@pytest.fixture
def asking(desk, configure, monkeypatch, standing_clock):
    from fluxcore import config

    monkeypatch.setattr(breaker, "PAUSE", 60.0)  # whoever has to rest does so until the test is over
    monkeypatch.setattr(expansion_words, "_late", breaker.Breaker(longest=60))
    configure(LLM_QUERY_WORDS_ENABLED=True, LLM_QUERY_MILLISECONDS=150.0)
    # A busy machine must not decide what these tests say: the time itself is the business of one below.
    usual = query_expansion.QueryExpander(mode.question_seconds, mode.words_for)
    monkeypatch.setattr(mode, "question_seconds", lambda: 5.0 if config.current().LLM_QUERY_WORDS_ENABLED else 0.0)
    query_expansion.set_expander(query_expansion.QueryExpander(mode.question_seconds, mode.words_for))
    desk.memory.store(NOTE)
    yield desk
    query_expansion.set_expander(usual)


def asked(desk, query):
    return set(desk.memory.ask(query, explain=True)["features"])


def test_they_find_what_the_question_does_not_name(asking):
    asking.model.behave(knows("tabby", "cat"))
    assert asking.memory.texts("How aged is the feline?")[:1] == [NOTE]
    assert "tabbi" in str(asked(asking, "How aged is the feline?"))
    assert ModelSpend.objects.get().calls == 2


def test_they_are_off_by_default(desk):
    desk.model.behave(knows("tabby"))
    desk.memory.ask("How aged is the feline?")
    assert (desk.model.calls, ModelSpend.objects.count()) == ([], 0)


def test_without_the_mode_nobody_asks(configure):
    configure(LLM_QUERY_WORDS_ENABLED=True, OPERATING_MODE="caller_extracts")
    assert mode.question_seconds() == 0


def test_a_question_waits_no_longer_than_it_may(asking):
    """The finder is still at it when the answer is there."""
    free, done = threading.Event(), threading.Event()

    def slow(space, query):
        free.wait(20)
        done.set()
        return ["tabby"]

    query_expansion.set_expander(query_expansion.QueryExpander(lambda: 0.01, slow))
    answer = asking.memory.ask("How aged is the feline?")
    assert not done.is_set()
    assert "tabbi" not in str(answer["features"])
    free.set()


def test_a_third_question_at_once_goes_without_and_so_does_the_second_of_one_agent(asking):
    free = threading.Event()
    slow = query_expansion.QueryExpander(lambda: 0.01, lambda space, query, who: free.wait(30) and [])
    quick = query_expansion.QueryExpander(lambda: 5.0, lambda space, query, who: ["tabby"])

    def words(expander, who):
        query_expansion.set_expander(expander)
        return query_expansion.start_expansion(1, "a question", who)

    waiting = [words(slow, "agent:alice")]
    assert words(quick, "agent:alice")() == ()
    assert words(quick, "agent:bob")() == ("tabby",)
    waiting.append(words(slow, "agent:bob"))
    assert words(quick, "agent:carol")() == ()
    free.set()
    assert [one() for one in waiting] == [()] * query_expansion.AT_ONCE


@pytest.mark.parametrize("mode", [fails, knows(*["w"] * 9), knows(7), lambda s, line, t: line.sendall(http(b"<html>"))])
def test_a_model_that_fails_costs_only_its_words(asking, mode):
    asking.model.behave(mode)
    assert asking.memory.texts("How old is our tabby?")[:1] == [NOTE]
    assert (ModelServer.objects.get().failures, ModelSpend.objects.get().failed) == (1, 1)
    asking.memory.ask("How old is our tabby?")
    assert len(asking.model.calls) == 1, "while it is down it is asked once a second at most"


def test_a_model_that_is_late_is_not_down(asking, monkeypatch):
    from tests.extraction.ollama import hangs

    asking.model.behave(hangs)
    monkeypatch.setattr(mode, "question_seconds", lambda: 0.05)
    assert list(expansion_words.find_words(asking.memory.principal.space, "How old?")) == []
    assert not ModelServer.objects.filter(failures__gt=0).exists()
    assert list(expansion_words.find_words(asking.memory.principal.space, "How old?")) == []
    assert len(asking.model.calls) == 1, "it is tried again after a pause"


def test_words_the_question_says_itself_are_not_said_twice():
    assert query_expansion._new_words("the old cats", ["cat", "older", "tabby", "tabbies"]) == ("older", "tabby")
    assert len(query_expansion._new_words("", [f"word{number}" for number in range(20)])) == query_expansion.MOST
