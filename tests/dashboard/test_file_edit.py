"""Writes of files by people: edit, upload, rename, delete, restore, and stores with their policy."""

from __future__ import annotations

import re
import unicodedata

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from accounts.principals import shell
from memory.artifacts import files, reading, stores
from memory.artifacts.contents import NewContent
from memory.artifacts.models import File, Store
from tests.dashboard.conftest import diff_rows, post, send, words

MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def me(space):
    return shell(space)


@pytest.fixture
def notes(me):
    stores.create_store(me, key="notes", read_only_prefixes=["rules"])
    files.write_file(me, store="notes", path="plan.md", text="sow in March\nwater\n")
    return me


@pytest.fixture
def client(person, notes):
    return person("grace", administrator=False, roles={"home": "operator"}).sign_in()


def text(me, path="plan.md"):
    return reading.read_file(me, store="notes", path=path)["text"]


def field(page, name):
    page = page if isinstance(page, str) else words(page)
    return re.search(rf'name="{name}" value="([^"]*)"', page).group(1)


def edit(client, path, typed, **more):
    """Save what was typed, with the digest of the file as the page has it."""
    page = client.get(f"/files/notes/edit/{path}")
    given = {"expected_sha": field(page, "expected_sha"), "ends": field(page, "ends"), "provenance": "user_stated"}
    return send(client, f"/files/notes/edit/{path}", text=typed, **{"reason": "to try", **given, **more})


def test_an_edit_is_a_version_with_its_reason_by_the_person(client, notes):
    page = client.get("/files/notes/edit/plan.md")
    assert "<textarea" in words(page) and "\nsow in March\nwater\n</textarea>" in words(page)
    answer = edit(client, "plan.md", "sow in April\r\nwater\r\n", reason="frost")
    assert answer["Location"] == "/files/notes/file/plan.md"
    assert text(notes) == "sow in April\nwater\n"
    row = File.objects.get(path="plan.md")
    assert (row.version, row.writer, row.reason, row.origin) == (2, "user:grace", "frost", "user_stated")
    assert AuditEntry.objects.filter(action="files.write", actor="user:grace", reason="frost").exists()
    assert "Version 2 was saved" in words(client.get("/files/notes/file/plan.md"))


def test_without_a_reason_nothing_is_saved_and_what_was_typed_stays(client, notes):
    answer = edit(client, "plan.md", "<b>other</b>", reason=" ")
    assert answer.status_code == 422 and "The reason is missing" in words(answer)
    assert "&lt;b&gt;other&lt;/b&gt;</textarea>" in words(answer) and text(notes) == "sow in March\nwater\n"
    assert edit(client, "plan.md", "x", provenance="user_confirmed").status_code == 422


def test_a_conflict_shows_the_difference_and_keeps_what_was_typed(client, notes):
    old = field(client.get("/files/notes/edit/plan.md"), "expected_sha")
    files.write_file(notes, store="notes", path="plan.md", text="sow in May\nwater\n")
    answer = edit(client, "plan.md", "sow in April\nwater\n", expected_sha=old)
    page = words(answer)
    assert answer.status_code == 409 and "wrote this file while you edited it" in page and "Nothing was saved" in page
    assert diff_rows(answer)[:2] == [("removed", MINUS, "sow in May"), ("added", "+", "sow in April")]
    assert "sow in April\nwater\n</textarea>" in page and text(notes) == "sow in May\nwater\n"
    again = field(answer, "expected_sha")
    assert again == File.objects.get(path="plan.md").sha != old
    assert edit(client, "plan.md", "sow in April\nwater\n", expected_sha=again).status_code == 302
    assert text(notes) == "sow in April\nwater\n"
    files.delete_file(notes, store="notes", path="plan.md")
    gone = send(client, "/files/notes/edit/plan.md", text="mine", reason="x", expected_sha=again)
    assert gone.status_code == 409 and "Somebody deleted this file" in words(gone) and "mine</textarea>" in words(gone)


