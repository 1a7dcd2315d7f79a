"""An agent's own memory over REST, as the handbook of agentd has it and better where it was silent."""

from __future__ import annotations

import pytest

from accounts import audit
from accounts.models import AuditEntry, Space
from tests.rest.routes import refused

MINE = "/agents/alice/kv"


def test_what_is_written_is_read_with_its_particulars(alice):
    written = alice.put(f"{MINE}/config", {"value": {"theme": "dark", "max_retries": 3}}).json()
    assert (written["version"], written["expires_at"]) == (1, None)
    found = alice.get(f"{MINE}/config")
    assert found.status_code == 200 and found.headers["ETag"] == '"v1"'
    assert found.json() == {
        "key": "config",
        "value": {"theme": "dark", "max_retries": 3},
        "version": 1,
        "sha": written["sha"],
        "bytes": 32,
        "expires_at": None,
        "writer": "agent:alice",
        "written_at": found.json()["written_at"],
    }
    assert alice.put(f"{MINE}/config", {"value": 2}).json()["version"] == 2


@pytest.mark.parametrize("value", [None, True, 0, 1, 1.0, -2.5, "", "é\u0000", [], {}, [{"a": [None]}]])
def test_any_json_comes_back_as_it_was(alice, value):
    alice.put(f"{MINE}/any", {"value": value})
    found = alice.get(f"{MINE}/any").json()["value"]
    assert found == value and type(found) is type(value)


def test_agents_do_not_see_each_other(alice, bob):
    alice.put(f"{MINE}/same", {"value": "alice's"})
    bob.put("/agents/bob/kv/same", {"value": "bob's"})
    assert alice.get(f"{MINE}/same").json()["value"] == "alice's"
    assert refused(bob.get(f"{MINE}/same"), 403, "forbidden")["missing"] == "memory.read@alice:same"
    assert refused(bob.put(f"{MINE}/same", {"value": 1}), 403, "forbidden")["missing"] == "memory.write@alice:same"


def test_compare_and_set_by_version(alice):
    assert alice.put(f"{MINE}/n", {"value": 1, "expected_version": 0}).json()["version"] == 1
    again = refused(alice.put(f"{MINE}/n", {"value": 9, "expected_version": 0}), 409, "conflict")
    assert (again["current_version"], again["current_value"], again["expected_version"]) == (1, 1, 0)
    assert alice.put(f"{MINE}/n", {"value": 2, "expected_version": 1}).json()["version"] == 2
    refused(alice.put(f"{MINE}/n", {"value": 9, "expected_version": 1}), 409, "conflict")
    refused(alice.put(f"{MINE}/n", {"value": 9, "expected_version": 3}), 409, "conflict")
    refused(alice.put(f"{MINE}/other", {"value": 9, "expected_version": 3}), 409, "conflict")
    assert alice.get(f"{MINE}/n").json()["value"] == 2


def test_compare_and_set_by_digest_and_by_value(alice):
    sha = alice.put(f"{MINE}/n", {"value": {"b": 1, "a": [1.0]}}).json()["sha"]
    refused(alice.put(f"{MINE}/n", {"value": 2, "expected_sha": "0" * 64}), 409, "conflict")
    refused(alice.put(f"{MINE}/n", {"value": 2, "expected_value": {"a": [1], "b": 1}}), 409, "conflict")
    assert alice.put(f"{MINE}/n", {"value": 2, "expected_value": {"a": [1.0], "b": 1}}).status_code == 200
    refused(alice.put(f"{MINE}/n", {"value": 3, "expected_sha": sha}), 409, "conflict")
    refused(alice.put(f"{MINE}/n", {"value": 3, "expected_sha": ""}), 409, "conflict")
    assert alice.put(f"{MINE}/new", {"value": 3, "expected_sha": ""}).status_code == 200
    assert alice.put(f"{MINE}/newer", {"value": 3, "expected_value": None}).status_code == 200


def test_headers_say_the_same_as_bodies(alice):
    assert alice.put(f"{MINE}/h", {"value": 1}, headers={"If-None-Match": "*"}).headers["ETag"] == '"v1"'
    refused(alice.put(f"{MINE}/h", {"value": 2}, headers={"If-None-Match": "*"}), 409, "conflict")
    assert alice.put(f"{MINE}/h", {"value": 2}, headers={"If-Match": '"v1"'}).headers["ETag"] == '"v2"'
    refused(alice.put(f"{MINE}/h", {"value": 3}, headers={"If-Match": '"v1"'}), 409, "conflict")
    refused(alice.delete(f"{MINE}/h", headers={"If-Match": '"v1"'}), 409, "conflict")
    both = alice.put(f"{MINE}/h", {"value": 3, "expected_version": 2}, headers={"If-Match": '"v2"'})
    refused(both, 422, "invalid")
    assert alice.get(f"{MINE}/h", headers={"If-None-Match": '"v2"'}).status_code == 304
    assert alice.get(f"{MINE}/h", headers={"If-None-Match": '"v1"'}).status_code == 200


