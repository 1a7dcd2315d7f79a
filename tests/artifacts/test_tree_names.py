"""Import of folders as other programs and killed writers leave them: names in other forms, unfinished writes."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata

import pytest

from flux.memory import MemoryStore, journal, tree
from fluxcore import files as atomic
from memory.artifacts.models import File
from tests.artifacts.test_trees import a_tree, files, sha, tree_of  # noqa: F401
from tests.commands.conftest import run  # noqa: F401
from tests.sdk.test_local_kills import killed_at

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def history(files, path):  # noqa: F811
    """Contents and writers of a file, oldest first."""
    rows = files("history", "new", path, "--json").json()["versions"]
    return [(row["sha"], row["actor"]) for row in reversed(rows)]


def test_names_of_macos(files, tmp_path):  # noqa: F811
    """Its file systems may decompose them; flyte encodes what it is given. Facts and versions are found by both."""
    name = "Ünï/é.md"
    decomposed = unicodedata.normalize("NFD", name)
    store = a_tree(tmp_path / "tree", **{name: "one"})
    store.write_text(name, "two", actor="second")
    shutil.move(tmp_path / "tree" / name, tmp_path / "moved")
    (tmp_path / "tree" / decomposed).parent.mkdir()
    shutil.move(tmp_path / "moved", tmp_path / "tree" / decomposed)
    (tmp_path / "tree" / "Ünï").rmdir()
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--json").json()
    assert (done["files"], done["versions"], done["ignored"]) == (1, 1, [])
    assert history(files, name) == [(sha("one"), "writer"), (sha("two"), "second")]
    for folder in (tree.META, tree.VERSIONS):  # as written by a program that was given the decomposed name
        (found,) = (tmp_path / "tree" / folder).iterdir()
        found.rename(found.with_name(found.name.replace(tree.encoded(name), tree.encoded(decomposed))))
    log = tmp_path / "tree" / tree.AUDIT_LOG
    log.write_text(log.read_text().replace(tree.encoded(name), tree.encoded(decomposed)))
    files("delete", "new")
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--json").json()
    assert (done["files"], done["versions"], done["ignored"]) == (1, 1, [])
    assert history(files, name) == [(sha("one"), "writer"), (sha("two"), "second")]


def test_two_files_with_one_name(files, tmp_path, capsys):  # noqa: F811
    a_tree(tmp_path / "tree", **{"é.md": "one"})
    (tmp_path / "tree" / unicodedata.normalize("NFD", "é.md")).write_text("other")
    assert files("import", str(tmp_path / "tree"), "--store", "new").status == 65
    assert "has the same name in the Unicode form NFC" in " ".join(capsys.readouterr().err.split())
    assert not File.objects.exists()


def test_temporary_files_are_named_and_others_imported(files, tmp_path):  # noqa: F811
    own = {".draft.part": "1", "notes/.b.md.part": "2", ".x.0123456789abcde.part": "3"}
    a_tree(tmp_path / "tree", **own)
    left = atomic.temporary_path(tmp_path / "tree" / "notes" / "c.md")
    left.write_text("half")
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--json").json()
    assert (done["files"], done["ignored"]) == (3, [f"notes/{left.name}"])
    assert {path: files("read", "new", path, "--json").json()["text"] for path in own} == own
    files("export", "new", str(tmp_path / "back"))
    assert {path: content.decode() for path, content in tree_of(tmp_path / "back").items() if path in own} == own
    assert files("write", "new", left.name, "x").status == 65, "an export would lose it"


def test_versions_that_no_write_finished(files, tmp_path):  # noqa: F811
    """flyte writes a version, then the line in its log. A kill between them leaves what was never a write."""
    store = a_tree(tmp_path / "tree", **{"a.md": "one"})
    store.write_text("a.md", "two", actor="second")
    (version,) = (tmp_path / "tree" / store.audit_tail_sync(1)[0]["version_file"],)
    stray = version.with_name(version.name.replace(sha("two"), sha("three")))
    stray.write_text("three")
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--json").json()
    assert done["ignored"] == [stray.relative_to(tmp_path / "tree").as_posix()]
    assert history(files, "a.md") == [(sha("one"), "writer"), (sha("two"), "second")]
    (tmp_path / "tree" / tree.AUDIT_LOG).unlink()
    without = files("import", str(tmp_path / "tree"), "--store", "without", "--json").json()
    assert (without["versions"], without["ignored"]) == (3, []), "without a log every version counts"


def test_a_folder_whose_writer_was_killed(files, tmp_path):  # noqa: F811
    """At each step: contents that were, with those who wrote them, and never one that was not."""
    a_tree(tmp_path / "tree", **{"a.md": "one"})

    def write():
        MemoryStore(root=folder, keep_versions=True).write_text("a.md", "two", actor="second")

    seen, step, killed = list[int](), 0, True
    while killed:
        step += 1
        folder = tmp_path / f"tree{step}"
        shutil.copytree(tmp_path / "tree", folder)
        killed = killed_at(step, write)
        if killed and not (folder / journal.JOURNAL).exists():
            continue
        files("import", str(folder), "--store", "new")
        found = history(files, "a.md")
        assert found in ([(sha("one"), "writer")], [(sha("one"), "writer"), (sha("two"), "second")])
        seen.append(len(found))
        files("delete", "new")
    assert seen == sorted(seen) and set(seen) == {1, 2}


def test_a_message_that_json_does_not_have_is_named(files, tmp_path, capsys):  # noqa: F811
    a_tree(tmp_path / "tree")
    messages = [{"role": "user", "content": "NaN"}, {"score": [1, float("inf")]}]
    (tmp_path / "tree" / "messages.json").write_text(json.dumps(messages))
    assert len(MemoryStore(root=tmp_path / "tree").messages) == 2, "it opens, as in flyte"
    assert files("import", str(tmp_path / "tree"), "--store", "new").status == 65
    error = capsys.readouterr().err
    assert "messages.json, message 1" in error and "message 0" not in error


def test_a_journal_of_somebody_else(files, tmp_path):  # noqa: F811
    a_tree(tmp_path / "tree", **{"a.md": "one"})
    os.symlink("/etc/passwd", tmp_path / "tree" / journal.JOURNAL)  # noqa: PTH211
    assert files("import", str(tmp_path / "tree"), "--store", "new").status == 65, "no link is followed"