def test_line_ends_and_types_stay_as_they_were(client, notes):
    files.put_file(
        notes, store="notes", path="dos.txt", content=NewContent.of(b"a\r\nb\r\n"), content_type="text/x-dos"
    )
    assert edit(client, "dos.txt", "a\r\nc\r\n").status_code == 302
    assert text(notes, "dos.txt") == "a\r\nc\r\n" and File.objects.get(path="dos.txt").content_type == "text/x-dos"
    for path, data in {"mixed.txt": b"a\r\nb\n", "cr.txt": b"a\rb", "nul.txt": b"a\0b", "latin.txt": b"\xe9"}.items():
        files.put_file(notes, store="notes", path=path, content=NewContent.of(data), content_type="text/plain")
        assert client.get(f"/files/notes/edit/{path}").status_code == 302, path
        assert "/files/notes/edit/" not in words(client.get(f"/files/notes/file/{path}")), path


def test_a_provenance_is_not_raised_unseen(client, notes):
    files.write_file(notes, store="notes", path="web.md", text="x", provenance="external_source")
    assert '<option value="external_source" selected>' in words(client.get("/files/notes/edit/web.md"))


def test_a_new_file_never_replaces_one(client, notes):
    page = client.get("/files/notes/new?folder=garden")
    assert 'name="path" value="garden/"' in words(page)
    done = post(client, "/files/notes/new", path="garden/a b#?.md", text="x", reason="", expected_sha="")
    assert done["Location"] == "/files/notes/file/garden/a%20b%23%3F.md"
    assert client.get(done["Location"]).status_code == 200 and text(notes, "garden/a b#?.md") == "x"
    for path, status in {"plan.md": 409, "plan.md/below": 409, "garden": 409, "../x": 422, "meta/x": 403}.items():
        answer = post(client, "/files/notes/new", path=path, text="typed", reason="", expected_sha="")
        assert answer.status_code == status and "typed</textarea>" in words(answer), path
    assert text(notes) == "sow in March\nwater\n"


def test_uploads_are_written_byte_for_byte_and_refused_one_by_one(client, notes):
    large = bytes(range(256)) * 20_000
    sent = [
        SimpleUploadedFile("a.bin", bytes(range(256))),
        SimpleUploadedFile("large.bin", large),
        SimpleUploadedFile("../../b.txt", b"b"),
    ]
    done = post(client, "/files/notes/upload", files=sent, folder="in", reason="from my desk", provenance="ai_stated")
    assert done["Location"] == "/files/notes/folder/in"
    assert b"".join(client.get("/files/notes/download/in/large.bin")) == large
    assert sorted(File.objects.filter(path__startswith="in/").values_list("path", flat=True)) == [
        "in/a.bin",
        "in/b.txt",
        "in/large.bin",
    ]
    assert File.objects.get(path="in/a.bin").origin == "ai_stated"
    again = [SimpleUploadedFile("a.bin", b"new"), SimpleUploadedFile("c.txt", b"c")]
    answer = post(client, "/files/notes/upload", files=again, folder="in")
    assert answer.status_code == 422 and "<strong>in/a.bin</strong>: exists already" in words(answer)
    assert File.objects.get(path="in/a.bin").version == 1 and File.objects.get(path="in/c.txt").version == 1
    again = [SimpleUploadedFile("a.bin", b"new")]
    assert post(client, "/files/notes/upload", files=again, folder="in", replace="1").status_code == 302
    assert File.objects.get(path="in/a.bin").version == 2
    assert "No file was chosen" in words(post(client, "/files/notes/upload", folder="in"))


def test_names_as_macos_gives_them_are_kept_in_the_usual_form(client, notes):
    usual, decomposed = "Käse für Zoë.md", unicodedata.normalize("NFD", "Käse für Zoë.md")
    assert usual != decomposed
    sent = [SimpleUploadedFile(decomposed, b"upload")]
    assert post(client, "/files/notes/upload", files=sent, folder=unicodedata.normalize("NFD", "Ä")).status_code == 302
    assert text(notes, f"Ä/{usual}") == "upload"
    assert post(client, "/files/notes/new", path=decomposed, text="x", reason="", expected_sha="").status_code == 302
    done = send(client, "/files/notes/rename/plan.md", to=unicodedata.normalize("NFD", "Übersicht.md"), reason="")
    assert client.get(done["Location"]).status_code == 200
    assert text(notes, usual) == "x" and text(notes, "Übersicht.md") == "sow in March\nwater\n"