def test_deleting_is_done_once_and_asked_for_often(alice):
    alice.put(f"{MINE}/d", {"value": 1})
    assert alice.delete(f"{MINE}/d").json() == {"key": "d", "deleted": True, "version": 1}
    assert alice.delete(f"{MINE}/d").json()["deleted"] is False
    refused(alice.get(f"{MINE}/d"), 404, "not_found")
    refused(alice.delete(f"{MINE}/d?expected_version=1"), 409, "conflict")
    assert alice.delete(f"{MINE}/d?expected_version=0").json()["deleted"] is False


def test_a_version_is_never_given_twice(alice):
    for version in (1, 2, 3):
        assert alice.put(f"{MINE}/v", {"value": 0}).json()["version"] == version
    alice.delete(f"{MINE}/v")
    assert alice.put(f"{MINE}/v", {"value": 0, "expected_version": 0}).json()["version"] == 4
    refused(alice.put(f"{MINE}/v", {"value": 9, "expected_version": 3}), 409, "conflict")


def test_what_has_expired_is_absent_everywhere(alice, clocks):
    assert alice.put(f"{MINE}/t", {"value": 1, "ttl_secs": 60}).json()["expires_at"] == "2027-01-15T08:01:00.000000Z"
    clocks.passes(59.9)
    assert alice.get(f"{MINE}/t").status_code == 200
    clocks.passes(0.1)
    refused(alice.get(f"{MINE}/t"), 404, "not_found")
    assert alice.get(MINE).json()["keys"] == []
    assert alice.delete(f"{MINE}/t").json()["deleted"] is False
    stale = refused(alice.put(f"{MINE}/t", {"value": 9, "expected_version": 1}), 409, "conflict")
    assert (stale["current_version"], stale["current_value"]) == (0, None)
    assert alice.put(f"{MINE}/t", {"value": 2, "expected_version": 0}).json()["version"] == 2


def test_a_plain_write_clears_the_lifetime(alice, clocks):
    alice.put(f"{MINE}/t", {"value": 1, "ttl_secs": 60})
    assert alice.put(f"{MINE}/t", {"value": 2, "keep_ttl": True}).json()["expires_at"] is not None
    assert alice.put(f"{MINE}/t", {"value": 3, "keep_ttl": True, "expected_version": 2}).json()["expires_at"]
    assert alice.put(f"{MINE}/t", {"value": 4}).json()["expires_at"] is None
    clocks.passes(61)
    assert alice.get(f"{MINE}/t").json()["value"] == 4
    alice.put(f"{MINE}/t", {"value": 5, "ttl_secs": 1})
    clocks.passes(2)
    assert alice.put(f"{MINE}/t", {"value": 6, "keep_ttl": True}).json()["expires_at"] is None, "a lifetime came back"


def test_keys_are_listed_in_order_by_pattern(alice):
    for key in ("config/a/b", "cache.x", "progress/1", "cache.y", "config/a", "cache.y/z", "Zebra", "äpfel"):
        alice.put(f"{MINE}/{key}", {"value": key})

    def listed(**query):
        return [one["key"] for one in alice.get(MINE, **query).json()["keys"]]

    assert listed() == ["Zebra", "cache.x", "cache.y", "cache.y/z", "config/a", "config/a/b", "progress/1", "äpfel"]
    assert listed(pattern="cache.*") == ["cache.x", "cache.y"]
    assert listed(pattern="progress/*") == ["progress/1"]
    assert listed(pattern="config/**") == ["config/a", "config/a/b"]
    assert listed(pattern="*") == listed()
    assert listed(pattern="cache.x") == ["cache.x"]
    assert listed(pattern="**/a") == ["config/a"]
    assert alice.get(MINE, values="true", pattern="äpfel").json()["keys"][0]["value"] == "äpfel"
    assert "value" not in alice.get(MINE).json()["keys"][0]


