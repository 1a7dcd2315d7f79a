"""The import page: an owner with a fresh code brings a file in and watches it arrive; others read what was brought."""

from __future__ import annotations

import html
import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from accounts.signin import sessions
from dashboard import imports
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.work import worker
from memory.grains.models import Grain
from memory.transfer.models import Import
from tests.dashboard.conftest import post, send, words


def file(name="notes.md", content=b"# Bees\nThey winter on the roof."):
    return SimpleUploadedFile(name, content)


@pytest.fixture
def owner(space, ada):
    return ada.sign_in()


def test_a_file_is_taken_and_followed(owner):
    answer = post(owner, "/import", files=[file()], provenance="user_stated", ceiling="user_stated", reason="moving")
    assert answer.status_code == 302
    page = owner.get(answer["Location"])
    assert "Running" in words(page) and "0 of 1 records processed" in words(page)
    assert "moving.js" in words(page)
    worker.drain()
    page = words(owner.get(answer["Location"]))
    assert "Finished" in page and "100 %" in page and "data-finished" in page
    assert Grain.objects.get().origin == "user_stated"
    assert "notes.md" in words(owner.get("/import"))


def test_several_notes_are_a_folder(owner):
    post(owner, "/import", files=[file("a.md", b"See [[b]]."), file("b.md", b"Here."), file("b.md", b"There.")])
    worker.drain()
    one = Import.objects.get()
    assert (one.stored, one.links, one.format) == (3, 1, "markdown")


def test_what_was_refused_stands_on_the_page(owner):
    lines = [{"flux_export": 1}, {"grain": {"content": "good"}}, {"grain": {"content": "<b>x</b>", "status": "?"}}]
    content = "".join(json.dumps(one) + "\n" for one in lines).encode()
    where = post(owner, "/import", files=[file("x.jsonl", content)])["Location"]
    worker.drain()
    page = words(owner.get(where))
    assert "line 3" in page and "status must be one of" in page


@pytest.mark.parametrize(
    "fields, status, says",
    [
        ({}, 422, "Choose one or more files"),
        ({"files": [file("x.jsonl", b'{"flux_export": 9}')]}, 422, "not an export"),
        ({"files": [file()], "format": "pdf"}, 422, "format must be"),
        ({"files": [file()], "ceiling": "god"}, 422, "maximum provenance"),
        ({"files": [file("x.db", b"SQLite format 3\0" + b"x" * 90)]}, 422, "cannot be read as a database"),
        ({"files": [file("a.md", b" ")]}, 422, "nothing to import"),
    ],
)
def test_bad_input_is_said_on_the_page(owner, fields, status, says):
    answer = post(owner, "/import", **fields)
    assert (answer.status_code, says in words(answer)) == (status, True)
    assert Import.objects.count() == 0


def test_too_large_a_file(owner, monkeypatch):
    monkeypatch.setattr(imports, "MAX_UPLOAD", 10)
    answer = post(owner, "/import", files=[file()])
    assert answer.status_code == 413 and "flux_import" in words(answer)


@pytest.mark.parametrize(("count", "status"), [(101, 302), (500, 302), (501, 413), (502, 413)])
def test_as_many_files_as_the_page_says(owner, count, status):
    files = [file(f"{number}.md", b"Bees.") for number in range(count)]
    answer = post(owner, "/import", files=files)
    assert answer.status_code == status
    if status == 413:
        assert "at most 500 files" in words(answer) and typed_command("flux_import PATH") in html.unescape(
            words(answer)
        )
    assert Import.objects.count() == (status == 302)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"reason": "x" * 9_000_000}, "FLUX_MAX_BODY_BYTES in the environment raises it"),
        ({f"field{number}": "" for number in range(1001)}, "A form has at most 1000 fields"),
    ],
)
def test_a_form_that_is_too_large_is_told_so(owner, fields, says):
    answer = post(owner, "/import", files=[file()], **fields)
    assert answer.status_code == 413 and says in words(answer)
    answer = send(owner, "/recall", query="bees", **fields)
    assert answer.status_code == 413 and says in words(answer)


@pytest.mark.parametrize("name", ["../../etc/x.md", ".hidden.md", "a/b\\c.md", "x" * 300 + ".md"])
def test_a_name_leads_nowhere(owner, name):
    post(owner, "/import", files=[file(name)], format="markdown")
    worker.drain()
    assert Grain.objects.count() == 1


def test_a_code_is_asked_for_before_a_file_is_chosen(owner):
    session = owner.session
    session[sessions.FRESH] = clock.rfc3339(clock.now() - timedelta(minutes=6))
    session.save()
    answer = owner.get("/import")
    assert (answer.status_code, answer["Location"]) == (302, "/fresh-code?next=%2Fimport")


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_see_the_list_and_no_form(space, person, role):
    client = person("bo", administrator=False, roles={"home": role}).sign_in()
    page = words(client.get("/import"))
    assert "Only an owner" in page and 'type="file"' not in page
    assert ">Import</a>" not in page
    for fields in ({"files": [file()]}, {}, {"files": [file()], "ceiling": "god"}):
        answer = post(client, "/import", **fields)
        assert (answer.status_code, Import.objects.count()) == (403, 0), "before the fields are looked at"
    assert AuditEntry.objects.filter(action="transfer.import", outcome="refused").count() == 3


def test_an_import_of_another_space_is_not_there(owner, person, make_token):
    where = post(owner, "/import", files=[file()])["Location"]
    make_token(space="other")
    stranger = person("eve", administrator=False, roles={"other": "owner"}).sign_in()
    assert stranger.get(where).status_code == 404
