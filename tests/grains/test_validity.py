"""grains.close: until when a statement was true"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accounts import tokens
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import Conflict, Forbidden, Invalid, NotFound
from fluxcore.models import Event
from memory.arena.changes import unpack
from memory.grains.models import Grain
from memory.grains.pin import pin
from memory.grains.store import store, store_batch
from memory.grains.validity import close
from tests.admin.conftest import details, entries

MARCH, APRIL = "2026-03-01T00:00:00.000000Z", "2026-04-01T00:00:00.000000Z"


@pytest.fixture
def keeper(make_token):
    return tokens.authenticate(make_token("keeper", capabilities=("grains.write", "grains.manage")))


@pytest.fixture
def grain(keeper):
    return store(keeper, content="Bo lives in Oslo")["grain_id"]


def events():
    return list(Event.objects.filter(kind="grain.closed").order_by("id"))


def test_without_a_moment_it_ends_now(keeper, grain):
    before = clock.now()
    answer = close(keeper, grain=grain)
    end = Grain.objects.get().valid_to
    assert before <= end <= clock.now()
    assert answer == {"grain_id": grain, "valid_to": clock.rfc3339(end), "changed": True}


def test_it_is_on_the_chain_and_the_arenas_are_told(keeper, grain):
    close(keeper, grain=grain, at=MARCH, reason="moved to Bergen")
    (entry,) = entries("grains.close")
    assert (entry.object, entry.reason, entry.chain) == (grain, "moved to Bergen", keeper.chain)
    assert details(entry) == {"valid_to": MARCH, "changed": True}
    (event,) = events()
    assert (event.space, event.subject, event.data) == (keeper.space, grain, {"valid_to": MARCH})
    assert unpack(bytes(event.packed)).grains == (Grain.objects.get().pk,)


def test_pinning_tells_the_arenas_too(keeper, grain):
    pin(keeper, grain=grain)
    pin(keeper, grain=grain, pinned=False)
    told = [unpack(bytes(event.packed)).grains for event in Event.objects.filter(kind__endswith="pinned")]
    assert told == [(Grain.objects.get().pk,)] * 2


def test_the_same_end_again_changes_nothing_and_tells_nobody(keeper, grain):
    close(keeper, grain=grain, at=MARCH)
    assert close(keeper, grain=grain, at="2026-03-01T01:00:00+01:00") == {
        "grain_id": grain,
        "valid_to": MARCH,
        "changed": False,
    }
    assert close(keeper, grain=grain)["valid_to"] == MARCH, "what has ended has ended"
    assert len(events()) == 1 and len(entries("grains.close")) == 3


def test_another_end_is_a_conflict_that_says_what_is_there(keeper, grain):
    close(keeper, grain=grain, at=MARCH)
    with pytest.raises(Conflict) as refusal:
        close(keeper, grain=grain, at=APRIL)
    assert refusal.value.details == {"valid_to": MARCH}
    assert Grain.objects.get().valid_to == datetime(2026, 3, 1, tzinfo=UTC)


def test_an_end_that_lies_ahead_is_not_brought_forward_by_the_way(keeper):
    grain = store(keeper, content="The offer stands", valid_to="2999-01-01T00:00:00Z")["grain_id"]
    with pytest.raises(Conflict):
        close(keeper, grain=grain)


@pytest.mark.parametrize("at", [MARCH, "2026-02-28T23:59:59Z"])
def test_nothing_ends_before_it_begins(keeper, at):
    grain = store(keeper, content="Bo lives in Oslo", valid_from=MARCH)["grain_id"]
    with pytest.raises(Invalid) as refusal:
        close(keeper, grain=grain, at=at)
    assert refusal.value.details == {"field": "at", "valid_from": MARCH}
    assert Grain.objects.get().valid_to is None


def test_it_needs_grains_manage(make_token, grain):
    with pytest.raises(Forbidden):
        close(tokens.authenticate(make_token("other", capabilities=("grains.write",))), grain=grain)


def test_the_shell_closes_in_the_grains_own_space(keeper, grain):
    close(shell(), grain=grain, at=MARCH)
    (entry,), (event,) = entries("grains.close"), events()
    assert (entry.chain, event.space) == (keeper.chain, keeper.space)


def test_a_grain_of_another_space_is_answered_like_one_that_is_not_there(make_token, grain):
    stranger = tokens.authenticate(make_token("stranger", space="office", capabilities=("grains.manage",)))
    for number in (grain, "0b2f6c0e-8f0c-4d7c-9f0f-3c1f7c2f9d11"):
        with pytest.raises(NotFound, match="There is no memory with this id"):
            close(stranger, grain=number)


@pytest.mark.parametrize("number", ["", "x", "\0", None, 7, "9" * 9000])
def test_nonsense_is_refused(keeper, number):
    with pytest.raises(Invalid):
        close(keeper, grain=number)


def test_what_has_ended_and_is_said_again_is_true_again(keeper, grain):
    """An acknowledged text that no question finds would be lost."""
    close(keeper, grain=grain, at=MARCH)
    assert store(keeper, content="Bo lives in Oslo")["status"] == "corroborated"
    assert Grain.objects.get().valid_to is None
    told = Event.objects.get(kind="grain.corroborated")
    assert told.data["reopened"] is True
    assert unpack(bytes(told.packed)).grains == (Grain.objects.get().pk,), "the arenas hear of it"


def test_what_was_to_begin_later_and_is_said_without_a_beginning_is_true_now(keeper):
    store(keeper, content="The bridge is open", valid_from="2999-01-01T00:00:00Z")
    store(keeper, content="The bridge is open", valid_to="2998-01-01T00:00:00Z")
    found = Grain.objects.get()
    assert (found.valid_from, found.valid_to) == (None, datetime(2998, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("known", [False, True])
def test_in_a_batch_too_what_is_said_to_be_true_now_is_true(keeper, known):
    """As if its items had come one by one: an earlier one of another time does not speak for those after it."""
    if known:
        store(keeper, content="Bo lives in Oslo", valid_to=MARCH)
    items = [{"content": "Bo lives in Oslo", "valid_to": MARCH}, {"content": "Bo lives in Oslo"}]
    said = store_batch(keeper, items=items)["results"]
    assert [one["status"] for one in said] == ["corroborated" if known else "stored", "corroborated"]
    found = Grain.objects.get()
    assert (found.valid_to, found.corroborations) == (None, 1 + known)
    first, second = Event.objects.order_by("-id")[:2][::-1]
    assert ("reopened" in first.data, second.data.get("reopened")) == (False, True)
    assert unpack(bytes(first.packed)).grains == (found.pk,), "the arenas hear of it"


@pytest.mark.parametrize("given", [{"valid_to": MARCH}, {"valid_from": "2999-01-01T00:00:00Z"}])
def test_said_again_of_another_time_it_stays_closed(keeper, grain, given):
    close(keeper, grain=grain, at=MARCH)
    store(keeper, content="Bo lives in Oslo", **given)
    assert Grain.objects.get().valid_to == datetime(2026, 3, 1, tzinfo=UTC)
    assert Event.objects.get(kind="grain.corroborated").packed is None


def test_what_holds_now_keeps_its_bounds_when_it_is_said_again(keeper):
    store(keeper, content="The offer stands", valid_from=MARCH, valid_to="2999-01-01T00:00:00Z")
    store(keeper, content="The offer stands")
    found = Grain.objects.get()
    assert (found.valid_from, found.valid_to) == (datetime(2026, 3, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC))
