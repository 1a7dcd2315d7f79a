"""/graph: the space as packed arrays, texts only for whoever asks, a list for whoever cannot see the canvas"""

from __future__ import annotations

import html
import json
import re
import time
import uuid
from collections.abc import Iterator

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import clock
from memory.arena.cache import arena_cache
from memory.engine.graph import layout
from memory.grains import graph_picture
from memory.grains.models import Cluster, Conduit, Entry, Grain, Member, Relation
from tests.dashboard.conftest import Person, browser, post
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

MOST_STATEMENTS = 12  # of a whole request, the frame and the session included


@pytest.fixture
def memory(people_client, transactional_db) -> Iterator[Memory]:
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    graph_picture._pictures.clear()
    yield Memory()
    for space in arena_cache().spaces():
        arena_cache().drop(space)


@pytest.fixture
def grace(memory):
    """A viewer of the space, signed in."""
    return Person("grace", administrator=False, roles={"home": "viewer"}).sign_in()


def words(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


class Drawn:
    """The arrays, read as the browser reads them."""

    def __init__(self, packed: bytes) -> None:
        length = int.from_bytes(packed[:4], "little")
        assert length % 4 == 0  # what follows is aligned
        self.header = json.loads(packed[4 : 4 + length])
        nodes, grains, links = (self.header[name] for name in ("nodes", "grains", "links"))
        self._rest = packed[4 + length :]
        self.at = self._take("<f4", 2 * nodes).reshape(-1, 2)
        self.pairs = self._take("<u4", 2 * links).reshape(-1, 2)
        ids = self._take("u1", 16 * grains).tobytes()
        self.ids = [str(uuid.UUID(bytes=ids[first : first + 16])) for first in range(0, len(ids), 16)]
        kinds, self.sizes, relations = self._take("u1", nodes), self._take("u1", nodes), self._take("u1", links)
        self.kinds = [self.header["kinds"][one] for one in kinds]
        self.relations = [self.header["relations"][one] for one in relations]
        self.weights = self._take("u1", links) / 255
        self.regions = dict(zip(self.ids, self._take("u1", grains).tolist(), strict=True))
        assert self._rest == b""
        self.names = [*self.ids, *(feature for _, feature in self.header["entries"])]
        self.links = {
            (self.names[one], relation, self.names[two])
            for (one, two), relation in zip(self.pairs.tolist(), self.relations, strict=True)
        }

    def _take(self, kind: str, count: int):
        size = count * np.dtype(kind).itemsize
        found, self._rest = np.frombuffer(self._rest[:size], kind), self._rest[size:]
        assert len(found) == count
        return found


def drawn(client) -> Drawn:
    answer = client.get("/graph/data")
    assert answer.status_code == 200 and answer["Content-Type"] == "application/octet-stream"
    return Drawn(answer.content)


def tie(one: str, two: str, relation: Relation, weight: float) -> None:
    first, second = (Grain.objects.get(uuid=grain) for grain in (one, two))
    now = int(clock.now().timestamp())
    Conduit.objects.create(
        space=first.space, from_grain=first, to_grain=second, relation=relation, weight=weight, made_at=now, used_at=now
    )


# The arrays ----------------------------------------------------------------------------------------
def test_the_largest_clusters_are_named_regions(memory, grace):
    grains = [memory.store(f"fact number {number}") for number in range(30)]
    moment, space = clock.now(), memory.principal.space
    sizes = [5, 4, 4, 3, 3, 3, 3, 3, 2]  # the ninth is too small and too many
    rows = iter(Grain.objects.order_by("id"))
    for place, size in enumerate(sizes):
        cluster = Cluster.objects.create(
            space_id=space,
            layer=0,
            name=f"region {place}" if place else "",
            size=size,
            made_at=moment,
            changed_at=moment,
        )
        for _ in range(size):
            Member.objects.create(space_id=space, cluster=cluster, grain=next(rows))
    found = drawn(grace)
    assert [one["name"] for one in found.header["regions"]] == [
        "unnamed",
        *(f"region {place}" for place in range(1, 8)),
    ]
    assert [one["grains"] for one in found.header["regions"]] == sizes[:8]
    assert [found.regions[grain] for grain in grains[:10]] == [1, 1, 1, 1, 1, 2, 2, 2, 2, 3]
    assert [found.regions[grain] for grain in grains[-2:]] == [0, 0]


def test_without_clusters_there_are_no_regions(memory, grace):
    grain = memory.store("alone")
    found = drawn(grace)
    assert (found.header["regions"], found.regions) == ([], {grain: 0})


def test_grains_entries_and_links_are_drawn_as_they_are(memory, grace):
    one = memory.store("The rent is 800 euro", provenance="user_stated")
    two = memory.store("The rent is 900 euro now")
    three = memory.store("Marta said something on the web", provenance="external_source")
    Grain.objects.filter(uuid=three).update(status="dormant")
    tie(two, one, Relation.SUPERSEDES, 0.75)
    for name in ("alpha", "lonely"):
        Entry.objects.create(space_id=memory.principal.space, kind="name", feature=name)
    now = int(clock.now().timestamp())
    for feature, grain in (("alpha", one), ("alpha", three), ("lonely", one)):
        Conduit.objects.create(
            space_id=memory.principal.space,
            from_entry=Entry.objects.get(feature=feature),
            to_grain=Grain.objects.get(uuid=grain),
            weight=0.5,
            made_at=now,
            used_at=now,
        )
    found = drawn(grace)
    assert sorted(found.ids) == sorted([one, two, three])
    kinds = dict(zip(found.names, found.kinds, strict=True))
    assert (kinds[one], kinds[two], kinds[three], kinds["alpha"]) == ("people", "agents", "faded", "name")
    assert "lonely" not in kinds  # it ties nothing together
    assert {(two, "supersedes", one), ("alpha", "mentions", one), ("alpha", "mentions", three)} <= found.links
    weight = found.weights[found.relations.index("supersedes")]
    assert weight == pytest.approx(0.75, abs=0.01)
    assert np.isfinite(found.at).all() and np.abs(found.at).max() <= 1
    assert len({tuple(place) for place in found.at.tolist()}) == len(found.names)


def test_what_is_held_back_or_of_another_space_is_not_drawn(memory, grace):
    mine = memory.store("Anna works as a nurse")
    held = memory.store("Anna was quarantined")
    dying = memory.store("Anna is to be deleted")
    Grain.objects.filter(uuid=held).update(status="quarantined")
    Grain.objects.filter(uuid=dying).update(status="pending_deletion")
    Memory("elsewhere").store("Anna's secret")
    assert drawn(grace).ids == [mine]


def test_no_text_travels_with_the_arrays(memory, grace):
    memory.store("Anna hides the silver key under the stairs")
    assert b"silver" not in grace.get("/graph/data").content


def test_whoever_has_the_picture_is_told_so_until_something_happens(standing_clock, memory, grace):
    memory.store("Anna works as a nurse")
    first = grace.get("/graph/data")
    again = grace.get("/graph/data", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    memory.ask("Who is a nurse?")
    again = grace.get("/graph/data", headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304, "a recall changes nothing that is drawn"
    memory.store("Ben plays the violin")
    changed = grace.get("/graph/data", headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200 and Drawn(changed.content).header["grains"] == 2
    assert "no-store" in changed["Cache-Control"]


def test_the_same_state_is_drawn_the_same(standing_clock, memory, grace):
    for number in range(30):
        memory.store(f"Note {number % 5} about Anna and {number} trees in Porto")
    first = grace.get("/graph/data").content
    graph_picture._pictures.clear()
    assert grace.get("/graph/data").content == first


def test_of_too_many_the_pinned_the_newest_and_the_most_linked_are_drawn(memory, grace, monkeypatch):
    monkeypatch.setattr(graph_picture, "GRAINS", 6)
    made = [memory.store(f"Fact {'abcdefghijkl'[number]} stands alone") for number in range(12)]
    Conduit.objects.all().delete()
    Grain.objects.filter(uuid=made[0]).update(pinned=True)
    for other in made[4:8]:
        tie(other, made[2], Relation.RELATED, 0.9)
    tie(made[5], made[3], Relation.RELATED, 0.9)
    found = drawn(grace)
    assert found.header["total"] == 12 and len(found.ids) == 6
    assert {made[0], made[2], made[3], made[11], made[10]} <= set(found.ids)
    assert "6 of 12 memories are drawn" in words(grace.get("/graph"))


@pytest.mark.parametrize("much", [3, 60], ids=["little", "much"])
def test_it_costs_few_statements_whatever_there_is(memory, grace, much):
    for number in range(much):
        memory.store(f"Anna bought {number} apples in Porto on day {number}", session="market")
    grain = memory.store("Anna works as a nurse in Porto")
    grace.get("/graph")  # the session is noted as in use
    for path in ("/graph", "/graph/data", f"/graph/grain/{grain}"):
        graph_picture._pictures.clear()
        with CaptureQueriesContext(connection) as statements:
            assert grace.get(path).status_code == 200
        assert len(statements) <= MOST_STATEMENTS, (path, [one["sql"][:90] for one in statements])


# The layout ----------------------------------------------------------------------------------------
def test_linked_nodes_lie_nearer_than_others():
    rng = np.random.default_rng(7)
    group = rng.integers(0, 6, 300)
    pairs = [
        (one, two) for one in range(300) for two in rng.choice(np.flatnonzero(group == group[one]), 3) if one != two
    ]
    at = layout.place_nodes(300, np.array(pairs), np.ones(len(pairs)))
    distance = np.sqrt(((at[:, None] - at[None]) ** 2).sum(2))
    same = group[:, None] == group[None]
    assert distance[same].mean() < 0.5 * distance[~same].mean()


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_nodes_without_links_have_places_too(count):
    at = layout.place_nodes(count, np.zeros((0, 2), np.int64), np.zeros(0))
    assert at.shape == (count, 2) and np.isfinite(at).all()
    assert len({tuple(place) for place in at.tolist()}) == count


def test_the_cost_of_a_layout_grows_with_its_size():
    """A full picture takes .4 s of a core; were it to grow with the square, it would be sixteen times a quarter's."""
    rng = np.random.default_rng(7)

    def cost(share: int) -> float:
        count, links = (graph_picture.GRAINS + graph_picture.ENTRIES) // share, graph_picture.LINKS // share
        pairs, weights = rng.integers(0, count, (links, 2)), rng.random(links)
        spent = []
        for _ in range(3):
            began = time.process_time()
            layout.place_nodes(count, pairs, weights)
            spent.append(time.process_time() - began)
        return min(spent)

    assert cost(1) < 10 * cost(4)


# The page and its panel ----------------------------------------------------------------------------
def test_the_page_lists_the_most_linked_for_whoever_cannot_use_the_canvas(memory, grace):
    hub = memory.store("The hub of it all")
    others = [memory.store(f"Spoke {'abcd'[number]} is apart") for number in range(4)]
    Conduit.objects.all().delete()
    for other in others:
        tie(other, hub, Relation.RELATED, 0.9)
    page = grace.get("/graph")
    listed = re.findall(
        r'<a href="(/admin/grains/grain/\d+/change/)">([^<]+)</a><p class="help">(\d+) link', page.content.decode()
    )
    assert (listed[0][1], listed[0][2]) == ("The hub of it all", "4") and len(listed) == 5
    assert grace.get(listed[0][0]).status_code == 200
    assert "All 5 memories are drawn." in words(page)


def test_a_grain_is_told_with_its_links_and_the_way_to_its_page(memory, grace):
    one = memory.store("The rent is 800 euro", speaker="Anna", session="home", provenance="user_stated")
    two = memory.store("The rent is 900 euro now")
    tie(two, one, Relation.SUPERSEDES, 0.99)
    found = grace.get(f"/graph/grain/{one}").json()
    assert found["text"] == "The rent is 800 euro"
    assert ["Provenance", "Stated by a person"] in found["facts"] and ["Speaker", "Anna"] in found["facts"]
    assert {"relation": "supersedes", "weight": 0.99, "says": "The rent is 900 euro now", "grain": two} in found["ties"]
    assert grace.get(found["address"]).status_code == 200


def test_a_foreign_grain_is_answered_like_one_that_is_not_there(memory, grace):
    foreign = Memory("elsewhere").store("Anna's secret")
    for grain in (foreign, uuid.uuid4()):
        assert grace.get(f"/graph/grain/{grain}").status_code == 404
    assert grace.get("/graph/grain/nonsense").status_code == 404


def test_finding_lights_up_what_a_recall_would_bring(memory, grace):
    nurse = memory.store("Anna works as a nurse in Lisbon")
    memory.store("Ben plays the violin")
    grace.get("/graph")
    assert post(grace, "/graph/find", query="nurse Lisbon").json()["grains"][0] == nurse
    refused = post(grace, "/graph/find", query="  ")
    assert refused.status_code == 422 and refused.json()["code"] == "invalid"
    assert grace.get("/graph/find?query=nurse").status_code == 405


def test_an_empty_space_says_what_will_be_here(grace):
    page = grace.get("/graph")
    assert page.status_code == 200 and "No memories yet" in words(page)
    assert "sigma" not in page.content.decode()
    assert drawn(grace).header["nodes"] == 0


def test_visitors_and_people_without_a_role_see_no_graph(memory):
    memory.store("Anna works as a nurse")
    nobody = Person("heidi", administrator=False).sign_in()
    assert nobody.get("/graph")["Location"] == "/" and nobody.get("/graph/data").status_code == 404
    for path in ("/graph", "/graph/data", f"/graph/grain/{uuid.uuid4()}"):
        assert browser().get(path)["Location"].startswith("/sign-in?")