def test_a_list_comes_page_by_page(alice):
    for number in range(7):
        alice.put(f"{MINE}/k{number}", {"value": number})
    seen, cursor = [], {}
    while True:
        page = alice.get(MINE, limit=3, pattern="k*", **cursor).json()
        seen.append([one["key"] for one in page["keys"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [["k0", "k1", "k2"], ["k3", "k4", "k5"], ["k6"]]


def test_a_list_never_shows_keys_outside_the_scope(alice, with_rights):
    carol = with_rights("memory.read@alice:notes/*", "memory.read:own/*", "memory.write")
    for key in ("notes/a", "notes/a/b", "plans/a", "own/x"):
        alice.put(f"{MINE}/{key}", {"value": 1})
        carol.put(f"/agents/carol/kv/{key}", {"value": 1})
    assert [one["key"] for one in carol.get(MINE).json()["keys"]] == ["notes/a"]
    assert [one["key"] for one in carol.get("/agents/carol/kv").json()["keys"]] == ["own/x"]
    assert carol.get(MINE, limit=1, pattern="plans/*").json() == {"keys": [], "count": 0, "next_cursor": None}


def test_capabilities_decide_key_by_key(with_rights):
    carol = with_rights("memory.read:config", "memory.write:notes", "memory.write:config")
    assert carol.put("/agents/carol/kv/config", {"value": 1}).status_code == 200
    assert carol.get("/agents/carol/kv/config").status_code == 200
    assert carol.put("/agents/carol/kv/notes", {"value": 1}).status_code == 200
    details = refused(carol.get("/agents/carol/kv/notes"), 403, "forbidden")
    assert details["missing"] == "memory.read:notes"
    assert details["ask"]["body"] == {"capability": "memory.read:notes"}
    refused(carol.put("/agents/carol/kv/other", {"value": 1}), 403, "forbidden")
    refused(carol.delete("/agents/carol/kv/other"), 403, "forbidden")
    everything = with_rights("memory.read:*", "memory.write:*", name="dave")
    assert everything.put("/agents/dave/kv/a/b", {"value": 1}).status_code == 200
    nothing = with_rights(name="eve")
    refused(nothing.get("/agents/eve/kv"), 403, "forbidden")
    entry = AuditEntry.objects.filter(outcome="refused").latest("id")
    assert (entry.actor, entry.action) == ("agent:eve", "kv.list")


def test_a_conflict_shows_the_value_only_to_readers(alice, with_rights):
    carol = with_rights("memory.write@alice:*")
    alice.put(f"{MINE}/secret", {"value": "yes"})
    details = refused(carol.put(f"{MINE}/secret", {"value": "no", "expected_version": 7}), 409, "conflict")
    assert details == {"key": "secret", "current_version": 1, "expected_version": 7}


def test_every_write_is_a_link_of_the_chain(alice):
    alice.put(f"{MINE}/a", {"value": "the words", "reason": "because"})
    alice.delete(f"{MINE}/a")
    chain = Space.objects.get(name="home").uuid.hex
    found = AuditEntry.objects.filter(chain=chain, action__startswith="kv.").order_by("seq")
    assert [(one.action, one.object, one.reason) for one in found] == [
        ("kv.set", "agents/alice/a", "because"),
        ("kv.delete", "agents/alice/a", ""),
    ]
    assert not any("the words" in one.details for one in found)
    assert audit.verify(chain).sound


def test_a_retry_counts_once(alice):
    first = alice.post(f"{MINE}/n", {"op": "incr"}, headers={"Idempotency-Key": "one"}).json()
    assert alice.post(f"{MINE}/n", {"op": "incr"}, headers={"Idempotency-Key": "one"}).json() == first
    assert alice.get(f"{MINE}/n").json()["value"] == 1


def test_keys_with_slashes_and_other_scripts(alice):
    for key in ("a/b/c", "incr", "a/incr", "kv", "über/日本", "a b", "a%2Fb", "x?y"):
        path = f"{MINE}/" + key.replace("%", "%25").replace("?", "%3F")
        assert alice.put(path, {"value": key}).json()["key"] == key
        assert alice.get(path).json()["value"] == key
    decomposed = alice.put(f"{MINE}/u\u0308ber/日本", {"value": 2}).json()
    assert (decomposed["key"], decomposed["version"]) == ("über/日本", 2)


def test_a_pattern_is_read_in_the_form_keys_are_kept_in(alice):
    alice.put(f"{MINE}/caf\u00e9/x", {"value": 1})
    assert alice.get(MINE, pattern="cafe\u0301/*").json()["count"] == 1
    alice.post("/locks", {"lock": "caf\u00e9"})
    assert alice.get("/locks", pattern="cafe\u0301").json()["count"] == 1
