"""flux_backup, flux_reset, flux_status of a stopped instance"""

from __future__ import annotations

import json
import shutil
from contextlib import closing

import pytest

from tests.concurrency.databases import connect
from tests.instances import tables


def test_a_reset_leaves_a_backup_and_a_first_link_and_a_restore_brings_everything_back(made_on_each_database, tmp_path):
    one, file = made_on_each_database(), tmp_path / "saved.tar.zst"
    _, before, _, done, tail, empty, restored, back, after, verdict = one.commands(
        "flux_agent create helper",
        "flux_audit export",
        f"flux_backup create {file}",
        "flux_reset --confirm test --json",
        "flux_audit tail --json",
        "flux_agent --json",
        f"flux_backup restore {file} --confirm test --json",
        "flux_agent --json",
        "flux_audit export",
        "flux_audit verify --json",
    )
    own = json.loads(done)["backup"]
    assert json.loads(one.command("flux_backup", "verify", own, "--json").stdout)["sound"] is True
    (entry,) = json.loads(tail)["entries"]
    assert entry["action"] == "instance.reset"
    assert json.loads(empty)["agents"] == []
    assert json.loads(restored)["set_aside"]
    assert {agent["name"] for agent in json.loads(back)["agents"]} == {"assistant", "helper"}
    # The chains go on from the backup: the old links unchanged, one new link that names it.
    assert set(before.splitlines()) < set(after.splitlines())
    assert len(after.splitlines()) == len(before.splitlines()) + 1
    assert json.loads(verdict)["sound"] is True


@pytest.mark.proof
def test_a_backup_moves_an_instance_to_an_empty_database(on_each_database, tmp_path):
    """As after the loss of a machine: a new home, a new database, the same memory and the same tokens."""
    old, new = on_each_database("old", tables=True), on_each_database("new")
    _, said, minted, _ = old.commands(
        "flux_init --no-input",
        "flux_store kept --json",
        "flux_token mint assistant --json",
        f"flux_backup create {tmp_path}/saved.tar.zst",
    )
    stored = json.loads(said)
    restored = new.command("flux_backup", "restore", str(tmp_path / "saved.tar.zst"), "--confirm", "new", "--json")
    assert json.loads(restored.stdout)["set_aside"] is None
    new.token = json.loads(minted)["token"]
    new.start()
    assert new.call("GET", f"/grains/{stored['grain_id']}").json()["content"] == "kept"
    assert new.call("POST", "/store", {"content": "goes on"}).status == 200
    assert json.loads(new.command("flux_audit", "verify", "--json").stdout)["sound"] is True


def test_a_reset_needs_the_name_repeated(made):
    one = made()
    unnamed, other = one.commands("flux_reset --json", "flux_reset --confirm other --json")
    assert "--confirm test" in json.loads(unnamed)["error"]["message"]
    assert json.loads(other)["error"]["details"] == {"confirm": "test"}
    assert json.loads(one.command("flux_status", "--json").stdout)["running"] is False  # it is still there


def test_a_reset_empties_a_database_outside_the_home_too(instance, tmp_path):
    shutil.copyfile(tables(), tmp_path / "elsewhere.db")
    one = instance(DATABASE_URL=f"sqlite:///{tmp_path}/elsewhere.db")
    *_, before, _, after = one.commands(
        "flux_init --no-input",
        "flux_agent --json",
        "flux_reset --confirm test",
        "flux_agent --json",
    )
    assert [len(json.loads(said)["agents"]) for said in (before, after)] == [1, 0]


def test_a_backup_of_a_newer_release_changes_nothing(made_on_each_database, tmp_path):
    one = made_on_each_database()
    with closing(connect(one)) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('grains', '9999_far_future', '2030-01-01')"
        )
        one.command("flux_backup", "create", str(tmp_path / "newer.tar.zst"))
        database.execute("DELETE FROM django_migrations WHERE name = '9999_far_future'")
    refused = one.command(
        "flux_backup", "restore", str(tmp_path / "newer.tar.zst"), "--confirm", "test", "--json", check=False
    )
    assert "grains.9999_far_future" in json.loads(refused.stdout)["error"]["message"]
    assert [path.name for path in one.home.iterdir() if not path.name.startswith(".")] == ["test"]
    assert one.command("flux_audit", "verify").returncode == 0


def test_what_an_editor_left_beside_a_key_does_not_spoil_a_backup(made, tmp_path):
    one, file = made(), tmp_path / "b.tar.zst"
    (one.folder / "keys/secret_key~").write_text("old")
    _, verdict = one.commands(f"flux_backup create {file}", f"flux_backup verify {file} --json")
    assert json.loads(verdict)["sound"] is True


def test_a_damaged_backup_changes_nothing(made, tmp_path):
    one = made()
    file = tmp_path / "saved.tar.zst"
    one.command("flux_backup", "create", str(file))
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 3] ^= 1
    file.write_bytes(raw)
    database = (one.folder / "flux.db").read_bytes()
    refused = one.command("flux_backup", "restore", str(file), "--confirm", "test", "--json", check=False)
    assert refused.returncode == 65
    assert (one.folder / "flux.db").read_bytes() == database


def test_a_missing_instance_is_named(instance):
    for command in ("flux_status", "flux_backup"):
        refused = instance("nobody").command(command, "--json", check=False)
        assert "nobody" in json.loads(refused.stdout)["error"]["message"], command


def test_status_of_a_stopped_instance(made):
    status = json.loads(made().command("flux_status", "--json").stdout)
    assert status["running"] is False
    assert status["counts"] == {"spaces": 1, "agents": 1, "grains": 0}  # the first ones
