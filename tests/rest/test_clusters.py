"""GET /clusters and GET /clusters/{id}"""

from __future__ import annotations

import uuid

import pytest

from accounts.models import Space
from fluxcore import clock
from memory.grains.models import Cluster, Entry, Grain, Member
from tests.rest.routes import refused


@pytest.fixture
def clusters(api):
    """Seven clusters of grains, the largest with five members, and one cluster of entries."""
    space, moment = Space.objects.get(name="home"), clock.now()
    made = [
        Cluster.objects.create(
            space=space,
            layer=int(number == 7),
            name=f"n{number}",
            terms=[f"n{number}"],
            size=min(number, 5),
            made_at=moment,
            changed_at=moment,
        )
        for number in range(8)
    ]
    for number in range(5):
        grain = Grain.objects.create(
            space=space,
            text=f"text {number}",
            digest=uuid.uuid4().hex,
            origin="ai_stated",
            writer="x",
            recorded_at=moment,
        )
        Member.objects.create(space=space, cluster=made[6], grain=grain, weight=(0.29, 0.29, 0.29, 1.0, 0.57)[number])
        entry = Entry.objects.create(space=space, kind="name", feature=f"e{number}")
        Member.objects.create(space=space, cluster=made[7], entry=entry, weight=0.5)
    return made


def pages(api, path, key, **query):
    found, cursor = [], None
    while True:
        page = api.get(path, **query, **({"cursor": cursor} if cursor else {})).json()
        found.append(page[key])
        assert page["count"] == len(page[key])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_the_largest_come_first_page_by_page(api, clusters):
    found = pages(api, "/clusters", "clusters", limit=3)
    assert [len(page) for page in found] == [3, 3, 2]
    assert [one["name"] for page in found for one in page] == ["n5", "n6", "n7", "n4", "n3", "n2", "n1", "n0"]
    one = found[0][0]
    assert set(one) == {"id", "name", "terms", "size", "layer", "made_at", "changed_at"}
    assert (one["layer"], one["terms"], one["size"]) == ("grains", ["n5"], 5)


def test_only_one_layer_on_request(api, clusters):
    (page,) = pages(api, "/clusters", "clusters", layer="entries")
    assert [one["name"] for one in page] == ["n7"]


def test_members_come_most_typical_first_page_by_page(api, clusters):
    found = pages(api, f"/clusters/{clusters[6].uuid}", "members", limit=2)
    assert [len(page) for page in found] == [2, 2, 1]
    assert [one["grain"]["content"] for page in found for one in page] == [
        "text 3",
        "text 4",
        "text 0",
        "text 1",
        "text 2",
    ]
    assert found[0][0]["weight"] == 1.0
    assert found[0][0]["entry"] is None


def test_a_cluster_of_entries_has_entries(api, clusters):
    (page,) = pages(api, f"/clusters/{clusters[7].uuid}", "members")
    assert page[0] == {"grain": None, "entry": {"kind": "name", "feature": "e0"}, "weight": 0.5}


def test_what_is_held_back_is_not_quoted(api, clusters):
    Grain.objects.filter(text="text 3").update(status="quarantined")
    (page,) = pages(api, f"/clusters/{clusters[6].uuid}", "members")
    assert "text 3" not in str(page)
    assert len(page) == 4


def test_a_dissolved_one_is_in_no_list_and_says_so_itself(api, clusters):
    Cluster.objects.filter(pk=clusters[1].pk).update(dissolved_at=clock.now())
    assert "n1" not in str(pages(api, "/clusters", "clusters"))
    assert api.get(f"/clusters/{clusters[1].uuid}").json()["dissolved_at"]


def test_a_grain_names_its_cluster(api, clusters):
    grain = Grain.objects.get(text="text 0")
    assert api.get(f"/grains/{grain.uuid}").json()["cluster"] == {"id": str(clusters[6].uuid), "name": "n6"}
    Member.objects.filter(grain=grain).delete()
    assert api.get(f"/grains/{grain.uuid}").json()["cluster"] is None


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("/clusters", {"layer": "planets"}, 422, "invalid"),
        ("/clusters", {"limit": "0"}, 422, "invalid"),
        ("/clusters", {"limit": "many"}, 422, "invalid"),
        ("/clusters", {"cursor": "x"}, 422, "invalid"),
        ("/clusters", {"size": "3"}, 422, "invalid"),
        ("/clusters/nonsense", {}, 404, "not_found"),
        ("/clusters/00000000-0000-0000-0000-000000000000", {}, 404, "not_found"),
    ],
)
def test_bad_input_is_named(api, clusters, path, query, status, code):
    refused(api.get(path, **query), status, code)


def test_clusters_of_another_space_are_not_there(api, clusters, make_token, as_agent):
    other = as_agent(make_token("bob", space="office"))
    assert other.get("/clusters").json()["clusters"] == []
    refused(other.get(f"/clusters/{clusters[6].uuid}"), 404, "not_found")


def test_never_computed_says_null(api):
    assert api.get("/clusters").json() == {
        "clusters": [],
        "count": 0,
        "computed_at": None,
        "modularity": None,
        "next_cursor": None,
    }
