"""Steps on what is there, batches in one transaction, and what a key held before."""

from __future__ import annotations

import pytest

from memory.keyvalue.models import Item, Revision
from memory.keyvalue.operations import merged
from tests.rest.routes import refused

MINE = "/agents/alice/kv"


def test_a_number_is_counted_up_and_keeps_its_lifetime(alice, clocks):
    assert alice.post(f"{MINE}/n", {"op": "incr"}).json()["value"] == 1
    assert alice.post(f"{MINE}/n", {"op": "incr", "by": -2.5, "ttl_secs": 60}).json()["value"] == -1.5
    assert alice.post(f"{MINE}/n", {"op": "incr", "by": 2}).json()["expires_at"] is not None
    clocks.passes(60)
    assert alice.post(f"{MINE}/n", {"op": "incr"}).json()["value"] == 1, "it counted on from an expired number"


def test_what_is_no_number_is_not_counted(alice):
    for value in ("1", True, None, [1]):
        alice.put(f"{MINE}/n", {"value": value})
        refused(alice.post(f"{MINE}/n", {"op": "incr"}), 409, "conflict")
    alice.put(f"{MINE}/n", {"value": 2**53 - 1})
    refused(alice.post(f"{MINE}/n", {"op": "incr"}), 409, "conflict")


def test_lists_and_texts_grow(alice):
    assert alice.post(f"{MINE}/l", {"op": "append", "value": 1}).json()["value"] == [1]
    assert alice.post(f"{MINE}/l", {"op": "append", "value": [2]}).json()["value"] == [1, [2]]
    alice.put(f"{MINE}/t", {"value": "ab"})
    assert alice.post(f"{MINE}/t", {"op": "append", "value": "c"}).json()["value"] == "abc"
    refused(alice.post(f"{MINE}/t", {"op": "append", "value": 1}), 409, "conflict")


# The examples of RFC 7396, appendix A.
@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_an_object_is_changed_by_merge_patch(old, patch, new):
    assert merged(old, patch) == new


def test_a_patch_over_rest(alice):
    assert alice.patch(f"{MINE}/o", {"patch": {"a": 1, "b": None}}).json()["value"] == {"a": 1}
    refused(alice.patch(f"{MINE}/o", {"patch": {"a": 2}, "expected_version": 5}), 409, "conflict")
    assert alice.patch(f"{MINE}/o", {"patch": {"a": 2}, "expected_version": 1}).json()["version"] == 2


def test_a_lifetime_is_given_without_changing_the_value(alice, clocks):
    alice.put(f"{MINE}/t", {"value": 1})
    touched = alice.post(f"{MINE}/t", {"op": "touch", "ttl_secs": 10}).json()
    assert (touched["version"], touched["expires_at"] is None) == (1, False)
    assert alice.post(f"{MINE}/t", {"op": "touch"}).json()["expires_at"] is None
    refused(alice.post(f"{MINE}/nothing", {"op": "touch", "ttl_secs": 10}), 404, "not_found")
    refused(alice.post(f"{MINE}/t", {"op": "touch", "expected_version": 2}), 409, "conflict")


def test_who_may_not_read_hears_only_that_it_was_done(with_rights):
    carol, n = with_rights("memory.write"), "/agents/carol/kv/n"
    steps = [carol.post(n, {"op": "incr"}), carol.post(n, {"op": "restore", "version": 1})]
    steps += [
        carol.patch(n, {"patch": {"a": 1}}),
        carol.put(n, {"value": "a"}),
        carol.post(n, {"op": "append", "value": "b"}),
    ]
    assert [sorted({"value", "sha"} & set(step.json())) for step in steps] == [[], [], [], ["sha"], []]


