"""flux_files and flux_transcript: what people read of stores, and the bytes of local files."""

from __future__ import annotations

import io
import os

import pytest
from django.core.management import call_command

from flux.calls import registry
from fluxcore import body_file, clock
from memory.artifacts.contents import INLINE_BYTES
from memory.artifacts.models import Content
from memory.management import store_answers
from memory.management.answers import PRINTERS

HOSTILE = "title \x1b[2J\x9b31m \u202egnp.exe"


@pytest.fixture
def files(run):
    run("flux_space", "create", "main")
    run("flux_files", "create", "notes")
    return lambda *words: run("flux_files", *words)


@pytest.fixture
def transcript(files, run):
    return lambda *words: run("flux_transcript", *words)


def test_every_call_on_stores_is_printed_for_people():
    offered = {call for call in registry.calls("artifacts") if call.shell}
    assert offered <= {*store_answers.PRINTERS, *PRINTERS}


def test_texts_are_printed_as_they_are(files):
    text = '# Plan\n\n\t- "beans" → \\n\r\nlast, without an end'
    files("write", "notes", "plan.md", text)
    assert files("read", "notes", "plan.md").text == text
    assert files("read", "notes", "plan.md", "--first", "3", "--last", "3").text == '\t- "beans" → \\n\r\n'
    assert files("read", "notes", "plan.md", "--json").json()["text"] == text


def test_a_terminal_is_sent_no_control_characters(files, transcript):
    files("write", "notes", "a.md", HOSTILE + "\nnext\n", "--reason", HOSTILE)
    files("write", "notes", "a.md", HOSTILE + "\nlast\n")
    transcript("say", "notes", '[{"role": "user", "content": "say \\u001b[2J \\u202e"}]')
    reader, writer = os.openpty()  # a real terminal
    with os.fdopen(writer, "w", encoding="utf-8") as terminal:
        for words in (
            ("flux_files", "read", "notes", "a.md"),
            ("flux_files", "history", "notes", "a.md"),
            ("flux_files", "audit", "notes"),
            ("flux_files", "diff", "notes", "a.md"),
            ("flux_files", "search", "notes", "title"),
            ("flux_transcript", "show", "notes"),
        ):
            call_command(*words, stdout=terminal)
            terminal.write("The end.")
            terminal.flush()
            printed = b""
            while not printed.endswith(b"The end."):  # it comes in parts
                printed += os.read(reader, 100_000)
            printed = printed.decode()
            # Labels and reasons are stored with their control characters escaped.
            assert "⟨U+001B⟩[2J" in printed or "\\u001b[2J" in printed, words
            assert "\x1b[2J" not in printed and "\x9b" not in printed and "\u202e" not in printed, words
    os.close(reader)


def test_lists_are_tables_of_80_columns(files):
    files("create", "handbook", "--project", "garden")
    for number in range(3):
        files(
            "write", "notes", f"folder/file {number}.md", "x" * 1_000 * number, "--reason", "because it was asked for"
        )
    for words in (("list",), ("show", "notes"), ("ls", "notes"), ("history", "notes", "folder/file 1.md")):
        printed = files(*words).text
        assert printed.count("\n") > 1 and not printed.startswith("{"), words
        assert max(map(len, printed.splitlines())) <= 80, printed
    assert "folder/file 2.md  2,000  1  " in files("ls", "notes").text
    assert "folder/" in files("ls", "notes").text
    other = files("list", "--project", "garden", "--json").json()["stores"][0]["store"]
    assert other in files("list").text  # its key names another store, or none
    assert files("ls", "notes", "--prefix", "nothing").text == "No files.\n"


def test_a_difference_is_printed_by_lines(files):
    files("write", "notes", "a.md", "one\ntwo\n")
    assert files("write", "notes", "a.md", "one\nthree\n").text == "a.md is at version 2, 10 bytes\n"
    assert files("diff", "notes", "a.md").text.splitlines()[-3:] == [" one", "-two", "+three"]
    assert files("write", "notes", "a.md", "one\nthree\n").text == "a.md has this content already: version 2\n"
    assert files("search", "notes", "THREE").text == "a.md:2: three\n"
    assert files("mv", "notes", "a.md", "b.md").text == "b.md is at version 1, 10 bytes\n"
    assert files("rm", "notes", "b.md").text == "Deleted b.md\n"
    assert files("search", "notes", "three").text == "No line has this text.\n"
    assert "It can be restored until" in files("delete", "notes").text


