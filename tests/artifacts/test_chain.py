"""What the audit chain has of stores: every write, and every refusal for want of a right."""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_every_write_and_every_refusal(alice, with_stores):
    alice.post("/stores", {"key": "team", "read_only_prefixes": ["rules"], "reason": "ours"})
    alice.put("/stores", {"key": "team"})
    alice.write("a", "1", reason="first")
    alice.write("a", "1")
    alice.append("a", "2")
    alice.post("/stores/notes/move", {"path": "a", "to": "f/b", "reason": "tidy"})
    alice.post("/stores/notes/move", {"path": "f", "to": "g", "recursive": True})
    alice.post("/stores/notes/restore/a", {"version": 1})
    alice.delete("/stores/notes/files/a?reason=done")
    alice.delete("/stores/notes/files/a")
    alice.post("/stores/notes/delete", {"path": "g"})
    alice.post("/stores/notes/messages", {"messages": [{"role": "user", "content": "x"}]})
    removal = alice.post("/stores/notes/messages/pop", {}).json()["removal"]
    alice.post("/stores/notes/messages/restore", {"removal": removal})
    alice.post("/stores/notes/messages/clear", {})
    alice.delete("/stores/notes")
    alice.post("/stores/notes/undelete", {})
    mine = AuditEntry.objects.filter(actor="agent:alice", outcome="done").order_by("id")
    assert [(entry.action, entry.object) for entry in mine if entry.action != "stores.create"] == [
        ("stores.open", "stores/team"),
        ("files.put", "stores/notes/a"),
        ("files.put", "stores/notes/a"),
        ("files.append_bytes", "stores/notes/a"),
        ("files.move", "stores/notes/a"),
        ("files.move", "stores/notes/f/b"),
        ("files.move", "stores/notes/f/b"),
        ("files.move", "stores/notes/g/b"),
        ("files.restore", "stores/notes/a"),
        ("files.delete", "stores/notes/a"),
        ("files.delete", "stores/notes/a"),
        ("files.delete_folder", "stores/notes/g/b"),
        ("transcript.append", "stores/notes/messages"),
        ("transcript.pop", "stores/notes/messages"),
        ("transcript.restore", "stores/notes/messages"),
        ("transcript.clear", "stores/notes/messages"),
        ("stores.delete", "stores/notes"),
        ("stores.undelete", "stores/notes"),
    ]
    assert {entry.reason for entry in mine} == {"", "ours", "first", "tidy", "done"}

    reader = with_stores("artifacts.read", "transcript.read", name="reader")
    for answer, code in (
        (reader.write("a", "x"), "forbidden"),
        (reader.append("a", "x"), "forbidden"),
        (reader.post("/stores/notes/move", {"path": "a", "to": "b"}), "forbidden"),
        (reader.post("/stores/notes/messages", {"messages": [{"role": "user"}]}), "forbidden"),
        (alice.write("rules/x", "x", "team"), "read_only"),
        (alice.write("Audit/x", "x"), "reserved_path"),
        (alice.delete("/stores/notes/files/meta/x"), "reserved_path"),
    ):
        refused(answer, 403, code)
    entries = AuditEntry.objects.filter(outcome="refused").order_by("id")
    assert [entry.actor for entry in entries] == ["agent:reader"] * 4 + ["agent:alice"] * 3
    assert [name in entries[5].details for name in ("reserved_path", "Audit/x")] == [True, True]


def test_the_same_key_at_each_write_of_bytes_writes_once(alice):
    """Also where the body is a file, and where the first answer was a refusal."""
    large = b"x" * 100_000
    for send, content in ((alice.write, "small"), (alice.write, large), (alice.append, large)):
        path, key = f"{send.__name__}/{len(content)}", {"Idempotency-Key": f"{send.__name__} {len(content)}"}
        first = send(path, content, headers=key)
        assert first.status_code == 200
        alice.write(path, "changed meanwhile")
        again = send(path, content, headers=key)
        assert again.json() == first.json() and again.headers["ETag"] == first.headers["ETag"]
        assert alice.file(path).content == b"changed meanwhile"
        assert refused(send(path, b"other", headers=key), 409, "idempotency_key_reused")
        assert refused(send(f"{path}2", content, headers=key), 409, "idempotency_key_reused")
    key = {"Idempotency-Key": "refused first"}
    assert refused(alice.write("new", "x", expected_sha="0" * 64, headers=key), 409, "conflict")
    assert alice.write("new", "x", headers=key).json()["version"] == 1
