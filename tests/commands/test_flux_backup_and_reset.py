"""flux_backup, flux_reset, flux_status of a stopped instance"""

from __future__ import annotations

import json
from contextlib import closing

from tests.concurrency.databases import connect


def test_a_backup_brings_everything_back(on_each_database, tmp_path):
    one = on_each_database()
    one.command("flux_init", "--no-input", "--token-file", str(tmp_path / "token"))
    before = one.command("flux_audit", "export").stdout
    file = str(tmp_path / "saved.zip")
    one.command("flux_backup", "create", file)
    one.command("flux_reset", "--confirm", "test")
    assert json.loads(one.command("flux_agent", "--json").stdout)["agents"] == []
    restored = json.loads(one.command("flux_backup", "restore", file, "--confirm", "test", "--json").stdout)
    assert restored["set_aside"]
    assert len(json.loads(one.command("flux_agent", "--json").stdout)["agents"]) == 1
    # The chains go on from the backup: the old links unchanged, one new link that names it.
    after = one.command("flux_audit", "export").stdout.splitlines()
    assert set(before.splitlines()) < set(after)
    assert len(after) == len(before.splitlines()) + 1
    assert one.command("flux_audit", "verify").returncode == 0


def test_a_backup_moves_an_instance_to_an_empty_database(on_each_database, tmp_path):
    """As after the loss of a machine: a new home, a new database, the same memory and the same tokens."""
    old, new = on_each_database("old"), on_each_database("new")
    old.command("flux_init", "--no-input")
    old.start()
    stored = old.call("POST", "/store", {"content": "kept"}).json()
    old.command("flux_backup", "create", str(tmp_path / "saved.zip"))
    old.stop()
    restored = new.command("flux_backup", "restore", str(tmp_path / "saved.zip"), "--confirm", "new", "--json")
    assert json.loads(restored.stdout)["set_aside"] is None
    new.token = old.token
    new.start()
    assert new.call("GET", f"/grains/{stored['grain_id']}").json()["content"] == "kept"
    assert new.call("POST", "/store", {"content": "goes on"}).status == 200
    assert json.loads(new.command("flux_audit", "verify", "--json").stdout)["sound"] is True


def test_a_reset_needs_the_name_repeated(instance):
    one = instance()
    one.command("flux_init", "--no-input")
    refused = one.command("flux_reset", "--json", check=False)
    assert "--confirm test" in json.loads(refused.stdout)["error"]["message"]
    refused = one.command("flux_reset", "--confirm", "other", "--json", check=False)
    assert refused.returncode == 65


def test_a_reset_leaves_a_backup_and_a_first_link(on_each_database):
    one = on_each_database()
    one.command("flux_init", "--no-input")
    done = json.loads(one.command("flux_reset", "--confirm", "test", "--json").stdout)
    assert json.loads(one.command("flux_backup", "verify", done["backup"], "--json").stdout)["sound"] is True
    (entry,) = json.loads(one.command("flux_audit", "tail", "--json").stdout)["entries"]
    assert entry["action"] == "instance.reset"


def test_a_reset_empties_a_database_outside_the_home_too(instance, tmp_path):
    one = instance(DATABASE_URL=f"sqlite:///{tmp_path}/elsewhere.db")
    one.command("flux_init", "--no-input", "--token-file", str(tmp_path / "token"))
    one.command("flux_reset", "--confirm", "test")
    assert json.loads(one.command("flux_agent", "--json").stdout)["agents"] == []


def test_a_backup_of_a_newer_release_changes_nothing(on_each_database, tmp_path):
    one = on_each_database()
    one.command("flux_init", "--no-input")
    with closing(connect(one)) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('grains', '9999_far_future', '2030-01-01')"
        )
        one.command("flux_backup", "create", str(tmp_path / "newer.zip"))
        database.execute("DELETE FROM django_migrations WHERE name = '9999_far_future'")
    refused = one.command(
        "flux_backup", "restore", str(tmp_path / "newer.zip"), "--confirm", "test", "--json", check=False
    )
    assert "grains.9999_far_future" in json.loads(refused.stdout)["error"]["message"]
    assert [path.name for path in one.home.iterdir() if not path.name.startswith(".")] == ["test"]
    assert one.command("flux_audit", "verify").returncode == 0


def test_what_an_editor_left_beside_a_key_does_not_spoil_a_backup(instance, tmp_path):
    one = instance()
    one.command("flux_init", "--no-input")
    (one.folder / "keys/secret_key~").write_text("old")
    one.command("flux_backup", "create", str(tmp_path / "b.zip"))
    assert json.loads(one.command("flux_backup", "verify", str(tmp_path / "b.zip"), "--json").stdout)["sound"] is True


def test_a_damaged_backup_changes_nothing(instance, tmp_path):
    one = instance()
    one.command("flux_init", "--no-input")
    file = tmp_path / "saved.zip"
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


def test_status_of_a_stopped_instance(instance):
    one = instance()
    one.command("flux_init", "--no-input")
    status = json.loads(one.command("flux_status", "--json").stdout)
    assert status["running"] is False
    assert status["counts"] == {"spaces": 0, "agents": 0, "grains": 0}
