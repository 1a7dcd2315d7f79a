"""A backup holds a whole instance; a damaged or foreign one is refused and nothing changes."""

from __future__ import annotations

import hashlib
import io
import json
import random
import stat
import zipfile
from pathlib import Path

import pytest
from django.db import connection

from accounts import agents, audit
from accounts.models import Agent, Space, User
from accounts.principals import shell
from fluxcore import blobs, bundle_format
from fluxcore.errors import Conflict, FluxError, Invalid, StopTheInstance
from fluxsite import backup, backup_reading
from fluxsite.home import DataHome, make_home
from fluxsite.run import running_state
from fluxsite.run.running_state import lock_file
from tests.core.test_bundles import entry, forged

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def home(tmp_path):
    """A data home of its own; the database is the one of these tests."""
    made = DataHome("test", tmp_path / "root" / "test")
    make_home(made)
    agents.create_space(shell(), name="before")
    agents.create_agent(shell(), space="before", name="alice", capabilities=["grains.read"])
    yield made
    if connection.vendor == "sqlite":
        live = Path(connection.settings_dict["NAME"])
        for path in live.parent.glob(f"{live.name}.before-restore-*"):
            path.unlink()


@pytest.fixture
def made(home):
    return backup.create(home)


def spaces():
    return sorted(Space.objects.values_list("name", flat=True))


def state(home):
    """State that a refused restore must not change."""
    files = {
        path.relative_to(home.path.parent): path.read_bytes() for path in home.path.parent.rglob("*") if path.is_file()
    }
    files.pop(lock_file(home).relative_to(home.path.parent), None)  # made by whoever asks to be alone with the home
    return files, spaces(), [audit.verify(chain).head for chain in audit.chains()]


def rebuilt(path, target, change, kind="bundle"):
    """A backup with its members and manifest changed, and the manifest true to them again where it can be."""
    manifest, members = contents(path)
    manifest, members = change(manifest, members) or (manifest, members)
    target.write_bytes(KINDS[kind](manifest, members))
    return target


def contents(path):
    with backup_reading.opened(path) as found:
        return found.manifest, {name: b"".join(chunks) for name, chunks in found.members()}


def as_bundle(manifest, members):
    """A bundle whose seal and digest are true, whatever its manifest says."""
    if isinstance(manifest, dict) and isinstance(manifest.get("members"), dict):
        artifacts = [
            bundle_format.Artifact(name, len(members.get(name, b"")), digest)
            for name, digest in manifest.pop("members").items()
        ]
        manifest |= {
            "manifest_version": 1,
            "bundle_format": f"flux-backup-v{manifest['format']}",
            "artifacts": [artifact.shape() for artifact in artifacts],
            "bundle_sha256": hashlib.sha256("".join(str(one.sha256) for one in artifacts).encode()).hexdigest(),
        }
    return forged([entry(name, content) for name, content in members.items()], manifest)


def as_zip(manifest, members):
    """A zip backup as made by releases up to 0.6."""
    if isinstance(manifest, dict) and manifest.get("format") == 2:
        manifest["format"] = 1
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
        bundle.writestr("manifest.json", manifest if isinstance(manifest, bytes) else json.dumps(manifest))
    return target.getvalue()


KINDS = {"bundle": as_bundle, "zip": as_zip}


