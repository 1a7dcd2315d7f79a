"""Pages of transcripts: messages like a chat, search, jumps by number, removal and its undo."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import shell
from memory.artifacts import stores, transcripts
from memory.artifacts.models import Message
from tests.dashboard.conftest import send, words

TALK = [
    {"role": "user", "name": "Ada", "content": "Which **beans**?", "timestamp": "2026-11-18T09:00:00Z"},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "find", "arguments": '{"a": "b"}'}}]},
    {"role": "tool", "name": "find", "content": "runner beans", "tool_call_id": "c1"},
    {"role": "assistant", "content": [{"type": "text", "text": "Runner beans."}, {"type": "image_url", "url": "x"}]},
]


@pytest.fixture
def me(space):
    made = shell(space)
    stores.create_store(made, key="notes")
    return made


@pytest.fixture
def client(person, me):
    return person("grace", administrator=False, roles={"home": "operator"}).sign_in()


def say(me, *messages, **more):
    return transcripts.append_messages(me, store="notes", messages=list(messages), **more)


def shown(client, path="/transcripts/notes", **query):
    answer = client.get(path, query)
    assert answer.status_code == 200
    return words(answer)


def numbers(page):
    return [int(number) for number in re.findall(r'<li class="card message[^"]*" id="m(\d+)"', page)]


def test_empty_pages_say_how_to_begin(client):
    assert "No messages yet" in shown(client, "/transcripts") and "transcript_append" in shown(client, "/transcripts")
    assert "No messages yet" in shown(client)


def test_a_transcript_is_read_like_a_chat(client, me):
    say(me, *TALK, session="monday")
    assert 'href="/transcripts/notes">notes</a>' in shown(client, "/transcripts")
    page = shown(client)
    assert numbers(page) == [1, 2, 3, 4]
    assert "<strong>Ada</strong><span>user</span>" in page and "Which <strong>beans</strong>?" in page
    assert 'datetime="2026-11-18T09:00:00+00:00"' in page
    titles = ["Tool call: find", "Answer of find", "Other fields", "Attachment: image_url"]
    assert re.findall(r"<details><summary>([^<]+)</summary>", page) == titles
    assert "&quot;a&quot;</span>: <" in page, "arguments of a call are read as JSON"
    assert 'href="?session=monday"' in page


def test_sessions_search_and_pages(client, me):
    for session in ("monday", "tuesday"):
        say(me, *({"role": "user", "content": f"{session} {number}"} for number in range(60)), session=session)
    assert numbers(shown(client)) == list(range(71, 121))
    assert numbers(shown(client, before=71)) == list(range(21, 71)) and "after=70" in shown(client, before=71)
    assert numbers(shown(client, after=10)) == list(range(11, 61))
    assert numbers(shown(client, session="monday")) == list(range(11, 61))
    assert numbers(shown(client, q="MONDAY 5")) == [6, *range(51, 61)]
    older = re.search(r'href="([^"]+)" rel="prev"', shown(client, session="tuesday"))[1].replace("&amp;", "&")
    assert numbers(shown(client, older)) == list(range(61, 71))
    client.get("/transcripts/notes")
    with CaptureQueriesContext(connection) as statements:
        client.get("/transcripts/notes")
    assert len(statements) <= 30


def test_a_jump_marks_the_message_among_its_neighbours(client, me):
    say(me, *({"role": "user", "content": f"message {number}"} for number in range(1, 101)))
    page = shown(client, at=50)
    assert numbers(page) == list(range(30, 70))
    assert re.findall(r'message from-user marked" id="m(\d+)"', page) == ["50"]
    assert "before=30" in page and "after=69" in page
    transcripts.pop_messages(me, store="notes", seqs=[50])
    assert "There is no message 50 here" in shown(client, at=50)
    one = shown(client, "/transcripts/notes/49")
    assert "message 49" in one and "As it was stored" in one and "?at=49#m49" in one
    for path in ("50", "0", "9" * 30):
        assert client.get(f"/transcripts/notes/{path}").status_code == 404, path


def test_a_message_names_its_writer_and_the_label_it_gave(client, me):
    say(me, TALK[0], actor="planner")
    say(me, TALK[1])
    assert f"Added by {me.actor} as planner, " in shown(client, "/transcripts/notes/1")
    assert f"Added by {me.actor}, " in shown(client, "/transcripts/notes/2")


def test_messages_are_removed_and_restored(client, me):
    say(me, *TALK)
    done = send(client, "/transcripts/notes/remove", seq=["1", "3", "x"])
    assert done["Location"] == "/transcripts/notes#removed"
    page = shown(client)
    assert numbers(page) == [2, 4] and "2 messages removed" in page and "2 messages, from number 1 on" in page
    removal = re.search(r'name="removal" value="(\w+)"', page)[1]
    assert send(client, "/transcripts/notes/restore", removal=removal).status_code == 302
    assert numbers(shown(client)) == [1, 2, 3, 4]
    send(client, "/transcripts/notes/remove")
    assert "No message was chosen" in shown(client)
    assert send(client, "/transcripts/notes/restore", removal="0" * 32).status_code == 404


def test_viewers_read_and_remove_nothing(person, me):
    say(me, *TALK)
    client = person("vera", administrator=False, roles={"home": "viewer"}).sign_in()
    page = shown(client)
    assert numbers(page) == [1, 2, 3, 4] and 'type="checkbox"' not in page and "/remove" not in page
    assert send(client, "/transcripts/notes/remove", seq="1").status_code == 403
    assert not Message.objects.exclude(removal="").exists()


HOSTILE = [
    {"role": "<script>x", "content": "<script>alert(1)</script> [a](javascript:x) ![b](https://evil.example/b.png)"},
    {"role": "user", "content": [{"type": "<script>"}, 3, None, {"text": "<b>"}, ["x"]], "<script>": "<script>"},
    {"role": "assistant", "tool_calls": "<script>", "content": {"a": "<script>"}},
    {"role": "assistant", "tool_calls": [{"function": {"name": "<script>", "arguments": "[" * 3000}}, 7, None]},
    {"role": "tool", "content": "# " + "x" * 100_000},
    {"content": "\u202e reversed", "name": "x" * 200},
    {"role": "tool", "content": "&#x202e;x", "name": "\u202e"},
    {"role": "assistant", "tool_calls": [{"function": {"name": "\u202e"}}], "content": [{"type": "\u202e"}]},
    {"role": 5, "timestamp": "yesterday", "session": ["x"]},
    {},
]


def test_nothing_of_a_message_becomes_html_of_its_own(client, me):
    say(me, *HOSTILE)
    page = shown(client)
    assert numbers(page) == list(range(1, len(HOSTILE) + 1))
    assert "<script>" not in page.partition('id="part"')[2] and "<b>" not in page.partition('id="part"')[2]
    assert "evil.example/b.png</span>" in page and "javascript:x)" in page and "⟨U+202E⟩" in page
    assert "\u202e" not in page, "neither in titles nor from entities"
    assert "Show the whole message" in page
    for number in numbers(page):
        assert "<script>" not in shown(client, f"/transcripts/notes/{number}").partition("<main")[2]
