"""Rights on files and folders. The refusal of a folder names no file in it and is the same whatever there is."""

from __future__ import annotations

import pytest

from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
SECRET = "plan-to-fire-bob.md"


def test_scopes_of_capabilities_name_store_and_path(with_stores):
    owner = with_stores()
    owner.post("/stores", {"key": "notes"})
    owner.write("public/a", "x")
    owner.write("secret/b", "x")
    guest = with_stores("artifacts.read:notes/public/**", "artifacts.write:notes/public/**", name="guest")
    assert guest.paths() == ["public/a"]
    assert guest.file("public/a").status_code == 200
    assert refused(guest.file("secret/b"), 403, "forbidden")["missing"] == "artifacts.read:notes/secret/b"
    assert refused(guest.write("secret/b", "y"), 403, "forbidden")
    assert guest.write("public/c", "y").status_code == 200
    assert guest.post("/stores/notes/delete", {"path": "public"}).json()["count"] == 2
    stranger = with_stores("grains.read", name="stranger")
    assert refused(stranger.get("/stores/notes/files"), 403, "forbidden")
    assert [store["key"] for store in guest.get("/stores").json()["stores"]] == ["notes"]


@pytest.fixture
def secrets(alice):
    alice.write(f"secret/{SECRET}", "x")
    alice.write("secret/open/a", "x")
    return alice


def asked(api, folder):
    """The answers to deleting, renaming and copying a folder, and to renaming another one into it."""
    yield api.post("/stores/notes/delete", {"path": folder})
    yield api.post("/stores/notes/move", {"path": folder, "to": "other/x", "recursive": True})
    yield api.post("/stores/notes/move", {"path": folder, "to": "other/x", "recursive": True, "keep": True})
    yield api.post("/stores/notes/move", {"path": "other/none", "to": folder, "recursive": True})


@pytest.mark.parametrize("scope", ["notes/other/**", "notes/secret/open/**", "notes/secret/*", "elsewhere/**"])
def test_a_refusal_names_no_file_and_does_not_tell_whether_there_is_a_folder(secrets, with_stores, scope):
    guest = with_stores(f"artifacts.read:{scope}", f"artifacts.write:{scope}", name="guest")
    for there, absent in zip(asked(guest, "secret"), asked(guest, "nothing"), strict=True):
        body = {**there.json(), "request_id": absent.json()["request_id"]}
        assert refused(there, 403, "forbidden")["missing"].endswith("/**") and SECRET not in str(body)
        assert str(body).replace("secret", "nothing") == str(absent.json())
    assert secrets.paths() == ["secret/open/a", f"secret/{SECRET}"]


def test_a_folder_is_refused_by_its_scope_and_can_be_requested(secrets, with_stores):
    guest = with_stores("artifacts.write:notes/other/**", name="guest")
    details = refused(guest.post("/stores/notes/delete", {"path": "secret"}), 403, "forbidden")
    assert details["missing"] == "artifacts.write:notes/secret/**"
    assert details["ask"]["body"] == {"capability": "artifacts.write:notes/secret/**"}
    assert refused(guest.post("/stores/none/delete", {"path": "secret"}), 403, "forbidden"), "nor whether a store is"


def test_rights_on_a_folder_are_enough_for_it_and_those_below(secrets, with_stores):
    guest = with_stores("artifacts.read:notes/secret/**", "artifacts.write:notes/**", name="guest")
    moved = guest.post("/stores/notes/move", {"path": "secret/open", "to": "secret/moved", "recursive": True})
    assert [one["path"] for one in moved.json()["moved"]] == ["secret/moved/a"]
    assert guest.post("/stores/notes/delete", {"path": "secret/moved"}).json()["deleted"] == ["secret/moved/a"]
    assert refused(guest.post("/stores/notes/delete", {"path": "secret/moved"}), 404, "not_found")
    long = "/".join(["d" * 200] * 4)
    secrets.write(f"{long}/a", "x")
    assert guest.post("/stores/notes/delete", {"path": long}).json()["count"] == 1


def test_rights_on_one_file_are_enough_for_it_where_a_folder_may_be_named(secrets, with_stores):
    secrets.write("one.md", "x")
    guest = with_stores("artifacts.write:notes/one.md", "artifacts.write:notes/secret", name="guest")
    assert guest.post("/stores/notes/delete", {"path": "one.md"}).json()["deleted"] == ["one.md"]
    missing = [
        refused(guest.post("/stores/notes/delete", {"path": path}), 403, "forbidden") for path in ("one.md", "secret")
    ]
    assert [one["missing"] for one in missing] == ["artifacts.write:notes/one.md/**", "artifacts.write:notes/secret/**"]
