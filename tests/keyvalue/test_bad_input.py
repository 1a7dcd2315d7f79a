"""What is refused, and in which words: keys, values, lifetimes, expectations, quotas."""

from __future__ import annotations

import json

import pytest

from accounts.principals import shell
from fluxcore.errors import Invalid
from memory.keyvalue import verbs
from memory.keyvalue.models import Item, Namespace
from tests.rest.routes import refused

MINE = "/agents/alice/kv"


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 422, "invalid", "value"),
        ({"value": 1, "ttl_secs": 0}, 422, "invalid", "ttl_secs"),
        ({"value": 1, "ttl_secs": -1}, 422, "invalid", "ttl_secs"),
        ({"value": 1, "ttl_secs": 1e12}, 422, "invalid", "ttl_secs"),
        ({"value": 1, "ttl_secs": "60"}, 422, "invalid", "ttl_secs"),
        ({"value": 1, "ttl_secs": True}, 422, "invalid", "ttl_secs"),
        ({"value": 1, "keep_ttl": 1}, 422, "invalid", "keep_ttl"),
        ({"value": 1, "keep_ttl": True, "ttl_secs": 5}, 422, "invalid", "keep_ttl"),
        ({"value": 1, "expected_version": -1}, 422, "invalid", "expected_version"),
        ({"value": 1, "expected_version": 1.0}, 422, "invalid", "expected_version"),
        ({"value": 1, "expected_version": "1"}, 422, "invalid", "expected_version"),
        ({"value": 1, "expected_version": True}, 422, "invalid", "expected_version"),
        ({"value": 1, "expected_sha": "abc"}, 422, "invalid", "expected_sha"),
        ({"value": 1, "expected_sha": "A" * 64}, 422, "invalid", "expected_sha"),
        ({"value": 1, "fence": 3}, 422, "invalid", "fence"),
        ({"value": 1, "fence": {"lock": "a"}}, 422, "invalid", "fence"),
        ({"value": 1, "ttl": 3}, 422, "invalid", "ttl"),
    ],
)
def test_a_bad_body_is_named(alice, body, status, code, field):
    assert refused(alice.put(f"{MINE}/k", body), status, code)["field"] == field
    assert not Item.objects.exists()


@pytest.mark.parametrize("raw", [b"{", b'{"value": NaN}', b'{"value": Infinity}', b'{"value": 1e999}', b"\xff"])
def test_what_is_no_json(alice, raw):
    refused(alice.put(f"{MINE}/k", raw=raw), 400, "bad_json")


def test_half_a_character_is_no_text(alice):
    refused(alice.put(f"{MINE}/k", raw=b'{"value": "\\ud800"}'), 422, "invalid")


@pytest.mark.parametrize("key", ["x" * 513, "a%09b", "a%00", "a%0Ab", "a%0A", "%7F", "%C2%85", "%EF%BF%BF", "é" * 513])
def test_keys_that_nobody_could_name(alice, key):
    for answer in (alice.get(f"{MINE}/{key}"), alice.put(f"{MINE}/{key}", {"value": 1}), alice.delete(f"{MINE}/{key}")):
        assert refused(answer, 422, "invalid")["field"] == "key"


def test_an_empty_key_is_no_address(alice):
    refused(alice.put(f"{MINE}/", {"value": 1}), 404, "not_found")


@pytest.mark.parametrize("pattern", ["", "***", "a\\", "x" * 513])
def test_what_is_no_pattern(alice, pattern):
    assert refused(alice.get(MINE, pattern=pattern), 422, "invalid")["field"] == "pattern"


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 1001}, {"cursor": "x"}, {"cursor": "99"}, {"values": "yes"}, {"a": 1}]
)
def test_bad_lists_are_named(alice, query):
    alice.put(f"{MINE}/k", {"value": 1})
    assert refused(alice.get(MINE, **query), 422, "invalid")["field"] == next(iter(query))


def test_a_value_has_a_size(alice, configure):
    configure(MAX_KV_VALUE_BYTES=20)
    assert alice.put(f"{MINE}/k", {"value": "x" * 18}).status_code == 200
    assert refused(alice.put(f"{MINE}/k", {"value": "x" * 19}), 413, "too_large")["limit"] == 20
    assert refused(alice.post(f"{MINE}/k", {"op": "append", "value": "y"}), 413, "too_large")["limit"] == 20
    assert alice.get(f"{MINE}/k").json()["version"] == 1


def test_a_namespace_holds_so_many_keys(alice, configure, clocks):
    configure(MAX_KV_KEYS=2)
    alice.put(f"{MINE}/a", {"value": 1, "ttl_secs": 10})
    alice.put(f"{MINE}/b", {"value": 1})
    full = refused(alice.put(f"{MINE}/c", {"value": 1}), 413, "quota")
    assert (full["limit"], full["what"]) == (2, "keys")
    assert alice.put(f"{MINE}/b", {"value": 2}).status_code == 200
    clocks.passes(10)
    assert alice.put(f"{MINE}/c", {"value": 1}).status_code == 200, "what has expired took a place"
    alice.delete(f"{MINE}/b")
    assert alice.put(f"{MINE}/d", {"value": 1}).status_code == 200


def test_a_namespace_holds_so_many_bytes(alice, configure):
    configure(MAX_KV_BYTES=100)
    alice.put(f"{MINE}/a", {"value": "x" * 78})
    assert refused(alice.put(f"{MINE}/b", {"value": "x" * 30}), 413, "quota")["what"] == "bytes"
    assert alice.put(f"{MINE}/a", {"value": "x" * 50}).status_code == 200
    assert alice.put(f"{MINE}/b", {"value": "x" * 30}).status_code == 200
    held = Namespace.objects.get()
    assert (held.keys, held.bytes) == (2, 84)


