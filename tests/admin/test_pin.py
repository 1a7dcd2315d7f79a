"""Verb grains.pin in the admin and for agents."""

from __future__ import annotations

import pytest

from accounts import tokens
from accounts.principals import shell
from fluxcore.errors import Forbidden, Invalid, NotFound
from fluxcore.models import Event
from memory.grains.models import Grain
from memory.grains.pin import pin
from memory.grains.store import store
from tests.admin.conftest import details, entries


@pytest.fixture
def keeper(make_token):
    return tokens.authenticate(make_token("keeper", capabilities=("grains.write", "grains.manage")))


@pytest.fixture
def grain(keeper):
    return store(keeper, content="The spare key hangs behind the door")["grain_id"]


def test_it_pins_and_lets_go_and_says_whether_that_changed_anything(keeper, grain):
    assert pin(keeper, grain=grain, reason="it matters") == {"grain_id": grain, "pinned": True, "changed": True}
    assert Grain.objects.get().pinned
    assert not pin(keeper, grain=grain)["changed"]
    assert pin(keeper, grain=grain, pinned=False)["changed"] and not Grain.objects.get().pinned


def test_it_is_on_the_chain_and_in_the_log(keeper, grain):
    pin(keeper, grain=grain, reason="it matters")
    pin(shell(), grain=grain, pinned=False)
    first, second = entries("grains.pin")
    assert (first.object, first.reason, details(first)) == (grain, "it matters", {"pinned": True, "changed": True})
    assert second.chain == first.chain == keeper.chain, "the grain's own, wherever it was done from"
    kinds = Event.objects.filter(space=keeper.space, subject=grain).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["grain.stored", "grain.pinned", "grain.unpinned"]


def test_it_needs_grains_manage(make_token, grain):
    with pytest.raises(Forbidden):
        pin(tokens.authenticate(make_token("other", capabilities=("grains.write",))), grain=grain)


def test_a_grain_of_another_space_is_answered_like_one_that_is_not_there(make_token, grain):
    stranger = tokens.authenticate(make_token("stranger", space="office", capabilities=("grains.manage",)))
    for number in (grain, "0b2f6c0e-8f0c-4d7c-9f0f-3c1f7c2f9d11"):
        with pytest.raises(NotFound, match="There is no memory with this id"):
            pin(stranger, grain=number)
    assert not Grain.objects.get().pinned


@pytest.mark.parametrize("number", ["", "x", "\0", None, 7, "9" * 9000])
def test_nonsense_is_refused(keeper, number):
    with pytest.raises(Invalid):
        pin(keeper, grain=number)


def test_pinned_is_a_yes_or_a_no(keeper, grain):
    with pytest.raises(Invalid):
        pin(keeper, grain=grain, pinned="maybe")