def test_a_batch_is_all_or_nothing(alice):
    done = alice.post(
        "/agents/alice/batch",
        {
            "operations": [
                {"op": "set", "key": "a", "value": 1, "expected_version": 0},
                {"op": "incr", "key": "a", "by": 4},
                {"op": "delete", "key": "b"},
                {"op": "set", "key": "c", "value": None, "ttl_secs": 5},
            ]
        },
    ).json()
    assert [one["version"] for one in done["results"]] == [1, 2, 0, 1] and done["results"][1]["value"] == 5
    half = alice.post(
        "/agents/alice/batch",
        {
            "operations": [
                {"op": "set", "key": "a", "value": "half"},
                {"op": "set", "key": "new", "value": 1, "expected_version": 7},
            ]
        },
    )
    assert refused(half, 409, "conflict")["index"] == 1
    assert alice.get(f"{MINE}/a").json()["value"] == 5
    assert not Item.objects.filter(key="new").exists()


def test_a_batch_is_asked_about_key_by_key(with_rights):
    carol = with_rights("memory.write:notes/*")
    operations = [{"op": "set", "key": "notes/a", "value": 1}, {"op": "set", "key": "plans/a", "value": 1}]
    answer = carol.post("/agents/carol/batch", {"operations": operations})
    assert refused(answer, 403, "forbidden")["missing"] == "memory.write:plans/a"
    assert not Item.objects.exists()


def test_earlier_versions_are_read_and_restored(alice):
    for value in ("one", "two", "three"):
        alice.put(f"{MINE}/h", {"value": value})
    alice.delete(f"{MINE}/h")
    found = alice.get("/agents/alice/history/h").json()
    assert [(one["version"], one["kind"]) for one in found["versions"]] == [
        (3, "deleted"),
        (3, "written"),
        (2, "written"),
        (1, "written"),
    ]
    assert found["current"] is False
    assert alice.get("/agents/alice/history/h", version=1).json()["value"] == "one"
    assert alice.post(f"{MINE}/h", {"op": "restore", "version": 1}).json()["version"] == 4
    assert alice.get(f"{MINE}/h").json()["value"] == "one"
    refused(alice.post(f"{MINE}/h", {"op": "restore", "version": 9}), 404, "not_found")
    refused(alice.get("/agents/alice/history/nothing"), 404, "not_found")


def test_histories_have_a_length(alice, configure):
    configure(KV_HISTORY_VERSIONS=2)
    for value in range(6):
        alice.put(f"{MINE}/h", {"value": value})
    assert [one["version"] for one in alice.get("/agents/alice/history/h").json()["versions"]] == [6, 5, 4]
    configure(KV_HISTORY_VERSIONS=0)
    alice.put(f"{MINE}/none", {"value": 1})
    assert not Revision.objects.filter(item__key="none").exists()


def test_what_had_a_lifetime_does_not_come_back_from_history(alice, clocks):
    alice.put(f"{MINE}/h", {"value": "secret", "ttl_secs": 10})
    alice.put(f"{MINE}/h", {"value": "public"})
    assert alice.get("/agents/alice/history/h", version=1).json()["value"] == "secret"
    clocks.passes(10)
    refused(alice.get("/agents/alice/history/h", version=1), 404, "not_found")
    refused(alice.post(f"{MINE}/h", {"op": "restore", "version": 1}), 404, "not_found")
    assert [one["expired"] for one in alice.get("/agents/alice/history/h").json()["versions"]] == [False, True]


def test_history_follows_a_lifetime_that_was_given_later(alice, clocks):
    past = "/agents/alice/history"
    alice.put(f"{MINE}/short", {"value": 1})
    alice.post(f"{MINE}/short", {"op": "touch", "ttl_secs": 5})
    alice.put(f"{MINE}/long", {"value": 1, "ttl_secs": 5})
    alice.post(f"{MINE}/long", {"op": "touch"})
    clocks.passes(5)
    refused(alice.get(f"{past}/short?version=1"), 404, "not_found")
    refused(alice.post(f"{MINE}/short", {"op": "restore", "version": 1}), 404, "not_found")
    alice.put(f"{MINE}/long", {"value": 2})
    assert alice.get(f"{past}/long?version=1").json()["value"] == 1
