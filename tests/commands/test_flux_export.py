"""flux_export: a space as lines, or its graph in three forms, to a file of one's own or to the screen"""

from __future__ import annotations

import json

import networkx
import pytest

from accounts.models import AuditEntry


@pytest.fixture
def stored(run):
    run("flux_space", "create", "main")
    for text in ("Anna went to Lisbon", 'Anna likes "trains" & <ferries>\u0001', "Bo stayed in Oslo"):
        run("flux_store", text)


def test_lines_to_the_screen_are_what_a_file_holds(run, stored, tmp_path):
    header, *rest = map(json.loads, run("flux_export", "-").text.splitlines())
    assert (header["grains"], len(rest)) == (3, 3)
    said = run("flux_export", str(tmp_path / "out"), "--json").json()
    assert (said["grains"], said["links"], said["format"]) == (3, 0, "lines")
    assert [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()][1:] == rest
    assert list(tmp_path.glob(".*")) == []


def test_graphml_is_read_by_another_program(run, stored, tmp_path):
    run("flux_export", str(tmp_path / "g.graphml"), "--format", "graphml")
    graph = networkx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    texts = {data["content"] for _, data in graph.nodes(data=True) if data["node"] == "grain"}
    assert texts == {"Anna went to Lisbon", 'Anna likes "trains" & <ferries>\ufffd', "Bo stayed in Oslo"}
    assert graph.has_node("name:anna") and graph.out_degree("name:anna") == 2


def test_node_link_json_is_read_by_another_program(run, stored, tmp_path):
    run("flux_export", str(tmp_path / "g.json"), "--format", "json")
    graph = networkx.node_link_graph(json.loads((tmp_path / "g.json").read_text()), edges="links")
    assert sorted(data["relation"] for _, _, data in graph.edges(data=True))[:2] == ["mentions", "mentions"]


def test_dot_keeps_quotes_inside_their_strings(run, stored):
    said = run("flux_export", "-", "--format", "dot").text
    assert said.startswith("digraph flux {\n") and said.endswith("}\n")
    assert 'label="Anna likes \\"trains\\" & <ferries> "' in said


def test_that_everything_was_taken_out_stands_in_the_audit(run, stored, tmp_path):
    run("flux_export", str(tmp_path / "out"))
    entry = AuditEntry.objects.get(action="grains.exported")
    assert json.loads(entry.details) == {"form": "lines", "grains": 3, "links": 0}