def test_an_agent_writes_so_often_a_minute(alice, configure):
    configure(MAX_KV_WRITES_PER_MINUTE=2)
    alice.put(f"{MINE}/a", {"value": 1})
    alice.put(f"{MINE}/a", {"value": 2})
    answer = alice.put(f"{MINE}/a", {"value": 3})
    assert refused(answer, 429, "rate_limited")["limit"] == 2
    assert int(answer.headers["Retry-After"]) >= 1
    assert alice.get(f"{MINE}/a").json()["value"] == 2
    operations = [{"op": "delete", "key": "a"}] * 3
    refused(alice.post("/agents/alice/batch", {"operations": operations}), 422, "invalid")


@pytest.mark.parametrize(
    ("operations", "status"),
    [
        (None, 422),
        ([], 422),
        ([{}], 422),
        ([{"op": []}], 422),
        ([{"op": "nothing", "key": "a"}], 422),
        ([{"op": "set", "key": "a"}], 422),
        ([{"op": "set", "key": "", "value": 1}], 422),
        ([1], 422),
        ({"op": "set"}, 422),
        ([{"op": "delete", "key": "a", "value": 1}], 422),
        ([{"op": "delete", "key": "a"}] * 101, 422),
        ([{"op": "set", "key": "a", "value": 1, "expected_version": -1}], 422),
    ],
)
def test_bad_batches(alice, operations, status):
    refused(alice.post("/agents/alice/batch", {"operations": operations}), status, "invalid")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"op": "set"},
        {"op": []},
        {"op": "incr", "by": "1"},
        {"op": "incr", "by": True},
        {"op": "append"},
        {"op": "restore"},
        {"op": "restore", "version": 0},
        {"op": "touch", "value": 1},
        {"op": "incr", "value": 1},
    ],
)
def test_bad_steps(alice, body):
    alice.put(f"{MINE}/a", {"value": 1})
    refused(alice.post(f"{MINE}/a", body), 422, "invalid")


def test_a_foreign_agent(alice, with_rights):
    refused(alice.get("/agents/nobody/kv/a"), 403, "forbidden")
    everybody = with_rights("memory.read@*", "memory.write@*")
    refused(everybody.get("/agents/nobody/kv/a"), 404, "not_found")
    refused(everybody.put("/agents/nobody/kv/a", {"value": 1}), 404, "not_found")
    refused(everybody.get("/agents/Nobody!/kv/a"), 422, "invalid")
    assert everybody.put(f"{MINE}/a", {"value": 1}).status_code == 200
    assert everybody.get(f"{MINE}/a").json()["writer"] == "agent:carol"


def test_depth_is_bounded_before_it_hurts(alice):
    deep = json.loads("[" * 40 + "]" * 40)
    refused(alice.put(f"{MINE}/deep", {"value": deep}), 400, "bad_json")


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [10**30, [-(2**53)], nested(33), [0] * 100_002], ids=["big", "low", "deep", "many"])
def test_nothing_is_kept_that_could_not_be_read_again(space, value):
    """A door that reads less strictly than REST brings it, and a list that holds it would fail for everybody."""
    with pytest.raises(Invalid):
        verbs.set_key(shell(space), place="boards/main", key="k", value=value)


def test_a_step_makes_nothing_that_could_not_be_read_again(alice, with_rights):
    alice.put("/boards/main/kv/l", {"value": [0] * 99_999})
    writer = with_rights("bb.write")
    said = [writer.post("/boards/main/kv/l", {"op": "append", "value": 0}).status_code for _ in range(4)]
    assert 422 in said
    assert alice.get("/boards/main/kv/l").status_code == 200


def test_a_refusal_says_what_is_wrong_and_what_to_do(alice, bob):
    alice.put(f"{MINE}/text", {"value": "a"})
    alice.post("/locks", {"lock": "deploy"})
    alice.post("/boards", {"board": "ops"})
    fence = {"lock": "deploy", "token": 1}
    watch = "/watch?place=agents/alice&wait=0&since=999999999.1"
    for answer, message in (
        (alice.get(f"{MINE}/none"), "Key not found in agents/alice."),
        (alice.get("/agents/alice/history/none"), "Key not found: it was never written."),
        (alice.get("/agents/alice/history/text?version=7"), "Version 7 of that key is not in the history."),
        (alice.post(f"{MINE}/text", {"op": "incr"}), "The current value is not a number. incr changes numbers only."),
        (
            alice.put(f"{MINE}/a", {"value": 1, "fence": fence}),
            "fence works on boards only, where locks are: leave it out.",
        ),
        (
            alice.put(f"{MINE}/a", {"value": 1, "keep_ttl": True, "ttl_secs": 5}),
            "ttl_secs and keep_ttl exclude each other: give one of them.",
        ),
        (
            bob.post("/locks", {"lock": "deploy"}),
            "The lock is held by agent:alice. Try again after it expires or is released.",
        ),
        (
            bob.post("/boards", {"board": "ops", "ephemeral": True}),
            "Board ops already exists and is durable. Use another name, or delete it first.",
        ),
        (
            bob.delete("/boards/ops"),
            "This board was created by agent:alice. Agents delete only boards they created; people can delete any.",
        ),
        (alice.delete("/boards/main"), "Board main cannot be deleted. Delete its keys instead."),
        (alice.get(watch), "Position is ahead of the log. Watch without `since`."),
    ):
        assert answer.status_code >= 400
        assert answer.json()["message"] == message
