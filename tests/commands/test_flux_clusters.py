"""flux_clusters"""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry
from memory.grains.models import Cluster, Grain


@pytest.fixture
def grown(run):
    run("flux_space", "create", "main")
    for text in ("Anna and Boris planted tomatoes in Kiev.", "Boris and Anna like Kiev.", "Kiev, says Anna to Boris."):
        run("flux_store", text, "--session", "garden")


def test_it_computes_lists_and_shows_clusters(run, grown):
    done = run("flux_clusters", "run", "--space", "main", "--reason", "to look", "--json").json()
    assert (done["run"], done["grains"]["made"], done["entries"]["made"]) == (1, 1, 1)
    assert AuditEntry.objects.filter(action="clusters.recompute", reason="to look").exists()
    found = run("flux_clusters", "--space", "main", "--json").json()
    assert [(one["layer"], one["size"]) for one in found["clusters"]] == [("grains", 3), ("entries", 3)]
    one = found["clusters"][0]
    text = run("flux_clusters", "list", "--space", "main").text
    assert one["id"] in text and one["name"] in text and "modularity" in text
    shown = run("flux_clusters", "show", one["id"], "--space", "main").text
    assert "3 grains" in shown and "Anna and Boris planted" in shown
    members = run("flux_clusters", "show", found["clusters"][1]["id"], "--space", "main", "--json").json()["members"]
    assert {one["entry"]["feature"] for one in members} == {"anna", "boris", "kiev"}


def test_it_says_so_when_there_are_none_or_more(run, grown):
    assert "No clusters yet" in run("flux_clusters", "--space", "main").text
    assert "made" in run("flux_clusters", "run", "--space", "main").text
    assert "There are more" in run("flux_clusters", "--space", "main", "--limit", "1").text
    one = Cluster.objects.get(layer=0)
    assert "There are more" in run("flux_clusters", "show", str(one.uuid), "--space", "main", "--limit", "2").text


@pytest.mark.parametrize("given", [(), ("nonsense",)])
def test_a_cluster_must_be_named(run, grown, given):
    said = run("flux_clusters", "show", *given, "--space", "main", "--json")
    assert (said.status, said.json()["error"]["code"]) == (65, "invalid")


def test_only_one_layer_on_request(run, grown):
    run("flux_clusters", "run", "--space", "main")
    found = run("flux_clusters", "--space", "main", "--layer", "entries", "--json").json()["clusters"]
    assert [one["layer"] for one in found] == ["entries"]
    assert Grain.objects.count() == 3
