"""What flux_start prints once the servers answer"""

from __future__ import annotations

from rich.console import Console

from memory.management.welcome import welcome

STATE = {
    "name": "default",
    "ports": {"people": 1},
    "token": None,
    "enrolment": None,
    "mint": None,
    "encoder": None,
    "urls": {"people": "http://127.0.0.1:1", "rest": "http://127.0.0.1:2", "mcp": "http://127.0.0.1:3"},
}


def printed(**state) -> str:
    console = Console(width=80, highlight=False, soft_wrap=True)
    with console.capture() as said:
        welcome(console, {**STATE, **state}, broadcast=False)
    return said.get()


def test_another_encoder_than_the_default_one_is_named():
    assert "Encoder: wordllama is in use [1]" in printed(encoder="wordllama is in use [1]")
    assert "Encoder" not in printed()


def test_without_an_agent_it_says_where_to_make_one():
    said = printed()
    assert "create an agent at http://127.0.0.1:1/agents" in said and "curl" not in said


def test_the_example_leaves_provenance_out():
    """Every token may do that, whatever its maximum provenance."""
    for said in (printed(token="flux_x"), printed(mint="flux token mint assistant")):
        assert "curl http://127.0.0.1:2/store" in said and "provenance" not in said
    assert "export FLUX_TOKEN=$(flux token mint assistant)" in said
