"""Files and transcripts when every process is killed: old or new bytes, what was acknowledged, no content left over."""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.databases import connect, new_database
from tests.instances import Answer, Instance
from tests.torture.test_kills import report, seed, sound  # noqa: F401

pytestmark = pytest.mark.torture

WRITERS, FILES, PUTS, FOLDER = 8, 20, 200, 20
CAPABILITIES = ["artifacts.read", "artifacts.write", "transcript.read", "transcript.write"]
_AGENT = f"""
from accounts import agents, tokens
from accounts.principals import shell
from fluxsite.setup import FIRST_SPACE
agents.create_agent(shell(), space=FIRST_SPACE, name="keeper", capabilities={CAPABILITIES})
print(tokens.mint(shell(), space=FIRST_SPACE, agent="keeper")["token"])
"""
_SWEEP = "from memory.artifacts import upkeep; upkeep.sweep(None); upkeep.collect_blobs(None)"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    environment = {}
    if request.param == "postgres":
        environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
    one = Instance(tmp_path, "files", **environment)
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / "config.yaml").write_text("MAX_FILE_WRITES_PER_MINUTE: 10000000\n")
    one.start("--processes", "2")
    one.token = one.command("shell", "-v", "0", "-c", _AGENT).stdout.strip().splitlines()[-1]
    for body in ({"key": "all"}, {"key": "newest", "keep_versions": False}):
        assert one.call("POST", "/stores", body).status == 200
    yield one
    one.kill()


@dataclass
class Line:
    """A connection of one writer, which is opened again after a kill."""

    instance: Instance
    outcomes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._line = self.instance.connection(timeout=40)

    def call(self, method: str, path: str, body: Any = None) -> Answer | None:
        """The answer; None if nobody knows whether the call happened."""
        try:
            answer = self.instance.call(method, path, body, token=self.instance.token, line=self._line)
        except (OSError, http.client.HTTPException):
            self.outcomes["broken"] += 1
            self._line.close()
            self._line = self.instance.connection(timeout=40)
            return None
        self.outcomes[str(answer.status)] += 1
        assert answer.status < 500 or answer.status == 503, answer.body
        return answer if answer.status != 503 else None


def crowd(count: int, work: Callable[[int], None]) -> Callable[[], None]:
    """Start threads; the returned function waits for them and raises their first failure."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()

    def wait() -> None:
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    return wait


def content(cycle: int, writer: int, turn: int) -> bytes:
    """Bytes that nobody else writes: every other one is large enough to be a blob. A few are the same for all."""
    if turn % 5 == 0:
        return b"the same for all " * (10 if turn % 2 else 8_000)
    return f"{cycle}/{writer}/{turn};".encode() * (100 if turn % 2 else 10_000)


class Puts:
    """What was sent to each file and what was acknowledged, as version and digest."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.lock = instance, threading.Lock()
        self.sent: dict[tuple[str, str], set[str]] = {}
        self.acknowledged: dict[tuple[str, str], dict[int, str]] = {}
        self.outcomes: Counter[str] = Counter()

    def run(self, cycle: int, chance: random.Random) -> None:
        """200 puts in two stores; everything is killed in the middle of them."""
        left, middle, stop = iter(range(PUTS)), threading.Event(), threading.Event()

        def write(writer: int) -> None:
            line = Line(self.instance)
            for turn in left:
                if stop.is_set():
                    break
                place = (("all", "newest")[turn % 2], f"folder/{turn % FILES}.bin")
                self._put(line, place, content(cycle, writer, turn))
                if turn >= PUTS // 2:
                    middle.set()
            with self.lock:
                self.outcomes += line.outcomes

        wait = crowd(WRITERS, write)
        assert middle.wait(120)
        time.sleep(chance.uniform(0.0, 0.3))
        self.instance.kill()
        stop.set()
        wait()

    def _put(self, line: Line, place: tuple[str, str], data: bytes) -> None:
        digest = sha256(data).hexdigest()
        with self.lock:
            self.sent.setdefault(place, set()).add(digest)
        answer = line.call("PUT", f"/stores/{place[0]}/files/{place[1]}", data)
        if answer is not None:
            assert answer.status == 200, answer.body
            with self.lock:
                versions = self.acknowledged.setdefault(place, {})
                found = answer.json()
                assert found["sha"] == digest == versions.setdefault(found["version"], digest), "one version twice"

    def check(self) -> int:
        """Every file has bytes that somebody sent to it whole, and every acknowledged version; the versions."""
        line, versions = Line(self.instance), 0
        for place, sent in self.sent.items():
            store, path = place
            read = line.call("GET", f"/stores/{store}/files/{path}")
            if read is None or read.status == 404:
                assert not self.acknowledged.get(place), f"{place} was acknowledged and is gone"
                continue
            digest = sha256(read.body).hexdigest()
            assert digest in sent and read.headers["etag"] == f'"{digest}"', f"{place} has mixed bytes"
            listed = line.call("GET", f"/stores/{store}/versions/{path}?limit=1000").json()["versions"]
            found = {one["version"]: one["sha"] for one in listed}
            assert sorted(found) == list(range(1, len(found) + 1)), "a version is missing or twice"
            assert found.items() >= self.acknowledged.get(place, {}).items(), f"{place} lost an acknowledged version"
            assert found[max(found)] == digest
            versions += len(found)
        return versions