def sealed(manifest, members):
    manifest["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    return manifest, members


def test_it_is_one_file_for_the_owner_alone(home, made):
    assert made.parent == home.backups
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert [path for path in home.backups.iterdir() if path != made] == []
    manifest = backup.verify(made)
    assert (manifest["instance"], manifest["database"], manifest["format"]) == ("test", connection.vendor, 2)
    assert {"config.yaml", "keys/secret_key"} <= set(manifest["members"])
    assert any(name.startswith("accounts.") for name in manifest["migrations"])


def test_it_brings_everything_back(home, made):
    key, chain = home.secret("secret_key"), audit.verify("instance")
    agents.create_space(shell(), name="after")
    Agent.objects.all().delete()
    home.config.write_text("TOP_K: 9\n")
    (home.keys / "secret_key").write_text("another")
    aside = backup.restore(home, made)
    assert spaces() == ["before"]
    assert Agent.objects.get().name == "alice"
    assert home.secret("secret_key") == key
    assert "TOP_K: 9" not in home.config.read_text()
    assert audit.verify("instance") == chain
    assert (aside / "config.yaml").read_text() == "TOP_K: 9\n"
    assert made.exists()  # the backups moved along
    assert not list(home.path.parent.glob(".*restoring"))


def test_blobs_come_back_and_damaged_ones_are_refused(home, tmp_path):
    """Two share a member, one is longer than a chunk of the bundle."""
    stored = blobs.store_at("", home.blobs)
    contents_of = [random.Random(number).randbytes(size) for number, size in enumerate((70_000, 70_001, 2**20 + 3))]
    digests = [stored.put([content]).digest for content in contents_of]
    path = backup.create(home)
    backup.restore(home, path)
    restored = blobs.store_at("", home.blobs)
    assert [b"".join(restored.read(digest)) for digest in digests] == contents_of

    def damage(manifest, members):
        name = next(name for name in members if name.startswith("blobs/"))
        changed = members[name][:-1] + bytes([members[name][-1] ^ 1])
        return {**manifest, "members": {**manifest["members"], name: hashlib.sha256(changed).hexdigest()}}, {
            **members,
            name: changed,
        }

    before = state(home)
    with pytest.raises(Invalid, match="damaged"):
        backup.restore(home, rebuilt(path, tmp_path / "forged", damage))
    assert state(home) == before


def test_life_goes_on_after_a_restore(home, made):
    """Numbers go on where the backup left them, also those of tables nobody thinks of."""
    backup.restore(home, made)
    agents.create_space(shell(), name="later")
    user = User.objects.create(username="u")
    user.groups.create(name="g")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('x', 'y', '2026-11-16')")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'x'")
    assert all(audit.verify(chain).sound for chain in audit.chains())


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_of_either_kind_is_restored(home, made, tmp_path, kind):
    """A zip backup of releases up to 0.6."""
    saved = rebuilt(made, tmp_path / "saved", lambda manifest, members: None, kind)
    agents.create_space(shell(), name="after")
    assert backup.verify(saved)["members"] == backup.verify(made)["members"]
    backup.restore(home, saved)
    assert spaces() == ["before"]
    assert all(audit.verify(chain).sound for chain in audit.chains())


def test_a_backup_that_is_changed_after_it_was_checked_changes_nothing(home, made, tmp_path, monkeypatch):
    other = rebuilt(made, tmp_path / "other", lambda m, f: sealed(m, {**f, "config.yaml": b"TOP_K: 9\n"}))
    before = state(home)
    checked = backup.verify(made)
    monkeypatch.setattr(backup, "verify", lambda path: checked)
    with pytest.raises(Invalid, match="was changed"):
        backup.restore(home, other)
    assert state(home) == before


def test_a_restore_can_be_repeated(home, made):
    for _ in range(2):
        agents.create_space(shell(), name="after")
        backup.restore(home, home.backups / made.name)
        assert spaces() == ["before"]


def test_what_was_there_is_set_aside_with_its_database(home, made):
    agents.create_space(shell(), name="after")
    aside = backup.restore(home, made)
    assert (aside / "keys" / "secret_key").exists()
    if connection.vendor == "sqlite":
        live = Path(connection.settings_dict["NAME"])
        kept = b"".join(path.read_bytes() for path in live.parent.glob(f"{live.name}.before-restore-*"))
        assert b"after" in kept


def test_an_existing_file_is_not_written_over(home, made):
    with pytest.raises(Conflict):
        backup.create(home, to=made)


def test_a_place_that_cannot_be_written_is_named(home, tmp_path):
    with pytest.raises(Invalid, match="cannot be written"):
        backup.create(home, to=tmp_path / "absent" / "x.zip")


def test_a_running_instance_is_not_restored(home, made, monkeypatch):
    import os

    running_state.write_state(home, {"pid": os.getpid(), "born": running_state.process_start_time(os.getpid())})
    with pytest.raises(StopTheInstance):
        backup.restore(home, made)


def _without_database(manifest, members):
    kept = {name: content for name, content in members.items() if name in ("config.yaml", "keys/secret_key")}
    return sealed(manifest, kept)