def test_a_transcript_is_printed_like_a_chat(transcript, standing_clock):
    said = (
        '[{"role": "user", "name": "Ada", "content": "Which beans?\\nThe green ones."},'
        ' {"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "image"}],'
        ' "tool_calls": [{"function": {"name": "find", "arguments": "{\\"what\\": 1}"}}]}, {"n": 1}]'
    )
    now = clock.rfc3339(clock.now())[:19]
    assert transcript("say", "notes", said).text == "Added messages 1 to 3.\n"
    assert transcript("show", "notes").text.splitlines() == [
        f"1 Ada (user), {now}",
        "  Which beans?",
        "  The green ones.",
        f"2 assistant, {now}",
        "  I look.",
        "  [image]",
        '  find({"what": 1})',
        f"3 {transcript('show', 'notes', '--json').json()['messages'][2]['by']}, {now}",
        '  {"n": 1}',
    ]
    assert transcript("show", "notes", "--limit", "1").text.splitlines()[-1] == "Earlier ones: --before 3"
    assert transcript("show", "notes", "--after", "0", "--limit", "1").text.splitlines()[-1] == "More: --after 1"
    removed = transcript("pop", "notes").text.splitlines()
    assert removed[1] == '  {"n": 1}' and removed[-1].startswith("Removed 1 message. Undo: ")
    words = removed[-1].partition("flux_transcript undo ")[2].split()
    assert transcript("undo", *words).text == "Restored 1 message.\n"
    assert transcript("clear", "notes").text.startswith("Removed 3 messages.")
    assert transcript("show", "notes").text == "No messages.\n"


@pytest.mark.parametrize("size", [0, 5, INLINE_BYTES + 1, 3 * body_file.CHUNK_BYTES + 7])
def test_bytes_come_and_go_unchanged(files, tmp_path, size):
    data = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
    (tmp_path / "in.bin").write_bytes(data)
    put = files("put", "notes", "a.bin", str(tmp_path / "in.bin"), "--content-type", "image/png", "--expected-sha=")
    assert put.text == f"a.bin is at version 1, {size:,} bytes\n"
    assert (tmp_path / "in.bin").read_bytes() == data  # not moved into the store
    got = files("get", "notes", "a.bin", str(tmp_path / "out.bin"), "--json").json()
    assert (tmp_path / "out.bin").read_bytes() == data
    assert (got["bytes"], got["file"], got["version"]) == (size, str(tmp_path / "out.bin"), 1)
    assert {path.name for path in tmp_path.iterdir()} == {"in.bin", "out.bin"}


def test_standard_input_and_output(files, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00 typed")))
    assert files("put", "notes", "a.bin", "-").text == "a.bin is at version 1, 8 bytes\n"
    out = io.TextIOWrapper(io.BytesIO())
    call_command("flux_files", "get", "notes", "a.bin", "-", stdout=out)
    assert out.buffer.getvalue() == b"\xff\x00 typed"
    assert "8 bytes of application/octet-stream, no text. Save them: " in files("read", "notes", "a.bin").text
    assert files("get", "notes", "a.bin", "-", "--json").status == 65


def test_a_name_that_an_agent_chose_replaces_no_local_file(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files("write", "notes", "deep/.profile", "rm -rf\n")
    (tmp_path / ".profile").write_text("mine")
    assert files("get", "notes", "deep/.profile").status == 65
    assert files("get", "notes", "deep/.profile", str(tmp_path)).status == 65
    assert (tmp_path / ".profile").read_text() == "mine"
    assert files("get", "notes", "deep/.profile", ".profile").status == 0
    assert (tmp_path / ".profile").read_text() == "rm -rf\n"
    (tmp_path / "below").mkdir()
    assert files("get", "notes", "deep/.profile", "below").text.strip().endswith("below/.profile")
    assert [path.name for path in (tmp_path / "below").iterdir()] == [".profile"]


def test_what_is_refused_leaves_nothing(files, tmp_path, configure):
    configure(MAX_FILE_BYTES=100_000)
    (tmp_path / "large").write_bytes(b"x" * 100_001)
    (tmp_path / "small").write_bytes(b"x")
    for words, status in (
        (("put", "notes", "a", str(tmp_path / "large")), 65),
        (("put", "notes", "a", str(tmp_path / "nowhere")), 65),
        (("put", "notes", "a", str(tmp_path)), 65),
        (("put", "notes", "../a", str(tmp_path / "small")), 65),
        (("put", "notes", "a", str(tmp_path / "small"), "--expected-sha", "no"), 65),
        (("put", "notes", "a", str(tmp_path / "small"), "--expected-sha", "0" * 64), 75),
        (("put", "notes", "a", str(tmp_path / "small"), "--prefix", "x"), 65),
        (("put", "notes", "a"), 65),
        (("get", "notes", "a", str(tmp_path / "out")), 66),
        (("get", "notes", "a", str(tmp_path / "out"), "more"), 65),
        (("export", "notes", str(tmp_path / "out"), "--provenance", "ai_stated"), 65),
    ):
        assert files(*words).status == status, words
    assert not Content.objects.exists() and {path.name for path in tmp_path.iterdir()} == {"large", "small"}