def test_a_file_is_renamed_deleted_and_brought_back(client, notes):
    done = send(client, "/files/notes/rename/plan.md", to="old/plan.md", reason="tidy")
    assert done["Location"] == "/files/notes/file/old/plan.md" and client.get(done["Location"]).status_code == 200
    taken = send(client, "/files/notes/rename/old/plan.md", to="meta/x", reason="")
    assert taken.status_code == 302 and "is reserved" in words(client.get(taken["Location"]))
    stale = send(client, "/files/notes/delete/old/plan.md", reason="x", expected_sha="0" * 64)
    assert "Nothing was deleted" in words(client.get(stale["Location"])) and text(notes, "old/plan.md")
    done = send(client, "/files/notes/delete/old/plan.md", reason="done with", expected_sha="")
    history = client.get(done["Location"])
    assert "This file was deleted by user:grace: done with" in words(history)
    assert client.get("/files/notes/file/old/plan.md")["Location"] == done["Location"]
    assert client.get("/files/notes/file/old/plan.md?version=1").status_code == 200
    back = send(client, "/files/notes/restore/old/plan.md", version="1", expected_sha=field(history, "expected_sha"))
    assert back["Location"] == "/files/notes/file/old/plan.md" and text(notes, "old/plan.md") == "sow in March\nwater\n"
    for version in ("9", "x", ""):
        answer = send(client, "/files/notes/restore/old/plan.md", version=version)
        assert answer.status_code in (302, 404) and File.objects.get(path="old/plan.md").version == 3, version


def test_any_two_versions_are_compared(client, notes):
    for month in ("April", "May"):
        files.write_file(notes, store="notes", path="plan.md", text=f"sow in {month}\nwater\n")
    compared = client.get("/files/notes/history/plan.md", {"old": 1, "new": 3})
    page = words(compared)
    assert "Version 1 compared with version 3" in page and "1 line added, 1 removed" in page
    assert diff_rows(compared)[:2] == [("removed", MINUS, "sow in March"), ("added", "+", "sow in May")]
    assert page.count("/files/notes/restore/plan.md") == 2, "not for the newest"
    assert "same content" in words(client.get("/files/notes/history/plan.md", {"old": 2, "new": 2}))
    assert client.get("/files/notes/history/plan.md", {"old": 1, "new": 99}).status_code == 200
    assert client.get("/files/notes/history/none.md").status_code == 404
    for number, value in enumerate(("1", "2")):
        files.write_file(notes, store="notes", path="a.json", text=f'{{"a": {value}}}', reason=f"{number}")
    assert "<code>/a</code>" in words(client.get("/files/notes/history/a.json", {"old": 1, "new": 2}))


def test_every_version_of_a_long_history_is_reached_compared_and_restored(client, notes, monkeypatch):
    monkeypatch.setattr("dashboard.file_history.ROWS", 2)
    for number in range(2, 6):
        files.write_file(notes, store="notes", path="plan.md", text=f"text {number}\n")
    listed, where = [], "/files/notes/history/plan.md"
    while where:
        page = words(client.get(where))
        listed += re.findall(r'data-version="(\d)"', page)
        where = (re.search(r'href="([^"]+)" rel="next"', page) or ["", ""])[1].replace("&amp;", "&")
    assert listed == ["5", "4", "3", "2", "1"]
    assert 'href="/files/notes/history/plan.md">Newest versions</a>' in page and field(page, "before") == "2"
    # A version of this page with one of another: the choice stays in the form, and a row's own comes after it.
    assert (field(page, "old"), field(page, "new")) == ("4", "5")
    both = client.get("/files/notes/history/plan.md?before=2&old=4&new=5&old=1")
    assert ("removed", MINUS, "sow in March") in diff_rows(both) and ("added", "+", "text 5") in diff_rows(both)
    done = send(client, "/files/notes/restore/plan.md", version="1", expected_sha=field(page, "expected_sha"))
    assert done.status_code == 302 and text(notes) == "sow in March\nwater\n"
    assert "There are no earlier versions" in words(client.get("/files/notes/history/plan.md?before=1"))


HIDDEN = "\u202e\u200b\U000e0041"  # reverses what follows, has no width, is a tag that only programs read
SHOWN = "⟨U+202E⟩⟨U+200B⟩⟨U+E0041⟩"