FOREIGN = {
    "extra member": lambda m, f: (m, {**f, "extra": b"x"}),
    "missing member": lambda m, f: (m, {name: text for name, text in f.items() if name != "config.yaml"}),
    "changed member": lambda m, f: (m, {**f, "config.yaml": b"TOP_K: 9\n"}),
    "strange member": lambda m, f: sealed(m, {**f, "../../evil": b"x"}),
    "absolute member": lambda m, f: sealed(m, {**f, "/tmp/evil": b"x"}),
    "nested key": lambda m, f: sealed(m, {**f, "keys/../../evil": b"x"}),
    "hidden key": lambda m, f: sealed(m, {**f, "keys/.profile": b"x"}),
    "no database": _without_database,
    "other format": lambda m, f: ({**m, "format": 3}, f),
    "no members": lambda m, f: ({key: value for key, value in m.items() if key != "members"}, f),
    "members a list": lambda m, f: ({**m, "members": sorted(f)}, f),
    "digests numbers": lambda m, f: ({**m, "members": dict.fromkeys(f, 1)}, f),
    "no vendor": lambda m, f: ({key: value for key, value in m.items() if key != "database"}, f),
    "manifest a list": lambda m, f: ([m], f),
    "manifest empty": lambda m, f: (b"", f),
    "manifest deep": lambda m, f: (b"[" * 100_000, f),
    "manifest huge": lambda m, f: (b" " * (2 << 20) + json.dumps(m).encode(), f),
    "manifest not UTF-8": lambda m, f: (b"\xff" * 10, f),
    "other vendor": lambda m, f: sealed(
        {**m, "database": "postgresql" if m["database"] == "sqlite" else "sqlite"},
        {**f, "database.db": b"", "tables/django_migrations": b""},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", FOREIGN)
def test_a_foreign_backup_is_refused_and_nothing_changes(home, made, tmp_path, how, kind):
    bad = rebuilt(made, tmp_path / "bad", FOREIGN[how], kind)
    before = state(home)
    with pytest.raises(FluxError):
        backup.restore(home, bad)
    assert state(home) == before


def test_a_forged_table_name_is_refused(home, made, tmp_path):
    if connection.vendor == "sqlite":
        pytest.skip("PostgreSQL only: SQLite's backup is a file")
    bad = rebuilt(made, tmp_path / "bad", lambda m, f: sealed(m, {**f, "tables/pg_authid": b""}))
    with pytest.raises(Invalid, match="does not have"):
        backup.restore(home, bad)
    assert spaces() == ["before"]


def test_rows_of_other_tables_are_refused(home, made, tmp_path):
    if connection.vendor == "sqlite":
        pytest.skip("PostgreSQL only: SQLite's backup brings its tables along")
    bad = rebuilt(made, tmp_path / "bad", lambda m, f: ({**m, "migrations": m["migrations"][:-1]}, f))
    with pytest.raises(Conflict, match="tables differ"):
        backup.restore(home, bad)
    assert spaces() == ["before"]


def test_a_member_twice_is_refused(home, made, tmp_path):
    bad = rebuilt(made, tmp_path / "bad", lambda manifest, members: None, "zip")
    with zipfile.ZipFile(bad, "a") as bundle, pytest.warns(UserWarning, match="Duplicate"):
        bundle.writestr("config.yaml", b"TOP_K: 9\n")
    with pytest.raises(Invalid):
        backup.verify(bad)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        b"not a zip at all",
        b"PK\x05\x06" + b"\0" * 18,
        b"\x1f\x8b" + b"\0" * 100,
        b"\x28\xb5\x2f\xfd" + b"\0" * 100,
    ],
)
def test_what_is_no_bundle_is_refused(tmp_path, content):
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(Invalid):
        backup.verify(path)
    with pytest.raises(Invalid):
        backup.verify(tmp_path / "absent.zip")


def test_a_cut_bundle_is_refused(made, tmp_path):
    whole = made.read_bytes()
    cut = tmp_path / "cut"
    for length in [*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(Invalid):
            backup.verify(cut)


def test_every_flipped_bit_is_found(made, tmp_path):
    whole, draw = made.read_bytes(), random.Random(7)
    bad = tmp_path / "bad"
    drawn = [draw.randrange(len(whole)) for _ in range(80)]
    for position in [*drawn, *range(64), *range(len(whole) - 64, len(whole))]:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << draw.randrange(8)
        bad.write_bytes(damaged)
        with pytest.raises(Invalid):
            backup.verify(bad)


def test_a_backup_holds_no_token(home, make_token):
    token = make_token("bob")
    _, members = contents(backup.create(home))
    assert members
    for content in members.values():
        assert token.split("_", 2)[2].encode() not in content
