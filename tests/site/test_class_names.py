"""A class name is unique in the code base, nested classes included, so that a search for it finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.instances import ROOT

PACKAGES = ("accounts", "dashboard", "flux", "fluxcore", "fluxsite", "mcp_bridge", "memory")
EVERYWHERE = {"Command", "Meta"}  # Django's own convention
# Names that stand twice, and why.
SDK = "public type of the Python SDK, beside the model it describes"
REASONS = {
    "Conduit": SDK,
    "Grain": SDK,
    "Item": "public type of a batch in the Python SDK, beside the model of a key",
    "Lock": SDK,
    "Task": SDK,
    "Trace": SDK,
    "Vote": SDK,
    "FeedbackDue": "public type of the Python SDK, beside the error of the same name",
}


def test_no_class_name_stands_twice_without_a_reason() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "migrations" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and node.name not in EVERYWHERE:
                    places[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in REASONS} == {}
    assert REASONS.keys() <= twice.keys(), "a reason that is no longer needed"