def check_contents(instance: Instance) -> dict[str, int]:
    """Every content is used as often as it says, and after the sweep no blob is left without one."""
    with closing(connect(instance)) as line:
        used = line.execute(
            "SELECT c.id, c.uses, (SELECT count(*) FROM artifacts_filechange f WHERE f.content_id = c.id) "
            "FROM artifacts_content c"
        ).fetchall()
        assert all(uses == changes > 0 for _, uses, changes in used), used
        large = {row[0] for row in line.execute("SELECT sha FROM artifacts_content WHERE data IS NULL").fetchall()}
        counted = line.execute("SELECT key, files, bytes, history_bytes FROM artifacts_store ORDER BY id").fetchall()
        for key, files, size, history in counted:
            rows = line.execute(
                "SELECT f.content_id, f.size FROM artifacts_file f JOIN artifacts_store s "
                f"ON s.id = f.store_id WHERE s.key = '{key}' AND f.sha <> ''"  # keys of this test
            ).fetchall()
            kept = line.execute(
                "SELECT c.content_id, c.size FROM artifacts_filechange c JOIN artifacts_store s "
                f"ON s.id = c.store_id WHERE s.key = '{key}' AND c.content_id IS NOT NULL"
            ).fetchall()
            current, earlier = dict(rows), dict(kept)  # each content counts once
            assert (files, size) == (len(rows), sum(current.values())), key
            assert history == sum(earlier.values()) - size and current.keys() <= earlier.keys(), key
    old = time.time() - 3 * 86_400
    blobs = instance.folder / "blobs"
    for path in blobs.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))
    orphans = {path.name for path in blobs.glob("??/??/*")} - large
    instance.command("shell", "-v", "0", "-c", _SWEEP)
    left = {path.relative_to(blobs).as_posix() for path in blobs.rglob("*") if path.is_file()}
    assert left == {f"{sha[:2]}/{sha[2:4]}/{sha}" for sha in large}, "a blob without content, or the reverse"
    return {"contents": len(used), "blobs": len(large), "orphans_swept": len(orphans)}


def test_kills_in_the_middle_of_200_puts(served: Instance, seed: int) -> None:  # noqa: F811
    puts, chance = Puts(served), random.Random(seed)
    kills = int(os.environ.get("FLUX_TORTURE_KILLS") or 5)
    for cycle in range(kills):
        puts.run(cycle, chance)
        served.start("--processes", "2")
        versions = puts.check()
    assert puts.outcomes["broken"], "no kill hit anybody"
    report(
        f"SIGKILL in the middle of {PUTS} puts, {'PostgreSQL' if 'DATABASE_URL' in served.environment else 'SQLite'}",
        kills=kills,
        acknowledged=sum(map(len, puts.acknowledged.values())),
        lost=0,
        mixed=0,
        versions=versions,
        **check_contents(served),
        audit_entries=sound(served),
        outcomes=dict(puts.outcomes),
        seed=seed,
    )


