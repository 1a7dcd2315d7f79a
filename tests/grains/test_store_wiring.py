"""What a stored text is found by: entries for what it names, its words in the database, and the news for arenas."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import clock
from fluxcore.models import Event, Job
from memory.arena.changes import unpack
from memory.engine.text import words
from memory.grains import full_text, linking, store, texts
from memory.grains.models import Conduit, Entry, Grain, Relation

pytestmark = pytest.mark.storage


def entries(grain):
    found = Conduit.objects.filter(to_grain__text=grain, from_grain=None)
    return set(found.values_list("from_entry__kind", "from_entry__feature"))


def matched(space, *terms):
    """Texts that hold each of the terms."""
    keys = [words.key(term) for text in terms for term in words.terms(text)]
    numbers = [number for _, number in full_text.match_terms(space, keys, 50)]
    return list(Grain.objects.filter(pk__in=numbers).order_by("id").values_list("text", flat=True))


def test_names_and_numbers_become_entries_that_lead_to_the_grain(api):
    text = "Melanie ran 42 km in Lisbon"
    api.post("/store", {"content": text})
    found = entries(text)
    assert {kind for kind, _ in found} == {"name", "number"}
    assert any("melanie" in feature for _, feature in found) and any("lisbon" in feature for _, feature in found)
    conduit = Conduit.objects.first()
    assert (conduit.weight, conduit.affinity, conduit.use_count, conduit.relation) == (0.5, 1, 0, Relation.RELATED)


def test_a_date_is_resolved_against_the_time_it_was_said(api):
    for year in (2023, 2024):
        api.post("/store", {"content": "We met yesterday", "session": f"{year}", "time": f"{year}-05-09T12:00:00Z"})
    features = set(Entry.objects.filter(kind="date").values_list("feature", flat=True))
    assert any("2023-05-08" in feature for feature in features), features
    assert any("2024-05-08" in feature for feature in features), features


def test_grains_that_name_the_same_share_its_entry(api, make_token, as_agent):
    api.post("/store/batch", {"items": [{"content": "Caroline sings"}, {"content": "Ask Caroline about it"}]})
    api.post("/store", {"content": "Where is Caroline?"})
    entry = Entry.objects.get(feature__contains="caroline")
    assert Conduit.objects.filter(from_entry=entry).count() == 3
    as_agent(make_token("bert", space="south")).post("/store", {"content": "Another Caroline, elsewhere"})
    assert Entry.objects.filter(feature=entry.feature).count() == 2  # spaces share nothing


def test_a_text_has_at_most_twelve_entries(api):
    text = " and ".join(f"{name}{name.lower()} Street" for name in "ABCDEFGHIJKLMNOPQRST")
    api.post("/store", {"content": text})
    assert 0 < len(entries(text)) <= 12


def test_its_words_its_speaker_and_its_tags_find_it_at_once(api, principal):
    api.post("/store", {"content": "The tomatoes are ripening", "speaker": "Greta Holm", "tags": ["garden"]})
    api.post("/store", {"content": "Nothing of the kind"})
    tomato = ["The tomatoes are ripening"]
    assert matched(principal.space, "tomato") == matched(principal.space, "ripen") == tomato
    assert matched(principal.space, "Greta") == tomato
    number = Grain.objects.get(text=tomato[0]).pk
    assert full_text.match_terms(principal.space, [words.key("#garden")], 5) == [(0, number)]
    assert matched(principal.space, "submarine") == []


def test_words_are_looked_up_term_by_term_the_newest_first(api, principal):
    for number in range(5):
        api.post("/store", {"content": f"apple {number}" + (" pear" if number == 2 else "")})
    ids = list(Grain.objects.order_by("-id").values_list("id", flat=True))
    apple, pear = words.key("appl"), words.key("pear")
    with CaptureQueriesContext(connection) as sent:
        found = full_text.match_terms(principal.space, [apple, pear], 3)
    assert found == [*[(0, number) for number in ids[:3]], (1, ids[2])]
    assert len(sent) == 1
    assert full_text.match_terms(principal.space, [], 3) == []


def test_words_of_another_space_are_not_found(api, principal, make_token, as_agent):
    as_agent(make_token("bert", space="south")).post("/store", {"content": "a rhinoceros"})
    api.post("/store", {"content": "an elephant"})
    elsewhere = Grain.objects.get(text="a rhinoceros").space_id
    assert matched(principal.space, "rhinoceros") == matched(elsewhere, "elephant") == []
    assert matched(principal.space, "elephant") and matched(elsewhere, "rhinoceros")


def test_words_can_be_noted_again_and_let_go(api, principal):
    api.post("/store", {"content": "tulips"})
    number = Grain.objects.get().pk
    full_text.index_terms(principal.space, [(number, [words.key("rose")])])
    assert matched(principal.space, "tulips") == []
    assert matched(principal.space, "rose") == ["tulips"]
    full_text.remove_terms([number])
    assert matched(principal.space, "rose") == []


def test_each_event_tells_the_arenas_what_is_new(api):
    items = [
        {"content": "Ada asks", "session": "s"},
        {"content": "Bo answers", "session": "s"},
        {"content": "Ada asks"},
    ]
    api.post("/store/batch", {"items": items})
    grains = {str(grain.uuid): grain for grain in Grain.objects.all()}
    told = [(grains[event.subject], unpack(bytes(event.packed))) for event in Event.objects.filter(kind="grain.stored")]
    assert [change.grains for _, change in told] == [(grain.pk,) for grain, _ in told]
    seen = {}
    for _, change in told:
        for row in change.conduits:
            seen[int(row["id"])] = row
    assert set(seen) == set(Conduit.objects.values_list("id", flat=True)) != set()
    for conduit in Conduit.objects.select_related("from_entry"):
        row, entry = seen[conduit.pk], conduit.from_entry
        assert (row["from_entry"], row["from_grain"]) == (conduit.from_entry_id or 0, conduit.from_grain_id or 0)
        assert (row["to_grain"], row["relation"], row["weight"]) == (conduit.to_grain_id, conduit.relation, 0.5)
        assert row["entry_key"] == (words.key(f"{entry.kind}:{entry.feature}") if entry else 0)
        assert (row["made_at"], row["used_at"], row["affinity"]) == (conduit.made_at, conduit.used_at, 1)
    for grain, change in told:  # what leads to a grain comes with it, and so does what it supports
        assert all(row["to_grain"] == grain.pk or row["from_grain"] == grain.pk for row in change.conduits)


def test_one_job_waits_for_the_space_however_much_is_stored(api, principal):
    api.post("/store/batch", {"items": [{"content": f"{number}"} for number in range(5)]})
    api.post("/store", {"content": "one more"})
    assert list(Job.objects.filter(kind="grains.enrich").values_list("space", "state")) == [(principal.space, "queued")]


def test_a_corroboration_asks_for_nothing(api):
    api.post("/store", {"content": "known"})
    Job.objects.all().delete()
    before = Conduit.objects.count()
    api.post("/store", {"content": "known"})
    assert (Job.objects.count(), Conduit.objects.count()) == (0, before)


# Two statements more on PostgreSQL for the turn of the space and one for the head of the audit chain.
LOCKS = {"sqlite": 0, "postgresql": 3}
_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


@pytest.mark.parametrize(("count", "most"), [(1, 12), (100, 16)])
@pytest.mark.django_db(transaction=True)
def test_a_store_costs_a_few_statements_however_much_it_wires(principal, count, most):
    def batch(part):
        return [
            {
                "content": f"{name} met Ada in Lisbon on 5 May 2023 for {number} euros",
                "session": f"s{number % 3}",
                "speaker": "Ada",
                "tags": ["x"],
            }
            for number in range(count)
            for name in [f"Person{part}x{number}"]
        ]

    equal = [{"content": "said everywhere", "session": "s0"}] if count > 1 else []
    store.store_batch(principal, items=[*batch("a")[: count - 1 or 1], *equal])
    with CaptureQueriesContext(connection) as sent:
        if count == 1:
            store.store(principal, **batch("b")[0])
        else:
            store.store_batch(principal, items=[*batch("b")[: count - 2], {"content": "said everywhere"}, *equal])
    statements = [query["sql"][:80] for query in sent if not query["sql"].startswith(_TRANSACTION)]
    assert len(statements) <= most + LOCKS[connection.vendor], "\n".join(statements)


def test_of_a_phrase_said_in_every_session_a_bounded_number_is_looked_through(principal):
    """The first of all is `z`; it lies beyond those that are looked at, and another of the first is supported."""
    given = {"space_id": principal.space, "text": "ok", "digest": texts.digest("ok"), "recorded_at": clock.now()}
    sessions = ["z", *(f"a{number:05}" for number in range(linking.EQUALS))]
    Grain.objects.bulk_create(Grain(origin="ai_stated", session=session, **given) for session in sessions)
    store.store(principal, content="ok", session="new")
    link = Conduit.objects.get(relation=Relation.SUPPORTS)
    assert (link.from_grain.session, link.to_grain.session) == ("new", "a00000")
