"""flux_import: from the shell into a space, with a report of each item and an exit status that says whether all went"""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from memory.grains.models import Grain
from memory.management.base import FluxCommand


@pytest.fixture
def notes(run, tmp_path):
    run("flux_space", "create", "main")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Bees\nThey winter on the roof.")
    (folder / "b.md").write_bytes(b"caf\xe9")
    return folder


def test_it_says_what_became_of_each_and_ends_with_65_if_something_was_refused(run, notes, tmp_path):
    said = run("flux_import", str(notes), "--report", str(tmp_path / "report"), "--json")
    assert said.status == 65
    found = said.json()
    assert {name: found[name] for name in ("format", "stored", "there", "refused")} == {
        "format": "markdown",
        "stored": 1,
        "there": 0,
        "refused": 1,
    }
    assert found["errors"] == [
        {
            "place": "b.md",
            "status": "refused",
            "code": "invalid",
            "message": "The file is not UTF-8: byte 3 cannot be read.",
        }
    ]
    report = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    assert [(one["place"], one["status"]) for one in report] == [("a.md, piece 1", "stored"), ("b.md", "refused")]
    assert report[0]["grain_id"] == str(Grain.objects.get().uuid)


def test_when_all_went_it_ends_with_0(run, notes):
    (notes / "b.md").unlink()
    said = run("flux_import", str(notes), "--provenance", "user_stated", "--ceiling", "external_source")
    assert said.status == 0
    assert "Imported 1 memories and 0 links from Markdown notes; 0 existed already, 0 refused, 1 lowered" in said.text
    assert Grain.objects.get().origin == "external_source"


def test_a_dry_run_imports_nothing(run, notes):
    assert "Would import 1 memories" in run("flux_import", str(notes), "--dry-run").text
    assert Grain.objects.count() == 0


def test_progress_is_shown_batch_by_batch(run, notes, tmp_path, monkeypatch):
    """To whoever watches; here, to a counter."""
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def progress(self, says, total):
        seen.append((says, total))
        yield lambda step=1: seen.append(step)

    monkeypatch.setattr(FluxCommand, "progress", progress)
    path = tmp_path / "x.jsonl"
    rows = [{"grain": {"content": f"item {number}"}} for number in range(600)]
    path.write_text("".join(json.dumps(one) + "\n" for one in [{"flux_export": 1, "grains": 600, "links": 0}, *rows]))
    call_command("flux_import", str(path))
    assert seen == [("Importing", 600), 250, 250, 100]


def test_the_audit_names_the_shell_and_the_reason(run, notes):
    from accounts.models import AuditEntry

    run("flux_import", str(notes), "--reason", "moving house")
    entry = AuditEntry.objects.get(action="grains.import")
    assert entry.actor.startswith("shell:") and entry.reason == "moving house"
