"""flux_audit"""

from __future__ import annotations

import json

import pytest

from accounts.models import AuditEntry
from fluxsite.home import DataHome, make_home


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    """A data home of its own: checkpoints stay, the chains of a test do not."""
    settings.HOME = DataHome("tests", tmp_path / "home")
    make_home(settings.HOME)
    return settings.HOME


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


def test_a_checkpoint_on_demand_sees_a_cut_end(run, api):
    api.post("/store", {"content": "one"})
    made = run("flux_audit", "checkpoint", "--json").json()
    assert set(made["chains"]) == {"instance", AuditEntry.objects.get(action="grains.store").chain}
    assert run("flux_audit", "checkpoint", "--json").json()["chains"] == {}
    found = {chain["space"]: chain for chain in run("flux_audit", "verify", "--json").json()["chains"]}
    count = found["home"]["entries"]
    assert found["home"]["checkpoint"]["entries"] == count
    AuditEntry.objects.filter(action="grains.store").delete()
    verdict = run("flux_audit", "verify", "--space", "home", "--json")
    assert verdict.status == 1
    assert [chain["broken_at"] for chain in verdict.json()["chains"]] == [count]
    assert f"entry {count} is missing" in " ".join(run("flux_audit", "verify").text.split())
    refused = run("flux_audit", "checkpoint", "--json")
    assert (refused.status, refused.json()["broken"][0]["broken_at"]) == (1, count)


def test_a_chain_that_is_gone_is_missed_by_name(run, api):
    run("flux_audit", "checkpoint")
    AuditEntry.objects.exclude(chain="instance").delete()
    found = run("flux_audit", "verify", "--json").json()["chains"]
    assert [(chain["space"], chain["broken_at"]) for chain in found if chain["broken_at"]] == [("home", 1)]


def test_a_log_that_was_changed_is_named_with_its_line(run, api, home):
    run("flux_audit", "checkpoint")
    home.checkpoints.write_text(home.checkpoints.read_text().replace('"kind":"checkpoint"', '"kind":"reset"'))
    verdict = run("flux_audit", "verify", "--json")
    assert verdict.status == 1
    (place,) = verdict.json()["checkpoints"]
    assert (place["file"], place["problem"]) == (str(home.checkpoints), "line 2 has an invalid signature")
    assert "line 2 has an invalid signature" in " ".join(run("flux_audit", "verify").text.split())


def test_verification_says_when_there_is_no_checkpoint_yet(run, api):
    assert "No checkpoint yet" in run("flux_audit", "verify").text
    run("flux_audit", "checkpoint")
    assert "No checkpoint yet" not in run("flux_audit", "verify").text


def test_a_key_is_followed_by_another_with_a_reason(run, api, home):
    run("flux_audit", "checkpoint")
    found = run("flux_audit", "rotate-key", "--reason", "yearly", "--json").json()
    assert (home.keys / "audit_public_keys").read_text().split() == found["keys"]
    entry = run("flux_audit", "tail", "--space", "instance", "--limit", "1", "--json").json()["entries"][0]
    assert (entry["action"], entry["reason"]) == ("audit.rotate_key", "yearly")
    assert found["key"] in entry["details"]
    assert run("flux_audit", "verify").status == 0


def test_copies_kept_elsewhere_are_asked_too(run, api, home, tmp_path):
    run("flux_audit", "checkpoint")
    (tmp_path / "kept").write_bytes(home.checkpoints.read_bytes())
    (tmp_path / "key").write_bytes((home.keys / "audit_public_keys").read_bytes())
    kept = ("--checkpoints", str(tmp_path / "kept"), "--public-key", str(tmp_path / "key"))
    assert run("flux_audit", "verify", *kept).status == 0
    for path in (home.checkpoints, *home.keys.glob("audit_*")):
        path.unlink()
    AuditEntry.objects.all().delete()
    assert run("flux_audit", "verify").status == 0  # nothing here remembers anything
    verdict = run("flux_audit", "verify", *kept, "--json")
    assert verdict.status == 1
    assert {chain["broken_at"] for chain in verdict.json()["chains"]} == {1}


def test_an_outside_folder_that_is_away_is_said_by_every_command(run, api, settings, tmp_path):
    settings.CHECKPOINTS = tmp_path / "away"
    made = run("flux_audit", "checkpoint", "--json")
    assert (made.status, bool(made.json()["chains"])) == (1, True)
    assert "No such file" in made.json()["outside"]
    assert run("flux_audit", "verify").status == 1
    assert any("cannot be read" in warning for warning in run("flux_status", "--json").json()["warnings"])
    settings.CHECKPOINTS.mkdir()
    assert run("flux_audit", "checkpoint").status == 0
    assert run("flux_audit", "verify").status == 0
