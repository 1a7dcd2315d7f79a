"""Files of stores over REST: a put of 1 kB in server CPU, pages of a long list, memory of large files, equal contents.

The server is the real one in a process of its own; ratios are medians of interleaved rounds.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.home import prepare
from benchmarks.requests import Server, cpu_nanoseconds

ROUNDS, REQUESTS = 9, 200
MANY, PAGE = 10_000, 100
LARGE, MEGABYTE = 64 * 1024 * 1024, 1024 * 1024
_CAPABILITIES = ["memory.read", "memory.write", "artifacts.read", "artifacts.write"]


class FileServer(Server):
    """The server, and the bytes of files."""

    def send(self, method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
        self.line.request(method, path, body=body, headers={"Authorization": f"Bearer {self.token}"})
        return self.line.getresponse()

    def put(self, path: str, content: bytes) -> dict[str, Any]:
        response = self.send("PUT", f"/stores/notes/files/{path}", content)
        answer: dict[str, Any] = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"PUT {path}: {response.status} {answer}")
        return answer

    def cpu(self, calls: Callable[[], object], times: int = REQUESTS) -> float:
        """Microseconds of one call."""
        before = cpu_nanoseconds(self.worker)
        for _ in range(times):
            calls()
        return (cpu_nanoseconds(self.worker) - before) / times / 1000

    def peak(self) -> int:
        """The most memory since `forget_peak`, in bytes."""
        return int(Path(f"/proc/{self.worker}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.worker}/clear_refs").write_text("5")


def main() -> None:
    prepare(door="rest")
    token = _agent()
    statements = _statements_of_pages(token)
    from django.db import connection

    connection.close()
    server = FileServer(token)
    try:
        rows = [*_puts(server), *_pages(server, statements), _memory(server), _equal_contents(server)]
    finally:
        server.stop()
    print(json.dumps(rows))


def _agent() -> str:
    """A token that may, and limits that are not what is measured."""
    from accounts import agents, tokens
    from accounts.principals import shell
    from fluxsite.home import current_home
    from fluxsite.setup import FIRST_SPACE

    with current_home().config.open("a") as config:
        config.write("MAX_KV_WRITES_PER_MINUTE: 10000000\nMAX_FILE_WRITES_PER_MINUTE: 10000000\n")
    agents.create_agent(shell(), space=FIRST_SPACE, name="keeper", capabilities=_CAPABILITIES)
    return str(tokens.mint(shell(), space=FIRST_SPACE, agent="keeper")["token"])


def _statements_of_pages(token: str) -> dict[str, int]:
    """Fill a store with 10,000 files; the SQL statements of its first and last page."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from accounts.tokens import authenticate
    from memory.artifacts import files, listing, stores

    who = authenticate(token)
    for key in ("notes", "many"):
        stores.create_store(who, key=key)
    content = files.of_text("x")
    for number in range(MANY):
        files.put_file(who, store="many", path=f"folder {number // 100:03}/{number:05}.md", content=content)
    found = {}
    for name, cursor in (("first", None), ("last", _last_cursor(who))):
        listing.list_files(who, store="many", limit=PAGE, cursor=cursor)
        with CaptureQueriesContext(connection) as captured:
            listing.list_files(who, store="many", limit=PAGE, cursor=cursor)
        found[name] = len(captured)
    return found


def _last_cursor(who: Any) -> str:
    from memory.artifacts.models import File

    return str(File.objects.filter(store__key="many").order_by("-path")[PAGE].pk)


def _puts(server: FileServer) -> Iterator[dict[str, Any]]:
    chance, numbers = random.Random(1), count()

    def text() -> str:
        return chance.randbytes(512).hex()

    calls: dict[str, Callable[[], object]] = {
        "set": lambda: server.call("PUT", "/agents/keeper/kv/set", {"value": text()}),
        "put": lambda: server.put("one.md", text().encode()),
        "create": lambda: server.put(f"new/{next(numbers)}.md", text().encode()),
    }
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + 1):
        for name, call in calls.items():
            one = server.cpu(call)
            if number:  # the first round warms up
                spent[name].append(one)
    yield _row(spent["put"], spent["set"], "put of 1 kB ÷ key-value set of 1 kB", "≤ 1.5")
    yield _row(spent["create"], spent["set"], "put of a new file of 1 kB ÷ key-value set of 1 kB", "≤ 1.5")


