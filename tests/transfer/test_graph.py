"""The graph for other programs: whole or around one grain, bounded, and without what is held back."""

from __future__ import annotations

import json
import uuid
from itertools import pairwise

import networkx
import pytest

from memory.grains import store
from memory.grains.import_export import imported_link
from memory.grains.lifecycle import verbs
from memory.grains.models import Conduit, Grain
from memory.transfer import graph_export
from tests.rest.routes import refused


@pytest.fixture
def chain(who):
    """Five grains, each leading to the next."""
    ids = [store.store(who, content=f"link {n} of a chain")["grain_id"] for n in range(5)]
    ties = [
        {"from": one, "to": other, "relation": "caused_by", "weight": 0.4 + n / 10}
        for n, (one, other) in enumerate(pairwise(ids))
    ]
    imported_link.import_links(who, links=ties, source="test")
    return ids


def test_it_holds_grains_entries_and_links(who):
    store.store(who, content="Anna went to Lisbon on 3 May 2026", tags=["travel"])
    found = graph_export.export_graph(who)
    (grain,) = found.grains.values()
    assert (grain["content"], grain["provenance"], grain["tags"]) == (
        "Anna went to Lisbon on 3 May 2026",
        "ai_stated",
        "#travel",
    )
    assert {"name:anna", "name:lisbon"} <= set(found.entries)
    assert all(one[2]["relation"] == "mentions" and 0 < one[2]["weight"] <= 0.5 for one in found.links)


@pytest.mark.parametrize("hops, reached", [(1, {1, 2, 3}), (2, {0, 1, 2, 3, 4})])
def test_around_a_grain_it_reaches_both_ways_and_no_further(who, chain, hops, reached):
    assert set(graph_export.export_graph(who, around=chain[2], hops=hops).grains) == {chain[n] for n in reached}


def test_what_does_not_fit_is_said(who, chain):
    found = graph_export.export_graph(who, limit=2)
    assert (set(found.grains), found.more) == ({chain[3], chain[4]}, True)
    near = graph_export.export_graph(who, around=chain[2], hops=2, limit=2)
    assert (set(near.grains), near.more) == ({chain[2], chain[3]}, True)  # the stronger link first
    assert graph_export.export_graph(who, limit=None).more is False


def test_what_is_held_back_is_in_no_graph(who, chain):
    verbs.quarantine(who, grain=chain[1])
    verbs.delete(who, grain=chain[3])
    assert set(graph_export.export_graph(who).grains) == {chain[0], chain[2], chain[4]}
    assert set(graph_export.export_graph(who, around=chain[2], hops=4).grains) >= {chain[2]}
    assert not {chain[1], chain[3]} & set(graph_export.export_graph(who, around=chain[2], hops=4).grains)


def test_over_rest_it_comes_in_each_form(make_token, as_agent):
    api = as_agent(make_token(capabilities=("grains.write", "graph.export")))
    grain = api.post("/store", {"content": "Anna went to Lisbon"}).json()["grain_id"]
    plain = api.get("/graph/export")
    assert plain.headers["Content-Type"] == "application/json"
    read = networkx.node_link_graph(plain.json(), edges="links")
    assert read.nodes[grain]["content"] == "Anna went to Lisbon" and plain.json()["more"] is False
    ml = api.get("/graph/export", format="graphml", around=grain, headers={"Accept": "application/graphml+xml"})
    assert ml.headers["Content-Type"] == "application/graphml+xml"
    assert networkx.parse_graphml(ml.content.decode()).has_node(grain)
    assert api.get("/graph/export", format="dot").content.startswith(b"digraph flux {")


@pytest.mark.parametrize(
    "query, status, code",
    [
        ({"format": "pdf"}, 422, "invalid"),
        ({"around": "banana"}, 422, "invalid"),
        ({"hops": "9"}, 422, "invalid"),
        ({"limit": "0"}, 422, "invalid"),
        ({"limit": "x"}, 422, "invalid"),
        ({"page": "1"}, 422, "invalid"),
        ({"around": str(uuid.UUID(int=5))}, 404, "not_found"),
    ],
    ids=str,
)
def test_bad_input(make_token, as_agent, query, status, code):
    refused(as_agent(make_token(capabilities=("graph.export",))).get("/graph/export", **query), status, code)


def test_another_spaces_grain_is_none(make_token, as_agent):
    theirs = as_agent(make_token("bo", space="other")).post("/store", {"content": "theirs"}).json()["grain_id"]
    mine = as_agent(make_token(capabilities=("graph.export",)))
    refused(mine.get("/graph/export", around=theirs), 404, "not_found")
    assert "theirs" not in json.dumps(mine.get("/graph/export").json())
    assert Grain.objects.count() == 1 and Conduit.objects.count() == 0