class Changes:
    """Renames of a folder, deletions, appends and messages, each by writers of their own until the kill."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.stop = instance, threading.Event()
        self.folder, self.maybe = 0, 0  # number of the folder that holds the files, and the one of an unanswered rename
        self.gone: dict[str, bool | None] = {}  # path -> whether it was deleted; None: nobody knows
        self.lines: dict[str, bool] = {}  # appended line -> whether it was acknowledged
        self.messages: dict[int, str] = {}  # number -> acknowledged text
        self.said: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        line = Line(instance)
        for number in range(FOLDER):
            assert line.call("PUT", f"/stores/all/files/d0/deep/{number}", f"file {number}".encode()).status == 200

    def run(self, cycle: int, seconds: float) -> None:
        self.stop.clear()
        works = [self._rename, self._delete, *[self._append] * 2, *[self._say] * 3]

        def work(number: int) -> None:
            line, turn = Line(self.instance), 0
            while not self.stop.is_set():
                works[number](line, f"{cycle}-{number}-{(turn := turn + 1)}")
            self.outcomes += line.outcomes

        wait = crowd(len(works), work)
        time.sleep(seconds)
        self.instance.kill()
        self.stop.set()
        wait()

    def _rename(self, line: Line, name: str) -> None:
        self.maybe = self.folder + 1
        body = {"path": f"d{self.folder}", "to": f"d{self.maybe}", "recursive": True}
        answer = line.call("POST", "/stores/all/move", body)
        if answer is not None:
            assert answer.json()["count"] == FOLDER, answer.body
            self.folder = self.maybe
        else:
            self.stop.set()

    def _delete(self, line: Line, name: str) -> None:
        path = f"short/{name}"
        if line.call("PUT", f"/stores/all/files/{path}", name.encode()) is None:
            return
        self.gone[path] = False
        if int(name.rpartition("-")[2]) % 2:
            answer = line.call("DELETE", f"/stores/all/files/{path}")
            self.gone[path] = None if answer is None else answer.json()["count"] == 1

    def _append(self, line: Line, name: str) -> None:
        self.lines[name] = False
        answer = line.call("POST", "/stores/newest/files/log.txt", f"{name}{'.' * 300}\n".encode())
        self.lines[name] = answer is not None and answer.status == 200

    def _say(self, line: Line, name: str) -> None:
        texts = [f"{name} {number}" for number in range(3)]
        self.said |= set(texts)
        body = {"messages": [{"role": "user", "content": text} for text in texts]}
        answer = line.call("POST", "/stores/all/messages", body)
        if answer is not None:
            for number, text in zip(answer.json()["seqs"], texts, strict=True):
                assert self.messages.setdefault(number, text) == text, "one number twice"

    def check(self) -> dict[str, int]:
        line = Line(self.instance)
        paths = [one["path"] for one in line.call("GET", "/stores/all/files?limit=1000&prefix=").json()["files"]]
        folders = {path.partition("/")[0] for path in paths if path.startswith("d")}
        assert folders <= {f"d{self.folder}", f"d{self.maybe}"} and len(folders) == 1, f"half a rename: {folders}"
        self.folder = int(folders.pop()[1:])
        moved = {path.rpartition("/")[2] for path in paths if path.startswith(f"d{self.folder}/deep/")}
        assert moved == {str(number) for number in range(FOLDER)}
        there = set(paths)
        assert not [path for path, gone in self.gone.items() if gone is not None and gone == (path in there)]
        self._check_log(line)
        return {"renames": self.folder, "deletions": sum(map(bool, self.gone.values())), **self._check_messages(line)}

    def _check_log(self, line: Line) -> None:
        answer = line.call("GET", "/stores/newest/files/log.txt")
        if answer.status == 404:
            assert not any(self.lines.values())
            return
        found = Counter(answer.body.decode().splitlines())
        wanted = {f"{name}{'.' * 300}" for name in self.lines}
        assert set(found) <= wanted and set(found.values()) == {1}, "a torn line, or one twice"
        assert {f"{name}{'.' * 300}" for name, acknowledged in self.lines.items() if acknowledged} <= set(found)

    def _check_messages(self, line: Line) -> dict[str, int]:
        found: dict[int, str] = {}
        after, total = 0, 0
        while after is not None:
            page = line.call("GET", f"/stores/all/messages?limit=1000&after={after}").json()
            for one in page["messages"]:
                assert one["seq"] not in found, "one number twice"
                found[one["seq"]] = one["message"]["content"]
            after, total = page["next_after"], page["total"]
        assert found.items() >= self.messages.items(), "an acknowledged message is gone"
        assert set(found.values()) <= self.said and len(set(found.values())) == len(found) == total
        assert sorted(found) == list(range(1, len(found) + 1)), "numbers with a gap"
        return {"messages": len(found), "lines": sum(self.lines.values())}


def test_kills_during_renames_deletions_appends_and_messages(served: Instance, seed: int) -> None:  # noqa: F811
    changes, chance = Changes(served), random.Random(seed)
    kills = int(os.environ.get("FLUX_TORTURE_KILLS") or 5)
    for cycle in range(kills):
        changes.run(cycle, chance.uniform(0.5, 2.0))
        served.start("--processes", "2")
        found = changes.check()
    assert changes.outcomes["broken"], "no kill hit anybody"
    report(
        f"SIGKILL during changes of files, {'PostgreSQL' if 'DATABASE_URL' in served.environment else 'SQLite'}",
        kills=kills,
        lost=0,
        **found,
        **check_contents(served),
        audit_entries=sound(served),
        outcomes=json.loads(json.dumps(changes.outcomes)),
        seed=seed,
    )