def test_differences_and_changed_values_hide_nothing(client, notes):
    for text in ('{"a": "plain"}', f'{{"a{HIDDEN}": ["{HIDDEN}txt", {{"b": "\\u202e"}}]}}'):
        files.write_file(notes, store="notes", path="a.json", text=text, reason="to try")
    compared = client.get("/files/notes/history/a.json", {"old": 1, "new": 2})
    page = words(compared)
    assert f"<code>/a{SHOWN}</code>" in page
    assert f"[&quot;{SHOWN}txt&quot;, {{&quot;b&quot;: &quot;⟨U+202E⟩&quot;}}]" in page, "a value is shown as JSON"
    assert next(text for kind, _, text in diff_rows(compared) if kind == "added").startswith(f'{{"a{SHOWN}"')
    assert not set(HIDDEN) & set(page)

    old = field(client.get("/files/notes/edit/plan.md"), "expected_sha")
    files.write_file(notes, store="notes", path="plan.md", text=f"sow in May{HIDDEN}\n")
    conflict = edit(client, "plan.md", f"sow in April{HIDDEN}\n", expected_sha=old)
    assert [text for _, _, text in diff_rows(conflict)] == [f"sow in May{SHOWN}", f"sow in April{SHOWN}"]
    assert f"sow in April{HIDDEN}\n</textarea>" in words(conflict), "what was typed is sent again as it was"


def test_viewers_see_and_change_nothing(person, notes):
    client = person("vera", administrator=False, roles={"home": "viewer"}).sign_in()
    for path in ("/files", "/files/notes", "/files/notes/file/plan.md", "/files/notes/history/plan.md"):
        page = words(client.get(path))
        form = re.search(r"<main.*</main>", page, re.DOTALL).group()
        assert 'method="post"' not in form and "Upload" not in form and "/edit/" not in form, path
    for path in ("/files/notes/edit/plan.md", "/files/notes/new", "/files/notes/upload"):
        assert client.get(path).status_code == 403, path
    for path in ("edit/plan.md", "new", "upload", "rename/plan.md", "delete/plan.md", "delete", "policy"):
        given = {"text": "x", "reason": "x", "path": "y", "to": "y", "expected_sha": "", "keep_versions": "on"}
        assert send(client, f"/files/notes/{path}", **given).status_code == 403, path
    assert send(client, "/files", key="mine").status_code == 403
    assert Store.objects.get().deleted_at is None and File.objects.get().version == 1


def test_stores_are_made_deleted_and_restored(client, notes):
    done = post(client, "/files", key="handbook", recallable="on", read_only_prefixes="rules\r\n", keep_versions="on")
    assert done["Location"] == "/files/handbook"
    made = Store.objects.get(key="handbook")
    assert (made.recallable, made.read_only, made.keep_versions, made.audit) == (True, "rules", True, False)
    again = post(client, "/files", key="handbook", keep_versions="on")
    assert again.status_code == 409 and "already exists" in words(again)
    assert post(client, "/files", key="a/b").status_code == 422
    assert send(client, "/files/handbook/delete", reason="x")["Location"] == "/files"
    page = words(client.get("/files"))
    assert "Deleted stores" in page and f"/files/{made.uuid}/restore" in page
    assert client.get("/files/handbook").status_code == 404
    assert send(client, f"/files/{made.uuid}/restore")["Location"] == "/files/handbook"


def test_owners_alone_change_a_policy(client, person, notes):
    assert "Only an owner" in words(client.get("/files/notes/policy"))
    given = {"recallable": "on", "read_only_prefixes": "a\r\nb", "keep_versions": "on", "max_versions": "5"}
    assert send(client, "/files/notes/policy", reason="x", **given).status_code == 403
    owner = person("olaf", administrator=False, roles={"home": "owner"}).sign_in()
    assert post(owner, "/files/notes/policy", **given).status_code == 422, "a reason is needed"
    assert post(owner, "/files/notes/policy", reason="x", **given)["Location"] == "/files/notes"
    row = Store.objects.get()
    assert (row.recallable, row.read_only, row.max_versions, row.audit) == (True, "a\nb", 5, False)
    given |= {"max_versions": "", "audit": "on"}
    assert post(owner, "/files/notes/policy", reason="x", **given).status_code == 302
    row.refresh_from_db()
    assert (row.max_versions, row.audit) == (None, True)
