"""A backup holds a whole instance; a damaged or foreign one is refused and nothing changes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import stat
import zipfile
from pathlib import Path

import pytest
from django.db import connection

from accounts import agents, audit
from accounts.models import Agent, Space, User
from accounts.principals import shell
from fluxcore.errors import Conflict, FluxError, Invalid, StopTheInstance
from fluxsite import backup
from fluxsite.home import DataHome, make_home
from fluxsite.run import running_state
from fluxsite.run.running_state import lock_file

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
    """Everything a refused restore must leave alone."""
    files = {
        path.relative_to(home.path.parent): path.read_bytes() for path in home.path.parent.rglob("*") if path.is_file()
    }
    files.pop(lock_file(home).relative_to(home.path.parent), None)  # made by whoever asks to be alone with the home
    return files, spaces(), [audit.verify(chain).head for chain in audit.chains()]


def rebuilt(path, target, change):
    """A bundle with its members and manifest changed, and the manifest true to them again where it can be."""
    with zipfile.ZipFile(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist() if name != "manifest.json"}
        manifest = json.loads(bundle.read("manifest.json"))
    manifest, members = change(manifest, members) or (manifest, members)
    with zipfile.ZipFile(target, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
        bundle.writestr("manifest.json", manifest if isinstance(manifest, bytes) else json.dumps(manifest))
    return target


def sealed(manifest, members):
    manifest["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    return manifest, members


def test_it_is_one_file_for_the_owner_alone(home, made):
    assert made.parent == home.backups
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert [path for path in home.backups.iterdir() if path != made] == []
    manifest = backup.verify(made)
    assert (manifest["instance"], manifest["database"], manifest["format"]) == ("test", connection.vendor, 1)
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
    "other format": lambda m, f: ({**m, "format": 2}, f),
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


@pytest.mark.parametrize("how", FOREIGN)
def test_a_foreign_bundle_is_refused_and_nothing_changes(home, made, tmp_path, how):
    bad = rebuilt(made, tmp_path / "bad.zip", FOREIGN[how])
    before = state(home)
    with pytest.raises(FluxError):
        backup.restore(home, bad)
    assert state(home) == before


def test_a_forged_table_name_is_refused(home, made, tmp_path):
    if connection.vendor == "sqlite":
        pytest.skip("PostgreSQL only: SQLite's backup is a file")
    bad = rebuilt(made, tmp_path / "bad.zip", lambda m, f: sealed(m, {**f, "tables/pg_authid": b""}))
    with pytest.raises(Invalid, match="does not know"):
        backup.restore(home, bad)
    assert spaces() == ["before"]


def test_rows_of_other_tables_are_refused(home, made, tmp_path):
    if connection.vendor == "sqlite":
        pytest.skip("PostgreSQL only: SQLite's backup brings its tables along")
    bad = rebuilt(made, tmp_path / "bad.zip", lambda m, f: ({**m, "migrations": m["migrations"][:-1]}, f))
    with pytest.raises(Conflict, match="tables differ"):
        backup.restore(home, bad)
    assert spaces() == ["before"]


def test_a_member_twice_is_refused(home, made, tmp_path):
    bad = tmp_path / "bad.zip"
    shutil.copy(made, bad)
    with zipfile.ZipFile(bad, "a") as bundle, pytest.warns(UserWarning, match="Duplicate"):
        bundle.writestr("config.yaml", b"TOP_K: 9\n")
    with pytest.raises(Invalid):
        backup.verify(bad)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not a zip at all", b"PK\x05\x06" + b"\0" * 18, b"\x1f\x8b" + b"\0" * 100]
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
    cut = tmp_path / "cut.zip"
    for length in [*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(Invalid):
            backup.verify(cut)


def test_a_flipped_bit_is_found_or_harmless(made, tmp_path):
    """Each flip is refused, unless it hit what carries no content (a date in a header)."""
    whole, draw = made.read_bytes(), random.Random(7)
    good = backup.verify(made)
    bad, refused = tmp_path / "bad.zip", 0
    positions = (
        [draw.randrange(len(whole)) for _ in range(80)] + list(range(64)) + list(range(len(whole) - 64, len(whole)))
    )
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << draw.randrange(8)
        bad.write_bytes(damaged)
        try:
            assert backup.verify(bad) == good
        except Invalid:
            refused += 1
    assert refused >= 80


def test_a_bundle_holds_no_token(home, make_token):
    token = make_token("bob")
    made = backup.create(home)
    with zipfile.ZipFile(made) as bundle:
        for name in bundle.namelist():
            assert token.split("_", 2)[2].encode() not in bundle.read(name)
