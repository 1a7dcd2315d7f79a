"""flux_space"""

from __future__ import annotations


def test_it_makes_and_lists_spaces(run):
    assert run("flux_space", "create", "research", "--json").json()["name"] == "research"
    assert [space["name"] for space in run("flux_space", "--json").json()["spaces"]] == ["research"]
    assert "research" in run("flux_space", "list").text


def test_it_refuses_a_second_space_of_the_name(run):
    run("flux_space", "create", "research")
    refused = run("flux_space", "create", "research", "--json")
    assert refused.json()["error"]["code"] == "conflict"
    assert refused.status == 75


def test_it_refuses_bad_names(run):
    for name in ("Research", "_x", "x-", "a b", "ü", "x" * 65):
        assert run("flux_space", "create", name, "--json").json()["error"]["code"] == "invalid", name


def test_it_says_what_is_missing(run):
    refused = run("flux_space", "create", "--json")
    assert "flux_space create NAME" in refused.json()["error"]["message"]
