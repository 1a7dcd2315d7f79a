"""Errors for reached limits: the same in REST, MCP, SDK and shell, with value, key and alternative."""

from __future__ import annotations

import ast
import json

import pytest

from flux.errors import refusal as as_client_error
from fluxcore.command_names import typed_command
from fluxcore.config import FIELDS
from fluxcore.errors import QuotaReached, RateLimited
from fluxcore.writes import limit_messages
from mcp_bridge import errors
from tests.instances import ROOT

PACKAGES = ("accounts", "dashboard", "flux", "fluxcore", "fluxsite", "mcp_bridge", "memory")
REFUSALS = {
    "rate": limit_messages.rate_reached("grains:7", limit=500, seconds=60, wait=12.3),
    "quota": limit_messages.quota_reached("boards/main", limit=40, what="bytes", raised_by="MAX_KV_BYTES"),
    "size": limit_messages.too_large("A value", limit=9, raised_by="MAX_KV_VALUE_BYTES", bytes=10),
    "body": limit_messages.body_too_large("A body", 1024),
    "locked": limit_messages.name_locked(limit=10, per_day=50, wait=600),
    "at once": limit_messages.at_once_reached(
        "live feeds", limit=8, raised_by="FLUX_LIVE_SOCKETS_EACH", wait=10, do="Close one first"
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_every_interface_names_the_value_and_the_key_of_a_limit(name):
    error = REFUSALS[name]
    raised_by = error.details.get("raised_by", "This limit is fixed.")
    assert str(error.details["limit"]) in error.message and raised_by in error.message
    text = errors.error_text(error)
    assert error.message in text and json.loads(text.splitlines()[-1]) == error.details
    wait = None if error.retry_after is None else str(error.retry_after)
    there = as_client_error(error.status, json.dumps({**error.body(), "request_id": "r"}).encode(), wait)
    assert (there.message, there.details, there.code) == (error.message, error.details, error.code)


@pytest.mark.parametrize("key", sorted(limit_messages.RATES))
def test_the_key_said_to_raise_a_limit_exists_and_takes_effect_at_once(key):
    rate = limit_messages.RATES[key]
    if rate.raised_by is not None:
        assert FIELDS[rate.raised_by].metadata["hot"]


def test_a_limit_without_a_description_is_named_by_its_value():
    error = limit_messages.rate_reached("new:1", limit=3, seconds=60, wait=1)
    assert isinstance(error, RateLimited) and not isinstance(error, QuotaReached)
    assert (
        error.message
        == "The limit is reached: 3 calls in 60 seconds. Wait for the seconds in Retry-After. This limit is fixed."
    )
    assert "raised_by" not in error.details


def test_no_other_module_writes_messages_of_limits():
    """Whoever raised one of these elsewhere would have to remember value, key and advice by themselves."""
    elsewhere = [
        f"{name}:{line}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (name := str(path.relative_to(ROOT))) not in ("fluxcore/writes/limit_messages.py", "fluxcore/errors.py")
        for line in made_in(ast.parse(path.read_text()))
    ]
    assert elsewhere == []


WRITTEN = {"RateLimited", "TooManyWatches", "NameLocked", "QuotaReached", "TooLarge"}


def made_in(module: ast.AST) -> list[int]:
    """Lines that make one of them: by a call, by raising the class, or by handing it on as `errors.TooLarge`."""
    caught = {
        part
        for node in ast.walk(module)
        if isinstance(node, ast.ExceptHandler) and node.type
        for part in ast.walk(node.type)
    }
    lines = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            found = node.func
        elif isinstance(node, ast.Raise | ast.Return):
            found = node.exc if isinstance(node, ast.Raise) else node.value
        elif isinstance(node, ast.Attribute) and node not in caught:
            found = node
        else:
            continue
        name = found.attr if isinstance(found, ast.Attribute) else getattr(found, "id", "")
        if name in WRITTEN:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("raise TooLarge('x')", True),
        ("made = errors.QuotaReached()", True),
        ("TABLE = [(Their, errors.TooLarge)]", True),
        ("def f(): return NameLocked", True),
        ("made = [RateLimited(limit=1)]", True),
        ("try: f()\nexcept errors.RateLimited: pass", False),
        ("def f(error: TooLarge) -> RateLimited: return rate_reached(error)", False),
    ],
)
def test_the_check_finds_every_way_to_write_a_limit_message(source, seen):
    assert bool(made_in(ast.parse(source))) is seen


def test_a_page_with_a_size_limit_names_the_command_without_one():
    error = limit_messages.too_large_for_a_page("A check", limit=7, unit="entries", command="flux_audit verify")
    command = typed_command("flux_audit verify")
    assert error.message == f"A check has at most 7 entries. `{command}` on the command line has no size limit."
    assert error.details == {"limit": 7, "what": "entries", "without_limit": command}


def test_only_limits_that_flux_import_does_not_have_name_it():
    assert {name for name, error in REFUSALS.items() if "without_limit" in error.details} == {"rate", "body"}
    message, details = limit_messages.over_rate("grains:1", limit=500, cost=600)
    assert "this one has 600" in message and "flux import" in message and details["limit"] == 500
