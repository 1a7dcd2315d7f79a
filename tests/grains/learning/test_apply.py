"""What votes do to conduits: by the formula, along the whole path, in any order, and back to the last digit."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from accounts.principals import shell
from fluxcore.work import worker
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from memory.arena.cache import arena_cache
from memory.engine.text import words
from memory.grains.models import Conduit, Entry, UsefulPair, Vote, VoteEffect
from memory.learning import apply, credit, feedback, ledger
from tests.grains.test_traces import in_a_thread

pytestmark = pytest.mark.storage


def graph() -> list[tuple[object, ...]]:
    """Everything votes may move."""
    return sorted(
        Conduit.objects.values_list(
            "from_entry__kind",
            "from_entry__feature",
            "from_grain",
            "to_grain",
            "relation",
            "weight",
            "affinity",
            "used_at",
            "use_count",
            "base",
            "gain",
            "loss",
        ),
        key=repr,
    )


@pytest.fixture
def talk(memory):
    """A question whose answer comes over a link: the turn after the match."""
    for place, text in enumerate(
        ("Shall we book the ferry to Porto?", "Yes, Zoë says the blue one at nine.", "Then pack the green bag.")
    ):
        memory.store(text, session="trip", speaker="Ada" if place % 2 else "Bo")
    for number in range(6):
        memory.store(f"Nothing to see here, note number {number}", session=f"other {number}")
    memory.drain()
    return memory


def led_there(memory, query="Which ferry to Porto do we book?"):
    """A trace, and a grain of it that a path led to."""
    answer = memory.ask(query, explain=True)
    for why in answer["explanation"]["grains"]:
        if why["path"]:
            return answer, why
    raise AssertionError("no path")


def test_a_useful_vote_moves_every_conduit_of_the_path_towards_one(talk):
    answer, why = led_there(talk)
    steps = [step["conduit"] for step in why["path"]]
    before = dict(Conduit.objects.filter(id__in=steps).values_list("id", "weight"))
    talk.vote(answer["trace_id"], why["grain_id"], useful=True)
    talk.drain()
    vote = Vote.objects.get()
    for conduit in Conduit.objects.filter(id__in=steps):
        effect = VoteEffect.objects.get(conduit=conduit)
        expected = 1 - (1 - before[conduit.pk]) * 2.718281828459045 ** (-effect.gain / credit.UNIT)
        assert before[conduit.pk] < conduit.weight == pytest.approx(expected)
        assert (conduit.base, conduit.use_count) == (before[conduit.pk], 1)
        assert conduit.used_at == int(vote.at.timestamp())


def test_a_harmful_vote_weakens_it(talk):
    answer, why = led_there(talk)
    steps = [step["conduit"] for step in why["path"]]
    before = dict(Conduit.objects.filter(id__in=steps).values_list("id", "weight"))
    talk.vote(answer["trace_id"], why["grain_id"], useful=False)
    talk.drain()
    assert all(conduit.weight < before[conduit.pk] for conduit in Conduit.objects.filter(id__in=steps))


@pytest.mark.either_database
def test_one_full_vote_is_the_seeds_formula():
    up = credit.credit_useful(0.05, 1.0)
    assert credit.credited_weight(0.4, up.gain, 0, 0.95) == pytest.approx(0.4 + 0.05 * 0.6, abs=1e-9)
    down = credit.credit_harmful(0.85, 1.0)
    assert credit.credited_weight(0.4, 0, down.loss, 0.95) == pytest.approx(0.4 * 0.85, abs=1e-9)
    assert credit.credited_affinity(up.gain, 0) == pytest.approx(1.1, abs=1e-6)
    assert credit.credited_affinity(0, down.loss) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.either_database
def test_no_number_of_votes_leaves_the_bounds():
    assert credit.credited_weight(0.5, 10**15, 0, 0.95) == 0.95
    assert 0 <= credit.credited_weight(0.5, 0, 10**13, 0.95) < 1e-9
    assert credit.credited_affinity(10**15, 0) == pytest.approx(2.0)
    assert credit.credited_affinity(0, 10**15) == pytest.approx(0.1)


def test_words_that_failed_lead_to_what_was_missing(talk):
    wanted = talk.store("The vessel sails at nine from the north quay")
    talk.drain()
    answer = talk.ask("ferry departure timetable")
    talk.vote(answer["trace_id"], missed=[wanted])
    talk.drain()
    terms = set(
        Conduit.objects.filter(to_grain__uuid=wanted, from_entry__kind=Entry.Kind.TERM).values_list(
            "from_entry__feature", flat=True
        )
    )
    assert terms == set(words.terms("ferry departure timetable"))  # the grain holds none of them
    assert all(conduit.base == 0 for conduit in Conduit.objects.filter(from_entry__kind=Entry.Kind.TERM))


def test_taken_back_everything_is_as_it_was(talk):
    before = graph()
    answer, why = led_there(talk)
    other = talk.store("The vessel sails at nine from the north quay")
    talk.drain()
    between = graph()
    talk.vote(answer["trace_id"], why["grain_id"], useful=True, missed=[other])
    talk.drain()
    assert graph() != between != before
    for grain in (why["grain_id"], other):
        feedback.withdraw(talk.principal, trace=answer["trace_id"], grain=grain)
    talk.drain()
    assert graph() == between
    assert not VoteEffect.objects.exists() and not UsefulPair.objects.exists()


def test_what_a_link_brought_with_it_comes_back_with_the_last_vote(talk):
    """An import may have brought how often a link was used, when last, and how well its word fits."""
    answer, why = led_there(talk)
    steps = [step["conduit"] for step in why["path"]]
    for link in Conduit.objects.filter(id__in=steps):
        link.made_at, link.used_at, link.use_count = link.made_at - 9_000, link.used_at - 500, 5
        link.affinity = 1.3 if link.from_entry_id else 1.0
        link.save()
    before = graph()
    for useful in (True, False):
        talk.vote(answer["trace_id"], why["grain_id"], useful=useful)
        talk.drain()
        assert graph() != before
    feedback.withdraw(talk.principal, trace=answer["trace_id"], grain=why["grain_id"])
    talk.drain()
    assert graph() == before


def test_neither_order_nor_repetition_changes_the_result(talk, monkeypatch):
    monkeypatch.setattr(apply, "PAGE", 3)
    # How much a vote counts is fixed when it comes, by those before it: one for all here, so that sums compare.
    monkeypatch.setattr(feedback, "learning_scales", lambda grains, besides=(): dict.fromkeys(grains, 1.0))
    asked = [led_there(talk, f"Which ferry to Porto do we book, {n}?") for n in range(4)]
    said = [
        (answer["trace_id"], grain["id"], (n + m) % 3 > 0)
        for n, (answer, _) in enumerate(asked)
        for m, grain in enumerate(answer["grains"])
    ]

    def give(order, *, again=False):
        for trace, grain, useful in order:
            talk.vote(trace, grain, useful=useful)
            if again:
                talk.vote(trace, grain, useful=not useful)
                talk.drain()
                talk.vote(trace, grain, useful=useful)
        while Vote.objects.filter(applied=False).exists():
            worker.drain()
        return [row[:7] + row[8:] for row in graph()]  # the moment of a vote is its own

    first = give(said)
    for trace, grain, _ in said:
        feedback.withdraw(talk.principal, trace=trace, grain=grain)
    talk.drain()
    shuffled = random.Random(5).sample(said, len(said))
    assert give(shuffled, again=True) == first


def test_grains_that_are_useful_together_become_neighbours(talk):
    one, other = talk.store("Kim keeps bees"), talk.store("The honey is sold in Delft")
    talk.drain()
    shortcut = Conduit.objects.filter(from_grain__uuid__in=[one, other], to_grain__uuid__in=[one, other], relation=0)
    shortcut.delete()
    for turn in range(3):
        answer = talk.ask(f"Where does the honey of Kim go, turn {turn}?")
        talk.vote(answer["trace_id"], missed=[one, other])
        talk.drain()
        assert shortcut.exists() is (turn == 2)
    assert UsefulPair.objects.filter(conduit__isnull=False).count() == 1
    feedback.withdraw(talk.principal, trace=answer["trace_id"], grain=one)
    talk.drain()
    assert not shortcut.exists()


@pytest.fixture
def joined(talk):
    """Two grains that three answers have made neighbours: their ids, those answers, and the shortcut."""
    one, other = talk.store("Kim keeps bees"), talk.store("The honey is sold in Delft")
    talk.drain()
    shortcut = Conduit.objects.filter(from_grain__uuid__in=[one, other], to_grain__uuid__in=[one, other], relation=0)
    shortcut.delete()
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    asked = [talk.ask(f"zzz qqq {turn}")["trace_id"] for turn in range(3)]
    for trace in asked:
        talk.vote(trace, missed=[one, other])
    talk.drain()
    assert shortcut.exists()
    return asked, shortcut


def test_a_shortcut_is_listed_and_each_vote_that_made_it_names_it(talk, joined):
    asked, shortcut = joined
    (listed,) = ledger.list_shortcuts(shell())
    assert (listed["conduit"], listed["together"]) == (shortcut.get().pk, 3)
    assert set(listed["contents"]) == {"Kim keeps bees", "The honey is sold in Delft"}
    for grain in listed["grain_ids"]:
        assert ledger.explain_vote(shell(), trace=asked[0], grain=grain)["shortcuts"] == [listed]
    ledger.undo_votes(shell(), trace=asked[0])
    talk.drain()
    assert ledger.list_shortcuts(shell()) == []


@pytest.mark.parametrize("page", [1, 3, 200])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_shortcut_that_votes_led_over_goes_with_the_last_of_them(talk, joined, monkeypatch, page, at_once):
    asked, shortcut = joined
    answer = talk.ask("Does Kim keep bees?", explain=True)
    number = shortcut.get().pk
    over = [
        why["grain_id"]
        for why in answer["explanation"]["grains"]
        if number in [step["conduit"] for step in why["path"]]
    ]
    talk.vote(answer["trace_id"], over[0], useful=True)
    talk.drain()
    assert shortcut.get().gain > 0
    monkeypatch.setattr(apply, "PAGE", page)
    for bound in [{"caller": "agent:alice"}] if at_once else [{"trace": one} for one in (*asked, answer["trace_id"])]:
        ledger.undo_votes(shell(), **bound)
        while Vote.objects.filter(applied=False).exists():
            worker.drain()
    assert not shortcut.exists() and not UsefulPair.objects.exists() and not VoteEffect.objects.exists()


def test_a_grain_with_all_the_links_it_may_have_gets_no_shortcut(talk, configure):
    one, other, third = (talk.store(text) for text in ("Kim keeps bees", "Honey is sold in Delft", "Wax is here"))
    talk.drain()
    Conduit.objects.filter(from_grain__isnull=False).delete()
    configure(MAX_EDGES_PER_GRAIN=1)
    for turn in range(3):
        answer = talk.ask(f"zzz qqq {turn}")
        talk.vote(answer["trace_id"], missed=[one, other, third])
        talk.drain()
    assert Conduit.objects.filter(from_grain__isnull=False).count() == 1
    assert UsefulPair.objects.filter(count=3).count() == 3


def test_who_changes_their_mind_and_back_has_said_the_same(talk):
    answer, why = led_there(talk)
    for useful in (True, False, True, False, True):
        talk.vote(answer["trace_id"], why["grain_id"], useful=useful)
    talk.drain()
    often = graph()
    feedback.withdraw(talk.principal, trace=answer["trace_id"], grain=why["grain_id"])
    talk.drain()
    talk.vote(answer["trace_id"], why["grain_id"], useful=True)
    talk.drain()
    assert [row[5] for row in graph()] == [row[5] for row in often]


def test_when_every_vote_changed_meanwhile_the_next_run_sees_to_them(talk):
    answer, why = led_there(talk)
    talk.vote(answer["trace_id"], why["grain_id"], useful=True)
    space = Vote.objects.get().space_id
    run = Run(0, uuid.uuid4(), "learning.apply", space, {}, 1)
    change = apply.apply_votes(run)
    talk.vote(answer["trace_id"], why["grain_id"], useful=False)
    booth.write(change)
    assert not VoteEffect.objects.exists() and not Vote.objects.get().applied
    talk.drain()
    assert Vote.objects.get().applied and all(effect.loss > 0 for effect in VoteEffect.objects.all())


def test_a_vote_that_changes_while_it_is_applied_waits_for_the_next_run(talk):
    answer, why = led_there(talk)
    talk.vote(answer["trace_id"], why["grain_id"], useful=True)
    seen = apply._waiting(Vote.objects.get().space_id)
    talk.vote(answer["trace_id"], why["grain_id"], useful=False)
    assert [one.useful for one in seen] == [True]
    talk.drain()
    assert Vote.objects.values_list("useful", "applied").get() == (False, True)
    assert all(effect.loss > 0 for effect in VoteEffect.objects.filter(gain=0))


def test_a_vote_that_is_taken_back_while_it_is_applied_is_unlearned(talk):
    """The shell writes beside the worker on PostgreSQL: its word must not be lost under the mark that all is done."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    before = graph()
    answer, why = led_there(talk)
    talk.vote(answer["trace_id"], why["grain_id"], useful=True)
    learn = worker.claim()
    work = apply.apply_votes(learn)
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            list(Conduit.objects.select_for_update().values_list("id"))  # the worker comes as far as the links
            working = pool.submit(in_a_thread, lambda: booth.write(work, lock=write_locks.lock_name(learn.space)))
            until(lambda: waiting() == 1)
            undoing = pool.submit(in_a_thread, lambda: ledger.undo_votes(shell(), grain=why["grain_id"]))
            until(lambda: waiting() == 2 or undoing.done())
        working.result(timeout=10)
        assert undoing.result(timeout=10)["undone"] == 1
    talk.drain()
    assert Vote.objects.values_list("applied", flat=True).get() is True
    assert not VoteEffect.objects.exists() and graph() == before


def waiting() -> int:
    """How many wait for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")
        return int(cursor.fetchone()[0])


def until(seen: Callable[[], bool]) -> None:
    for _ in range(500):
        if seen():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to that")
