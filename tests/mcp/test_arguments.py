"""Arguments are checked against the published schema before a tool runs: our check and a JSON schema library agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from fluxcore.errors import Invalid
from mcp_bridge import arguments, registry
from tests.mcp.test_registry import TOOLS

VALUES: list[Any] = [
    "",
    "a",
    "x" * 300,
    "active",
    "incr",
    0,
    1,
    -1,
    5,
    101,
    10**6,
    0.5,
    -0.1,
    True,
    False,
    {},
    [],
    [1],
    ["a"],
    [{}],
    ["x" * 300],
    ["a"] * 300,
    {"lock": "a", "token": 1},
    {"lock": "a"},
    {"lock": 1, "token": 1},
    {"lock": "a", "token": 0},
    {"lock": "a", "token": 1, "banana": 1},
    [{"content": "a"}],
    [{"trace_id": "a"}],
]


def test_it_judges_as_a_json_schema_library_does() -> None:
    for tool in TOOLS:
        for name, schema in tool.takes.items():
            judge = jsonschema.Draft202012Validator(schema)
            for value in VALUES:
                assert _allowed(schema, value, name) == judge.is_valid(value), (tool.name, name, value)


def _allowed(schema: Mapping[str, Any], value: Any, name: str) -> bool:
    try:
        arguments.check(schema, value, name)
    except Invalid as refusal:
        assert str(refusal.details["field"]).startswith(name)
        return False
    return True


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("board_watch", {"since": {}}, "since must be a text."),
        ("board_watch", {"since": []}, "since must be a text."),
        ("flux_retrieve", {"query": "a", "k": 0}, "k must be a whole number from 1 to 100."),
        ("flux_retrieve", {"query": "a", "min_score": 2}, "min_score must be a number from 0 to 1."),
        ("flux_retrieve", {"query": "a", "tags": [1]}, "tags[0] must be a text."),
        ("memory_set", {"key": "a", "fence": {"lock": "x"}}, "fence needs the field 'token'."),
        ("memory_set", {"key": "a", "fence": {"lock": "x", "token": 1, "b": 2}}, "It takes: lock, token."),
        (
            "memory_set",
            {"key": "a", "fence": {"lock": "x", "token": 0}},
            "fence.token must be a whole number of at least 1",
        ),
        ("memory_change", {"key": "a", "op": "drop"}, "op must be one of incr, append, patch, touch, restore."),
        ("memory_batch", {"operations": ["a"]}, "operations[0] must be an object."),
        ("flux_store", {"content": "a", "reason": "x" * 501}, "reason must have at most 500 characters."),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(tool: str, given: dict[str, Any], says: str) -> None:
    found = registry.find_tool(tool)
    assert found is not None
    with pytest.raises(Invalid) as refused:
        registry.check_arguments(found, given)
    assert says in refused.value.message


def test_null_leaves_an_argument_out_unless_null_is_a_value() -> None:
    found = registry.find_tool("memory_set")
    assert found is not None
    given = {"key": "a", "value": None, "ttl_secs": None, "agent": None}
    assert registry.check_arguments(found, given)[0] == {"key": "a", "value": None}


def test_elements_that_are_refused_one_by_one_are_left_to_the_verb() -> None:
    found = registry.find_tool("flux_store")
    assert found is not None
    given = {"items": [{"content": 5}, {"content": "a", "banana": 1}]}
    assert registry.check_arguments(found, given)[0] == given