def _pages(server: FileServer, statements: dict[str, int]) -> Iterator[dict[str, Any]]:
    from django.db import connection

    from accounts.tokens import authenticate

    cursor = _last_cursor(authenticate(server.token))
    connection.close()
    address = f"/stores/many/files?limit={PAGE}"
    first, last = [], []
    for number in range(ROUNDS + 1):
        one = server.cpu(lambda: server.call("GET", address), 50)
        other = server.cpu(lambda: server.call("GET", f"{address}&cursor={cursor}"), 50)
        if number:
            first.append(one)
            last.append(other)
    yield _row(last, first, f"last page of {MANY:,} files ÷ first page", "≤ 1.2")
    yield {
        "what": f"SQL statements of the last page of {MANY:,} files ÷ of the first",
        "ratio": statements["last"] / statements["first"],
        "goal": "≤ 1.5",
        "measured": f"{statements['last']} ÷ {statements['first']} statements, the cursor's own one included",
    }


def _memory(server: FileServer) -> dict[str, Any]:
    server.put("warm.bin", b"x" * MEGABYTE)
    server.send("GET", "/stores/notes/files/warm.bin").read()
    content = random.Random(2).randbytes(LARGE)
    server.forget_peak()
    before = server.peak()
    server.put("large.bin", content)
    up = server.peak() - before
    response = server.send("GET", "/stores/notes/files/large.bin")
    if response.read() != content:
        raise RuntimeError("other bytes came back")
    grown = server.peak() - before
    return {
        "what": "server memory of a 64 MB put and get, in units of 32 MB",
        "ratio": grown / (32 * MEGABYTE),
        "goal": "≤ 1",
        "measured": f"+{up / MEGABYTE:.1f} MB after the put, +{grown / MEGABYTE:.1f} MB after the get",
    }


def _equal_contents(server: FileServer) -> dict[str, Any]:
    """The same bytes again and again, under one path and others; a version restored; a copy."""
    content = random.Random(3).randbytes(MEGABYTE)
    server.put("equal.bin", content)
    server.put("equal.bin", content[::-1])
    before = _stored_bytes()
    for number in range(50):
        server.put("equal.bin", content[::-1])
        server.put(f"equal/{number}.bin", content)
    for version in (1, 2, 1, 2):
        server.call("POST", "/stores/notes/restore/equal.bin", {"version": version})
    server.call("POST", "/stores/notes/move", {"path": "equal", "to": "copies", "recursive": True, "keep": True})
    after = _stored_bytes()
    return {
        "what": "stored bytes after 50 writes of the same bytes, 100 files with them and 4 restored versions ÷ before",
        "ratio": after / before,
        "goal": "≤ 1",
        "measured": f"{after:,} ÷ {before:,} bytes of contents",
    }


def _stored_bytes() -> int:
    """Bytes of contents in the database and in blob storage."""
    from django.conf import settings
    from django.db import connection
    from django.db.models import Sum

    from memory.artifacts.models import Content

    inline = Content.objects.exclude(data=None).aggregate(bytes=Sum("size"))["bytes"] or 0
    connection.close()
    return int(inline) + sum(path.stat().st_size for path in settings.HOME.blobs.glob("??/??/*"))


def _row(ours: list[float], theirs: list[float], what: str, goal: str) -> dict[str, Any]:
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    measured = f"{statistics.median(ours):.0f} ÷ {statistics.median(theirs):.0f} µs CPU"
    return {"what": what, "ratio": ratio, "goal": goal, "measured": measured, "rounds": ours}


if __name__ == "__main__":
    main()
