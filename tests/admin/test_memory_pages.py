"""Admin pages of memory: grains with their links, entries, vectors, and recalls with explanations."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import shell
from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.artifacts import files, reading
from memory.artifacts.contents import NewContent
from memory.artifacts.models import Message
from memory.grains.models import (
    ClusterUse,
    ClusterUseVote,
    Conduit,
    Grain,
    Member,
    Relation,
    Trace,
    Transition,
    Vector,
    Vote,
)
from memory.keyvalue.models import Namespace
from memory.passages import jobs
from memory.recall import grain_recalls
from memory.recall.trace_record import pack_trace
from memory.review.models import ReviewItem
from tests.admin.conftest import list_of, words
from tests.dashboard.conftest import post

HOSTILE = "<script>alert(1)</script> & a very long story " + "that goes on " * 40


@pytest.fixture
def client(house):
    return house.client("operator")


def another(house, text=HOSTILE, **fields):
    grain = house.row("grains.grain")
    return Grain.objects.create(
        space=grain.space,
        text=text,
        digest="d" * 64,
        origin="ai_stated",
        writer="agent:alice",
        recorded_at=clock.now(),
        **fields,
    )


def link(source, target, relation, *, idle_days=0):
    used = int((clock.now() - timedelta(days=idle_days)).timestamp())
    return Conduit.objects.create(
        space=target.space, from_grain=source, to_grain=target, relation=relation, weight=0.8, made_at=0, used_at=used
    )


def test_a_grain_shows_its_links_what_finds_it_and_when_it_was_recalled(house, client):
    grain, trace = house.row("grains.grain"), house.row("grains.trace")
    other = another(house, "The mat was replaced")
    link(other, grain, Relation.SUPERSEDES, idle_days=7)
    booth.write(lambda: grain_recalls.record_recalls([(grain.space_id, trace.pk, [grain.pk])]))
    answer = client.get(house.address("grains.grain"))
    text = words(answer)
    assert "home mat" in text and "The mat was replaced supersedes 0.40" in text
    assert "What lies under the mat of the home?" in text and "agent:alice 1" in text
    for target in (f"grain/{other.pk}", f"trace/{trace.pk}"):
        assert f'href="/admin/grains/{target}/change/"' in answer.content.decode()
    assert f'href="/admin/grains/conduit/?grain={grain.uuid}"' in answer.content.decode()


def test_a_viewer_does_not_see_what_others_asked(house):
    grain, trace = house.row("grains.grain"), house.row("grains.trace")
    booth.write(lambda: grain_recalls.record_recalls([(grain.space_id, trace.pk, [grain.pk])]))
    text = words(house.client("viewer").get(house.address("grains.grain")))
    assert "question of another caller" in text and "What lies under" not in text


def test_a_recall_explains_itself_in_words_and_bars(house, client):
    answer = client.get(house.address("grains.trace"))
    text = words(answer)
    assert "Confidence 80%: the chance that a correct memory is among the first five" in text
    assert "Returned because of shared words (mat)" in text and "Lowered by learned adjustment" in text
    assert "-0.10 learned adjustment" in text and "name:mat related" in text
    body = answer.content.decode()
    assert 'fill="var(--brand)"' in body and 'fill="var(--bad)"' in body
    assert f'href="/admin/grains/grain/{house.row("grains.grain").pk}/change/"' in body


def test_a_cluster_shows_its_most_typical_members(house, client):
    text = words(client.get(house.address("grains.cluster")))
    assert "home, mat" in text and "Most typical members" in text and "0.75" in text


def test_a_touch_shows_the_votes_it_is_the_sum_of(house, client):
    text = words(client.get(house.address("grains.clusteruse")))
    assert f"feedback {house.row('grains.vote').pk} 0.500" in text


def test_a_recall_names_what_is_gone(house, client):
    for model in (ClusterUseVote, ClusterUse, Member, Transition):
        model.objects.all().delete()
    Vote.objects.all().delete()
    Conduit.objects.all().delete()
    Vector.objects.all().delete()
    Grain.objects.filter(pk=house.row("grains.grain").pk).delete()
    assert "purged memory" in words(client.get(house.address("grains.trace")))


def test_an_answer_of_nothing_is_a_page_too(house, client):
    body = {
        "features": [],
        "terms": [],
        "k": 5,
        "bounds": {},
        "weights": {},
        "caps": [],
        "fallback": True,
        "grains": [],
    }
    Trace.objects.filter(pk=house.row("grains.trace").pk).update(body=pack_trace(body), confidence=0)
    assert "No results." in words(client.get(house.address("grains.trace")))


def test_an_entry_shows_where_it_leads(house, client):
    text = words(client.get(house.address("grains.entry")))
    assert "The secret of the home is under the mat" in text and "0.50" in text


def test_texts_of_others_are_shortened_and_harmless_everywhere(house, client):
    grain, hostile = house.row("grains.grain"), another(house)
    made = link(hostile, grain, Relation.RELATED)
    Trace.objects.update(query=HOSTILE, label="<b>x</b>")
    for path in (
        list_of("grains.conduit"),
        f"{list_of('grains.conduit')}{made.pk}/change/",
        house.address("grains.grain"),
        list_of("grains.trace"),
        house.address("grains.trace"),
        list_of("grains.grain"),
    ):
        body = client.get(path).content.decode()
        assert "<script>alert" not in body and "<b>x</b>" not in body, path
    assert "&lt;script&gt;" in client.get(list_of("grains.conduit")).content.decode()
    assert "that goes on " * 20 not in words(client.get(list_of("grains.conduit")))


@pytest.mark.parametrize(
    ("query", "found"),
    [({"relation": "related"}, 1), ({"relation": "next"}, 0), ({"from": "entry"}, 1), ({"from": "grain"}, 0)],
    ids=str,
)
def test_links_are_narrowed(house, query, found):
    Conduit.objects.exclude(pk=house.row("grains.conduit").pk).delete()
    body = house.client("viewer").get(list_of("grains.conduit"), query).content.decode()
    assert len(re.findall(r"/admin/grains/grain/\d+/change/", body)) == found


def test_links_of_one_grain_are_all_that_touch_it(house, client):
    grain, other, third = house.row("grains.grain"), another(house, "one"), another(house, "two", session="s")
    Conduit.objects.all().delete()
    link(other, grain, Relation.RELATED)
    link(grain, third, Relation.RELATED)
    link(other, third, Relation.RELATED)
    body = client.get(list_of("grains.conduit"), {"grain": str(grain.uuid)}).content.decode()
    assert len(set(re.findall(r"/admin/grains/conduit/(\d+)/change/", body))) == 2
    assert client.get(list_of("grains.conduit"), {"grain": "no id"})["Location"].endswith("?e=1")
    foreign = house.row("grains.grain", "office").uuid
    assert "office" not in words(client.get(list_of("grains.conduit"), {"grain": str(foreign)}))


@pytest.mark.parametrize("page", ["grains.grain", "grains.conduit", "grains.entry", "grains.vector", "grains.trace"])
def test_a_page_costs_few_statements_however_much_hangs_on_it(house, client, page):
    grain = house.row("grains.grain")
    for n in range(20):
        link(another(house, f"other {n}", session=f"{n}"), grain, Relation.SUPPORTS)
    client.get(house.address(page))
    with CaptureQueriesContext(connection) as captured:
        assert client.get(house.address(page)).status_code == 200
    sent = [
        query["sql"] for query in captured if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
    ]
    assert len(sent) <= 16, "\n".join(sent)


def test_closing_asks_until_when_and_says_why_not(house, client):
    from tests.dashboard.conftest import post

    Grain.objects.filter(pk=house.row("grains.grain").pk).update(valid_from="2026-03-01T00:00:00Z")
    path = house.address("grains.grain", act="close")
    refused = post(client, path, at="2026-02-01T00:00:00", reason="moved")
    assert refused.status_code == 422 and "The end must be after" in words(refused)
    assert post(client, path, at="", reason="moved").status_code == 302
    grain = Grain.objects.get(pk=house.row("grains.grain").pk)
    assert abs((clock.now() - grain.valid_to).total_seconds()) < 30
    assert "Close" not in words(client.get(house.address("grains.grain"))).split("Text")[0]


def test_a_recalled_value_has_a_page_that_leads_to_its_key_and_no_actions(house, client):
    item = house.row("keyvalue.item")
    Namespace.objects.filter(pk=item.namespace_id).update(recalled="")
    booth.write(lambda: jobs.ask_for_value(item.namespace.space_id, item.pk))
    worker.drain()
    grain = Grain.objects.get(status="value")
    address = f"/admin/grains/grain/{grain.pk}/change/"
    answer = client.get(address)
    assert answer.status_code == 200
    assert f"{item.namespace} key {item.key}" in words(answer) and "/do/" not in answer.content.decode()
    assert f'href="/admin/keyvalue/item/?q={quote(item.key, safe="")}"' in answer.content.decode()
    assert f"/grain/{grain.pk}/" not in client.get(list_of("grains.grain")).content.decode()
    Namespace.objects.update(recalled=None)
    assert client.get(address).status_code in (302, 404)


def test_what_is_hidden_in_values_is_shown_in_lists_and_rows(house, client):
    hidden = "\u202e\u200b\U000e0041"
    Grain.objects.update(text=f"a{hidden}b")
    Message.objects.update(body=json.dumps({"content": f"a{hidden}b"}, ensure_ascii=False))
    for page in ("grains.grain", "artifacts.message"):
        for address in (list_of(page), house.address(page)):
            text = client.get(address).content.decode()
            assert "a⟨U+202E⟩⟨U+200B⟩⟨U+E0041⟩b" in text and not set(hidden) & set(text), address


def test_an_edited_proposal_is_accepted_with_its_line_ends(house, client):
    held = shell(house.row("review.reviewitem").space)
    for text, kept in (("a\nb\n", "mine\n\n"), ("a\r\nb\r\n", "mine\r\n\r\n")):
        content = NewContent.of(text.encode())
        item = files.put_file(held, store="home-rules", path="proposals/other.md", content=content)["proposal"]
        number = ReviewItem.objects.get(uuid=item).pk
        page = f"{list_of('review.reviewitem')}{number}/do/edit/"
        seen = re.search(r'name="seen" value="(\w+)"', client.get(page).content.decode())[1]
        assert post(client, page, seen=seen, reason="clearer", text="mine\r\n\r\n").status_code == 302
        assert reading.read_file(held, store="home-rules", path="other.md")["text"] == kept


def test_a_proposal_shows_its_difference_and_what_is_hidden_in_it(house, client):
    row = house.row("review.reviewitem")
    held = shell(row.space)
    files.put_file(held, store="home-rules", path="proposals/key.md", content=NewContent.of("<b>\u202emat\n".encode()))
    files.put_file(held, store="home-rules", path="key.md", content=NewContent.of(b"Under the mat\n"))
    for address in (house.address("review.reviewitem"), house.address("review.reviewitem", act="accept")):
        page = client.get(address).content.decode()
        assert "-Under the mat\n+&lt;b&gt;⟨U+202E⟩mat\n" in page and "has changed since" in page
    edit = house.address("review.reviewitem", act="edit")
    page = client.get(edit).content.decode()
    assert "<textarea" in page and ">\n&lt;b&gt;\u202emat\n</textarea>" in page, "to be sent back as it was"
    late = post(client, edit, seen="old", reason="read", text="\r\n mine &\r\n")
    assert late.status_code == 409 and ">\n\r\n mine &amp;\r\n</textarea>" in late.content.decode(), (
        "what was typed stays"
    )
    files.put_file(held, store="home-rules", path="proposals/key.md", content=NewContent.of(b"a\r\nb\n"))
    assert edit not in client.get(house.address("review.reviewitem")).content.decode(), "a browser would change it"
    denied = post(client, house.address("review.reviewitem", act="accept"), seen="old", reason="read")
    assert denied.status_code == 409 and "not as you have seen it" in words(denied)
