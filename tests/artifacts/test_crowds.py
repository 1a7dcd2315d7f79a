"""Many writers at once, through the client and MemoryStore, over a server: nothing is lost, every count is exact."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from django.db import connection

from flux.client import FluxClient
from flux.memory import ConcurrencyError, MemoryStore
from fluxcore.errors import AlreadyExists, Conflict, NotFound, QuotaReached
from memory.artifacts.models import Content
from tests.artifacts import counts
from tests.concurrency.load import together
from tests.sdk.memory_messages import ALL

pytestmark = pytest.mark.storage
CROWD = 16


@pytest.fixture
def client(live_server, make_token, monkeypatch):
    monkeypatch.setenv("FLUX_URL", live_server.url)
    monkeypatch.setenv("FLUX_TOKEN", make_token(capabilities=ALL))
    with FluxClient() as one:
        yield one


def check_counts():
    counts.check()
    connection.close()


def test_of_16_writers_with_one_expectation_one_wins(client):
    store = MemoryStore.create(key="k", keep_versions=True)
    sha, winners = "", []
    for turn in range(3):
        outcomes = {}

        def write(number, turn=turn, sha=sha, outcomes=outcomes):
            text = f"{turn} {number}"
            try:
                if number % 2:
                    one = MemoryStore.get_or_create(key="k")
                    one.write_text(f"own/{turn}-{number}", text)
                    outcomes[number] = one.write_text("shared", text, expected_sha=sha).sha256
                else:
                    client.put_file("k", f"own/{turn}-{number}", text.encode())
                    outcomes[number] = client.put_file("k", "shared", text.encode(), expected_sha=sha)["sha"]
            except ConcurrencyError as error:
                outcomes[number] = (error.expected_sha, error.actual_sha)
            except Conflict as error:
                outcomes[number] = (error.details["expected_sha"], error.details["current_sha"])

        together(CROWD, write)
        (won,) = [found for found in outcomes.values() if isinstance(found, str)]
        assert Counter(outcomes.values()) == {won: 1, (sha, won): CROWD - 1}, "each of the others is told the digest"
        sha = won
        winners.append(won)
    assert [one["sha"] for one in reversed(client.file_versions("k", "shared")["versions"])] == winners
    assert store.list_paths("own") == sorted(f"own/{turn}-{number}" for turn in range(3) for number in range(CROWD))
    refused = [event for event in store.audit_tail_sync(0) if event["outcome"] == "conflict"]
    assert len(refused) == 3 * (CROWD - 1), "the store's log has every one that lost"
    check_counts()


def test_renames_against_writes_and_messages(client):
    """A folder is renamed again and again while others write into it and talk: each write is before or after."""
    client.create_store("k")
    for number in range(5):
        client.put_file("k", f"d0/{number}", b"first")
    written = []

    def work(number):
        for turn in range(8):
            if number == 0:
                client.move_files("k", f"d{turn}", f"d{turn + 1}", recursive=True)
            elif number < 3:
                client.append_messages("k", [{"role": "user", "content": f"{number} {turn} {part}"} for part in (0, 1)])
            else:
                path, text = f"d{turn}/{turn % 5}", f"{number} {turn}"
                try:
                    client.put_file("k", path, text.encode(), expected_sha=hashlib.sha256(b"first").hexdigest())
                    written.append((path, text))
                except Conflict:
                    pass

    together(8, work)
    assert [file["path"] for file in client.list_files("k")["files"]] == [f"d8/{number}" for number in range(5)]
    for path, text in written:
        versions = client.file_versions("k", path)["versions"]
        assert hashlib.sha256(text.encode()).hexdigest() in {one["sha"] for one in versions}, (path, text)
    page = client.read_messages("k", after=0)
    assert [one["seq"] for one in page["messages"]] == list(range(1, 33))
    said = [one["message"]["content"] for one in page["messages"]]
    assert all(first[:-1] == second[:-1] for first, second in zip(said[::2], said[1::2], strict=True)), "pairs together"
    assert [text for text in said if text[0] == "1"] == [f"1 {turn} {part}" for turn in range(8) for part in (0, 1)]
    check_counts()


def test_the_same_bytes_are_written_while_their_last_user_is_deleted(client):
    client.create_store("k", keep_versions=False)
    small, large = b"small", b"large" * 20_000

    def work(number):
        for turn in range(10):
            content = (small, large)[turn % 2]
            path = f"{number % 4}/{turn % 2}"
            if number < 4:
                client.put_file("k", path, content)
            elif number < 6:
                client.delete_file("k", path)
            else:
                try:
                    assert client.get_file("k", path) == content
                except NotFound:
                    pass

    together(8, work)
    check_counts()
    for file in client.list_files("k")["files"]:
        client.delete_file("k", file["path"])
    assert not Content.objects.exists()


def test_limits_are_exact(client, configure):
    client.create_store("files", max_files=10)
    client.create_store("bytes", max_bytes=100)
    configure(MAX_STORE_BYTES_PER_SPACE=150)
    outcomes = Counter()

    def work(number):
        for store, content in (("files", b"x"), ("bytes", f"{number:010}".encode())):
            try:
                client.put_file(store, f"{number}", content)
                outcomes[store] += 1
            except QuotaReached:
                outcomes[f"{store} refused"] += 1
        try:
            client.create_store("once")
            outcomes["created"] += 1
        except AlreadyExists:
            pass

    together(CROWD, work)
    assert outcomes == {"files": 10, "files refused": 6, "bytes": 10, "bytes refused": 6, "created": 1}
    check_counts()
