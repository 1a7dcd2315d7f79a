"""Export and import of stores as folders in flyte's layout."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from flux.memory import MemoryStore
from memory.artifacts import tree_export
from memory.artifacts.models import File, FileChange, Message, Store
from tests.commands.conftest import run  # noqa: F401
from tests.docs.pages import ROOT
from tests.servers import missing

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
LARGE = b"large \xff" * 20_000  # it is in blob storage


@pytest.fixture
def files(run):  # noqa: F811
    run("flux_space", "create", "main")
    return lambda *words: run("flux_files", *words)


@pytest.fixture
def talk(run, files):  # noqa: F811
    return lambda *words: run("flux_transcript", *words)


@pytest.fixture
def stored(files, talk):
    """A store with files, versions and messages."""
    files("create", "notes")
    files("write", "notes", "plans/a b.md", "one\r\n", "--actor", "planner", "--reason", "first")
    files("write", "notes", "plans/a b.md", "two")
    files("write", "notes", "ä.txt", "")
    files("write", "notes", "gone.txt", "x")
    files("rm", "notes", "gone.txt")
    talk("say", "notes", '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')


def sha(content):
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def a_tree(folder, **content):
    """A folder that a MemoryStore wrote."""
    store = MemoryStore(root=folder, keep_versions=True, messages=[{"role": "user", "content": "hi"}])
    for path, text in (content or {"a.md": "a"}).items():
        store.write_text(path, text, actor="writer", reason="because")
    store.save()
    return store


def test_a_store_as_a_folder(files, stored, tmp_path):
    done = files("export", "notes", str(tmp_path / "tree"), "--json").json()
    assert {name: done[name] for name in ("key", "files", "versions", "messages")} == {
        "key": "notes",
        "files": 2,
        "versions": 3,
        "messages": 2,
    }
    tree = tree_of(tmp_path / "tree")
    versions = sorted(name for name in tree if name.startswith("versions/plans%2Fa%20b.md/"))
    assert sorted(tree[name] for name in versions) == [b"one\r\n", b"two"]
    assert all(name.endswith(f"_{sha(tree[name])}.txt") for name in versions)
    assert (tree["plans/a b.md"], tree["ä.txt"]) == (b"two", b"")
    meta = json.loads(tree["meta/plans%2Fa%20b.md.json"])
    assert (meta["sha256"], meta["bytes"], meta["path"]) == (sha("two"), 3, "plans/a b.md")
    log = [json.loads(line) for line in tree["audit/log.jsonl"].splitlines()]
    assert [(event["op"], event["path"]) for event in log] == [
        ("create", "plans/a b.md"),
        ("update", "plans/a b.md"),
        ("create", "ä.txt"),
    ]
    assert (log[0]["actor"], log[0]["reason"], log[1]["old_sha"]) == ("planner", "first", log[0]["new_sha"])
    assert {event["version_file"] for event in log[:2]} == set(versions)
    assert set(log[0]) == {"ts", "op", "path", "old_sha", "new_sha", "actor", "reason", "version_file"}
    local = MemoryStore(root=tmp_path / "tree")
    assert local.read_bytes("plans/a b.md") == b"two" and local.get_meta("plans/a b.md").reason == ""
    assert [message["content"] for message in local.messages] == ["hi", "hello"]
    assert not list(tmp_path.glob(".*")), "nothing half-written is left"


def test_many_versions_and_messages(files, talk, tmp_path, monkeypatch):
    """More of each than one page has, and operations that flyte's log does not know."""
    files("create", "notes")
    for number in range(5):
        files("append", "notes", "log.txt", f"{number}\n")
        talk("say", "notes", json.dumps([{"role": "user", "content": str(number)}]))
    files("rm", "notes", "log.txt")
    files("restore", "notes", "log.txt", "2")
    files("mv", "notes", "log.txt", "moved.txt")
    files("cp", "notes", "moved.txt", "log.txt")
    monkeypatch.setattr(tree_export, "PAGE", 2)
    done = files("export", "notes", str(tmp_path / "tree"), "--json").json()
    assert (done["files"], done["versions"], done["messages"]) == (2, 8, 5)
    tree = tree_of(tmp_path / "tree")
    log = [json.loads(line) for line in tree["audit/log.jsonl"].splitlines() if b'"log.txt"' in line]
    ops = ["create", "update", "update", "update", "update", "delete", "create", "rename", "create"]
    assert [event["op"] for event in log] == ops
    for event in log:
        if event["version_file"]:
            assert sha(tree[event["version_file"]]) == event["new_sha"]
    assert [one["content"] for one in json.loads(tree["messages.json"])] == list("01234")


