"""flux_audit"""

from __future__ import annotations

import json

from accounts.models import AuditEntry


def test_it_tails_verifies_and_exports(run, api):
    api.post("/store", {"content": "a fact worth keeping"})
    tail = run("flux_audit", "tail", "--json").json()["entries"]
    assert tail[0]["action"] == "grains.store"
    verdict = run("flux_audit", "verify", "--json")
    assert verdict.status == 0
    assert verdict.json()["sound"] is True
    exported = [json.loads(line) for line in run("flux_audit", "export", "--space", "home").text.splitlines()]
    assert [entry["seq"] for entry in exported] == list(range(1, len(exported) + 1))
    assert "a fact worth keeping" not in json.dumps(exported)


def test_an_edited_entry_ends_verification_with_status_1(run, api):
    api.post("/store", {"content": "one"})
    AuditEntry.objects.filter(action="grains.store").update(actor="agent:mallory")
    verdict = run("flux_audit", "verify", "--json")
    assert verdict.status == 1
    broken = [chain for chain in verdict.json()["chains"] if chain["broken_at"]]
    assert broken[0]["problem"] == "was changed after it was written"


def test_it_filters_by_actor(run, api):
    api.post("/store", {"content": "one"})
    tail = run("flux_audit", "tail", "--actor", "agent:alice", "--json").json()["entries"]
    assert {entry["actor"] for entry in tail} == {"agent:alice"}
