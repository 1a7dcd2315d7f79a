"""Equal texts: said again by the same origin in the same session they corroborate, else they stand side by side."""

from __future__ import annotations

import pytest

from fluxcore.models import Event
from memory.arena.changes import unpack
from memory.grains.models import Conduit, Grain, Relation

pytestmark = pytest.mark.storage


def said(api, content, **fields):
    answer = api.post("/store", {"content": content, **fields})
    assert answer.status_code == 200, answer.content
    return answer.json()


def supports():
    """Who supports whom, by number of grain."""
    found = Conduit.objects.filter(relation=Relation.SUPPORTS).order_by("id")
    return list(found.values_list("from_grain", "to_grain"))


def test_the_same_origin_and_session_is_corroboration(api):
    first = said(api, "The office closes at six", session="a")
    again = said(api, "The  office closes at six ", session="a")
    assert (again["status"], again["grain_id"]) == ("corroborated", first["grain_id"])
    grain = Grain.objects.get()
    assert (grain.corroborations, grain.ordinal, supports()) == (1, 0, [])


def test_another_session_or_origin_is_a_grain_of_its_own_that_supports_the_oldest(api):
    said(api, "The office closes at six")
    said(api, "The office closes at six", session="a")
    said(api, "The office closes at six", session="b")
    said(api, "The office closes at six", session="b", provenance="user_stated")
    oldest, *others = Grain.objects.order_by("id").values_list("id", flat=True)
    assert supports() == [(other, oldest) for other in others]
    assert len(others) == 3


def test_equal_texts_of_one_batch_support_the_first_of_them(api):
    items = [{"content": "Deploy on Friday", "session": name} for name in ("a", "b", "a", "c")]
    results = api.post("/store/batch", {"items": items}).json()["results"]
    assert [one["status"] for one in results] == ["stored", "stored", "corroborated", "stored"]
    first, second, third = Grain.objects.order_by("id")
    assert supports() == [(second.pk, first.pk), (third.pk, first.pk)]
    assert (first.corroborations, second.corroborations) == (1, 0)


def test_a_text_that_stands_many_times_in_a_batch_is_counted_each_time(api):
    api.post("/store/batch", {"items": [{"content": "again"}] * 7 + [{"content": "other"}] * 2})
    assert dict(Grain.objects.values_list("text", "corroborations")) == {"again": 6, "other": 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [("salary 5000", "salary 6000"), ("The cat sleeps", "The cat sleeps."), ("Paris", "paris"), ("a b", "ab")],
)
def test_a_near_copy_is_another_fact(api, one, other):
    assert [said(api, text)["status"] for text in (one, other)] == ["stored", "stored"]
    assert set(Grain.objects.values_list("text", flat=True)) == {one, other}
    assert supports() == []


def test_texts_of_another_space_are_none_of_its_business(api, make_token, as_agent):
    said(api, "The office closes at six", session="a")
    elsewhere = as_agent(make_token("bert", space="south"))
    assert said(elsewhere, "The office closes at six", session="a")["status"] == "stored"
    assert supports() == []
    assert set(Grain.objects.values_list("ordinal", flat=True)) == {0}


@pytest.mark.parametrize(
    ("before", "told"), [("archived", True), ("dormant", True), ("active", False), ("quarantined", False)]
)
def test_the_arenas_hear_of_a_text_that_came_back_from_its_way_out(api, before, told):
    said(api, "still true")
    Grain.objects.update(status=before)
    said(api, "still true")
    packed = Event.objects.get(kind="grain.corroborated").packed
    assert (unpack(bytes(packed)).grains == (Grain.objects.get().pk,)) if told else packed is None