def test_out_and_back(files, stored, tmp_path):
    files("export", "notes", str(tmp_path / "one"))
    done = files("import", str(tmp_path / "one"), "--store", "copy", "--json").json()
    assert (done["created"], done["files"], done["versions"], done["messages"]) == (True, 2, 1, 2)
    files("export", "copy", str(tmp_path / "two"))
    one, two = tree_of(tmp_path / "one"), tree_of(tmp_path / "two")
    assert two.pop("audit/log.jsonl").count(b"\n") == one.pop("audit/log.jsonl").count(b"\n") == 3
    assert two == one
    again = files("import", str(tmp_path / "one"), "--store", "copy", "--json").json()
    assert (again["created"], again["files"], again["unchanged"], again["messages"]) == (False, 0, 2, 0)
    history = files("history", "copy", "plans/a b.md", "--json").json()["versions"]
    assert [(row["version"], row["actor"], row["reason"]) for row in history][1] == (1, "planner", "first")
    assert "user_stated" not in {file.origin for file in File.objects.filter(store__key="copy")}


def test_a_tree_of_flytes_layout(files, talk, tmp_path):
    store = a_tree(tmp_path / "tree", **{"a.md": "a", "b/c.json": "{}"})
    store.write_text("a.md", "b", actor="other", reason="again")
    store.write_text("a.md", "a", actor="third")
    store.write_bytes("large.bin", LARGE, actor="writer")
    (tmp_path / "tree" / "b" / "c.json").write_text('{"by": "hand"}')
    (tmp_path / "tree" / "plain.txt").write_text("no facts")
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--reason", "moving", "--json").json()
    assert (done["files"], done["versions"], done["messages"], done["ignored"]) == (4, 3, 1, [])
    rows = files("history", "new", "a.md", "--json").json()["versions"]
    assert [(row["version"], row["sha"], row["actor"], row["reason"]) for row in rows] == [
        (3, sha("a"), "third", ""),
        (2, sha("b"), "other", "again"),
        (1, sha("a"), "writer", "because"),
    ]
    assert rows[0]["at"][:19] == store.get_meta("a.md").updated_at[:19]
    facts = {file.path: file for file in File.objects.filter(store__key="new")}
    assert facts["b/c.json"].actor == "", "facts of another content say nothing about this one"
    assert (facts["large.bin"].sha, facts["large.bin"].actor) == (sha(LARGE), "writer")
    assert files("read", "new", "plain.txt", "--json").json()["text"] == "no facts"
    assert talk("show", "new", "--json").json()["messages"][0]["message"] == {"role": "user", "content": "hi"}


def test_a_tree_comes_back_byte_for_byte(files, tmp_path):
    """Transcript, files, facts, versions and log, as flyte's layout has them."""
    store = MemoryStore(root=tmp_path / "tree", keep_versions=True)
    store.extend(
        [
            {"role": "user", "content": "Größe? \u2028 \U0001f431"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"zeta": 1.0, "alpha": [1, 1e-7, True, None, {"b": "", "a": {}}]},
        ]
    )
    for path, content in (("a b/ü%41.md", b"one\r\n"), ("a b/ü%41.md", b"two"), ("blob.bin", LARGE), ("empty", b"")):
        store.write_bytes(path, content, actor="writer", reason=f"wrote {path}")
    store.save()
    done = files("import", str(tmp_path / "tree"), "--store", "new", "--json").json()
    assert (done["files"], done["messages"], done["ignored"]) == (3, 3, [])
    files("export", "new", str(tmp_path / "back"))
    assert tree_of(tmp_path / "back") == tree_of(tmp_path / "tree")


def test_into_a_store_that_has_files(files, stored, tmp_path):
    files("export", "notes", str(tmp_path / "tree"))
    store = MemoryStore(root=tmp_path / "tree", keep_versions=True)
    store.write_text("plans/a b.md", "three", actor="outside")
    store.append({"role": "user", "content": "more"})
    store.save()
    files("write", "notes", "own.md", "stays")
    done = files("import", str(tmp_path / "tree"), "--store", "notes", "--json").json()
    assert (done["created"], done["files"], done["versions"], done["unchanged"]) == (False, 1, 0, 1)
    assert done["messages"] == 1
    rows = files("history", "notes", "plans/a b.md", "--json").json()["versions"]
    assert (rows[0]["version"], rows[0]["actor"]) == (3, "outside")
    assert files("read", "notes", "own.md", "--json").json()["text"] == "stays"


def spoil_link(tree):
    (tree / "link").symlink_to("/etc/passwd")


def spoil_folder_link(tree):
    (tree / "deep").symlink_to(tree / "audit")


def spoil_meta_link(tree):
    (tree / "meta").rename(tree.parent / "meta")
    (tree / "meta").symlink_to(tree.parent / "meta")


def spoil_name(tree):
    (tree / "Versions").mkdir()
    (tree / "Versions" / "x").write_text("x")


def spoil_characters(tree):
    (tree / "a\u202eb").write_text("x")


def spoil_bytes(tree):
    (tree / os.fsdecode(b"\xff")).write_text("x")


def spoil_pipe(tree):
    os.mkfifo(tree / "pipe")


def spoil_version(tree):
    next((tree / "versions" / "a.md").iterdir()).write_text("other")


def spoil_facts(tree):
    (tree / "meta" / "a.md.json").write_text("[]")


def spoil_messages(tree):
    (tree / "messages.json").write_text("{}")


def spoil_message(tree):
    (tree / "messages.json").write_text('[{"n": NaN}]')


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_link, "link: it is a symbolic link"),
        (spoil_folder_link, "deep: it is a symbolic link"),
        (spoil_meta_link, "meta: it is a symbolic link"),
        (spoil_name, "Versions/x: 'Versions' is reserved"),
        (spoil_characters, "U\\+202E"),
        (spoil_bytes, "udcff"),
        (spoil_pipe, "pipe: it is neither a file nor a folder"),
        (spoil_version, "another SHA-256 than its name"),
        (spoil_facts, "meta/a.md.json: it is not valid"),
        (spoil_messages, "messages.json: it is not valid"),
        (spoil_message, "messages.json, message 0"),
    ],
)
def test_one_bad_file_and_nothing_is_imported(files, tmp_path, capsys, spoil, says):
    a_tree(tmp_path / "tree")
    spoil(tmp_path / "tree")
    assert files("import", str(tmp_path / "tree"), "--store", "new").status == 65
    error = " ".join(capsys.readouterr().err.split())
    assert re.search(says, error), error
    assert "Nothing was imported" in error
    assert not Store.objects.exists() and not File.objects.exists()


def test_a_write_that_fails_leaves_nothing(files, tmp_path, configure):
    a_tree(tmp_path / "tree", **{"a.md": "a", "b.md": "b"})
    configure(MAX_STORE_FILES=1)
    assert files("import", str(tmp_path / "tree"), "--store", "new").status == 65
    assert not Store.objects.exists() and not FileChange.objects.exists() and not Message.objects.exists()


def test_what_a_tree_cannot_hold(files, tmp_path, capsys):
    files("create", "notes")
    long = "/".join(["ä" * 40] * 3)
    files("write", "notes", long, "x")
    done = files("export", "notes", str(tmp_path / "tree"), "--json").json()
    assert done["without_facts"] == [long] and (tmp_path / "tree" / long).read_text() == "x"
    files("write", "notes", "ä" * 200, "x")
    assert files("export", "notes", str(tmp_path / "other")).status == 65
    assert "no folder takes" in " ".join(capsys.readouterr().err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]
    (tmp_path / "tree" / "versions" / "none").mkdir(parents=True)
    again = files("import", str(tmp_path / "tree"), "--store", "back", "--json").json()
    assert (again["files"], again["ignored"]) == (1, ["versions/none"])


def test_wrong_uses(files, stored, tmp_path, capsys):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    for words in (
        ("export", "notes"),
        ("export", "notes", str(tmp_path / "full")),
        ("export", "notes", str(tmp_path / "none" / "tree")),
        ("export", "notes", str(tmp_path / "tree"), "--limit", "1"),
        ("export", "notes", str(tmp_path / "tree"), "--project", "p"),
        ("export", "notes", str(tmp_path / "tree"), "--store", "x"),
        ("import", str(tmp_path / "full")),
        ("import", str(tmp_path / "none"), "--store", "x"),
        ("import", str(tmp_path / "full"), "--store", "a/b"),
        ("import", str(tmp_path / "full"), "--store", "x", "--limit", "1"),
    ):
        assert files(*words).status == 65, words
    assert files("export", "nowhere", str(tmp_path / "tree")).status == 66
    (tmp_path / "empty").mkdir()
    assert files("export", "notes", str(tmp_path / "empty")).status == 0
    assert "Imported 1 files" in files("import", str(tmp_path / "full"), "--store", "x", "--project", "p").text


def test_with_an_agents_capabilities(files, run, tmp_path, capsys):  # noqa: F811
    run("flux_agent", "create", "helper", "--capability", "artifacts.write:mine/**")
    a_tree(tmp_path / "tree")
    assert files("import", str(tmp_path / "tree"), "--store", "mine", "--as", "helper").status == 77
    assert "transcript" in capsys.readouterr().err
    assert not Store.objects.exists()


def test_flyte_opens_an_export_and_we_what_it_wrote(files, stored, tmp_path):
    """With the published package, in an environment of its own that FLUX_TESTS_FLYTE names."""
    python = os.environ.get("FLUX_TESTS_FLYTE")
    if python is None:
        pytest.skip(missing("flyte", "FLUX_TESTS_FLYTE names no Python that has it"))
    files("export", "notes", str(tmp_path / "tree"))
    done = subprocess.run(
        [python, str(ROOT / "tests/adapters/flyte_tree.py"), str(tmp_path / "tree")],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {path: file["sha"] for path, file in found["files"].items()} == {
        "plans/a b.md": sha("two"),
        "ä.txt": sha(""),
    }
    assert [message["content"] for message in found["messages"]] == ["hi", "hello"]
    assert [event["op"] for event in found["events"]] == ["create", "update", "create"]
    back = files("import", str(tmp_path / "tree"), "--store", "notes", "--json").json()
    assert (back["files"], back["unchanged"], back["messages"], back["ignored"]) == (2, 1, 1, [])
    assert files("read", "notes", found["changed"], "--json").json()["text"] == "changed by flyte"
    facts = File.objects.get(path="from flyte.md")
    assert (facts.actor, facts.reason, facts.sha) == ("flyte", "checked", sha("one"))
