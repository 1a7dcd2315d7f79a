"""Large bodies and answers, which are kept in files, over a real server."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.instances import ROOT, Instance
from tests.servers import free_port

pytestmark = pytest.mark.xdist_group("streaming")

MEGABYTE = 1024 * 1024
CAP = 64 * MEGABYTE


class StreamingServer(Instance):
    """One REST process whose settings have the test's own call."""

    def begin(self) -> None:
        config = "REQUEST_SECONDS: 300\nEMBEDDING_MODEL_NAME: hashed\nAUDIT_CHECKPOINT_MINUTES: 0\n"
        self.with_tables()
        kept = self.home / "token"
        self.command("flux_init", "--no-input", "--token-file", str(kept))
        self.token = kept.read_text().strip()
        (self.folder / "config.yaml").write_text(config)
        self.state = {"ports": {"rest": free_port()}}
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "tests.rest.streaming_settings"}
        self.output = self.home / "rest.out"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fluxsite.serve", "rest", "127.0.0.1", str(self.state["ports"]["rest"]), "1"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )
        until = time.monotonic() + 90
        while True:
            try:
                assert self.call("GET", "/health").status == 200
            except OSError:
                assert time.monotonic() < until, self.output.read_text()
                time.sleep(0.1)
            else:
                return

    def worker(self) -> int:
        return self.pids()[-1]

    def peak(self) -> int:
        """Peak memory of the server in bytes."""
        status = Path(f"/proc/{self.worker()}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.worker()}/clear_refs").write_text("5")

    def incoming(self) -> list[Path]:
        """Files of request bodies that are still there."""
        return list((self.folder / "blobs" / "incoming").glob(".*"))

    def stored(self) -> list[Path]:
        return [path for path in (self.folder / "blobs").glob("??/??/*") if path.is_file()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamingServer]:
    one = StreamingServer(tmp_path_factory.mktemp("streaming"))
    one.begin()
    yield one
    one.kill()


def put(server, content, headers=None, **more):
    return server.call("PUT", "/api/v1/streamed/new", content, headers=headers, **more)


def get(server, digest, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.call("GET", f"/api/v1/streamed/{digest}", headers=named)


def sha(content):
    return hashlib.sha256(content).hexdigest()


def head(server, *headers, token=None, path="/api/v1/streamed/new"):
    lines = [f"PUT {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token or server.token}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def line_to(server):
    return socket.create_connection(("127.0.0.1", server.state["ports"]["rest"]), timeout=30)


def answer_on(line):
    response = http.client.HTTPResponse(line)
    response.begin()
    return response.status, json.loads(response.read())


def test_64_megabytes_go_up_and_come_down_in_little_memory(server):
    """The server's memory may grow by at most 32 MB."""
    put(server, b"warm")
    get(server, sha(b"warm"))
    content = random.Random(5).randbytes(CAP)
    server.forget_peak()
    before = server.peak()
    stored = put(server, content)
    assert (stored.status, stored.json()) == (200, {"digest": sha(content), "size": CAP})
    up = server.peak() - before
    found = get(server, sha(content))
    down = server.peak() - before
    print(f"server memory: +{up / MEGABYTE:.1f} MB after 64 MB up, +{down / MEGABYTE:.1f} MB after 64 MB down")
    assert (found.status, sha(found.body)) == (200, sha(content))
    assert up < 32 * MEGABYTE and down < 32 * MEGABYTE
    assert server.incoming() == []


def test_a_file_of_64_megabytes_is_put_and_read_in_little_memory(server):
    """The same of the calls on files of a store, which also hash, count and index what they write."""
    server.call("PUT", "/stores", {"key": "large", "recallable": True})
    path, content = "/stores/large/files/a.bin", random.Random(7).randbytes(CAP)
    for warm in ("PUT", "POST", "GET"):
        server.call(warm, "/stores/large/files/warm.bin", None if warm == "GET" else b"x" * MEGABYTE)
    server.forget_peak()
    before = server.peak()
    stored = server.call("PUT", path, content)
    assert (stored.status, stored.json()["sha"], stored.json()["bytes"]) == (200, sha(content), CAP)
    up = server.peak() - before
    found = server.call("GET", path)
    down = server.peak() - before
    print(f"server memory: +{up / MEGABYTE:.1f} MB after 64 MB up, +{down / MEGABYTE:.1f} MB after 64 MB down")
    assert (found.status, sha(found.body)) == (200, sha(content))
    assert up < 32 * MEGABYTE and down < 32 * MEGABYTE
    assert server.incoming() == []


def test_a_caller_that_does_not_read_costs_no_memory(server):
    content = random.Random(6).randbytes(CAP)
    digest = put(server, content).json()["digest"]
    server.forget_peak()
    before = server.peak()
    lines = [line_to(server) for _ in range(4)]
    for line in lines:
        line.sendall(head(server, path=f"/api/v1/streamed/{digest}").replace(b"PUT", b"GET", 1))
    for line in lines:
        line.recv(1000)
    assert get(server, digest, Range="bytes=0-9").body == content[:10]
    assert server.peak() - before < 32 * MEGABYTE
    for line in lines:
        line.close()


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 300_000])
def test_any_size_is_kept_to_the_byte(server, size):
    content = os.urandom(size)
    headers = {"Content-Length": "0"} if not size else None
    stored = put(server, content, headers)
    assert (stored.status, stored.json()) == (200, {"digest": sha(content), "size": size})
    found = get(server, sha(content))
    assert (found.status, found.body) == (200, content)
    assert found.headers["etag"] == f'"{sha(content)}"'
    assert found.headers["content-length"] == str(size)


def test_a_line_serves_many(server):
    line = server.connection()
    for number in range(5):
        assert put(server, b"many %d" % number, line=line).status == 200
        assert get(server, sha(b"many %d" % number)).body == b"many %d" % number
    assert server.call("GET", "/health", line=line).status == 200
    line.close()


RANGES = {
    "bytes=0-0": (206, 0, 1),
    "bytes=3-": (206, 3, 10),
    "bytes=2-5": (206, 2, 6),
    "bytes=-4": (206, 6, 10),
    "bytes=-99": (206, 0, 10),
    "bytes=8-99": (206, 8, 10),
    "bytes = 1-2": (206, 1, 3),
    "bytes=5-4": (200, 0, 10),
    "bytes=": (200, 0, 10),
    "bytes=a-b": (200, 0, 10),
    "lines=1-2": (200, 0, 10),
    "bytes=0-1,3-4": (200, 0, 10),
    "bytes=10-": (416, 0, 0),
    "bytes=99-100": (416, 0, 0),
    "bytes=-0": (416, 0, 0),
    "bytes=999999999999999999-": (416, 0, 0),
    "bytes=9999999999999999999-": (416, 0, 0),
    "bytes=8-9999999999999999999": (206, 8, 10),
    "bytes=-9999999999999999999": (206, 0, 10),
    "bytes=00000000000000000003-4": (206, 3, 5),
}


@pytest.mark.parametrize("asked", RANGES)
def test_ranges(server, asked):
    content = b"0123456789"
    put(server, content)
    status, start, stop = RANGES[asked]
    found = get(server, sha(content), Range=asked)
    assert found.status == status
    if status == 416:
        assert (found.json()["code"], found.headers["content-range"]) == ("range_not_satisfiable", "bytes */10")
        return
    assert (found.body, found.headers["accept-ranges"]) == (content[start:stop], "bytes")
    wanted = f"bytes {start}-{stop - 1}/10" if status == 206 else None
    assert found.headers.get("content-range") == wanted


def test_a_range_holds_only_for_the_content_it_was_asked_of(server):
    content = b"0123456789"
    digest = put(server, content).json()["digest"]
    assert get(server, digest, Range="bytes=1-2", If_Range=f'"{digest}"').status == 206
    other = get(server, digest, Range="bytes=1-2", If_Range='"another"')
    assert (other.status, other.body) == (200, content)


def test_who_has_it_already_is_told_so(server):
    digest = put(server, b"known").json()["digest"]
    assert get(server, digest, If_None_Match=f'"x", "{digest}"').status == 304
    assert get(server, digest, If_None_Match='"x"').status == 200


def test_head_says_the_size_and_sends_nothing(server):
    digest = put(server, b"only the head").json()["digest"]
    found = server.call("HEAD", f"/api/v1/streamed/{digest}")
    assert (found.status, found.headers["content-length"], found.body) == (200, "13", b"")


def test_what_is_not_there_is_not_found(server):
    assert get(server, "0" * 64).json()["code"] == "not_found"
    assert get(server, "no-digest").status == 422


@pytest.mark.parametrize("token", ["nonsense", "flux_00000000_" + "0" * 43])
def test_without_a_token_no_byte_of_the_body_is_read(server, token):
    """The answer is sent before any of the body arrives."""
    with line_to(server) as line:
        line.sendall(head(server, f"Content-Length: {CAP}", token=token))
        assert answer_on(line)[0] == 401
    assert server.incoming() == []


def test_a_length_above_the_cap_is_refused_before_anything_is_sent(server):
    with line_to(server) as line:
        line.sendall(head(server, f"Content-Length: {CAP + 1}"))
        status, said = answer_on(line)
    assert (status, said["code"], said["details"]["limit"]) == (413, "too_large", CAP)
    assert said["details"]["raised_by"] == "MAX_FILE_BYTES"


def test_who_may_not_is_refused_before_any_of_the_body_is_read(server):
    with line_to(server) as line:
        line.sendall(head(server, f"Content-Length: {CAP}", path="/api/v1/streamed/audited"))
        status, said = answer_on(line)
    assert (status, said["code"], said["details"]["missing"]) == (403, "forbidden", "audit.read")
    assert server.incoming() == []
    tail = server.command("flux_audit", "tail", "--json").stdout
    assert tail.count("streamed.PUT") == 1


def test_the_largest_body_is_for_the_call_and_its_caller_to_say(server):
    with line_to(server) as line:
        line.sendall(head(server, f"Content-Length: {CAP}", path="/api/v1/streamed/small"))
        status, said = answer_on(line)
    assert (status, said["details"]["limit"], said["details"].get("raised_by")) == (413, 1000, None)
    assert server.call("PUT", "/api/v1/streamed/small", b"x" * 1000).status == 200


def test_a_generated_answer_comes_whole(server):
    found = server.call("GET", "/api/v1/generated/5")
    assert (found.status, len(found.body)) == (200, 5 * MEGABYTE)
    assert found.body[-1] == 4


def test_a_file_that_was_made_for_an_answer_is_removed_afterwards(server):
    found = server.call("GET", "/api/v1/made/words")
    assert (found.status, found.body, found.headers["content-length"]) == (200, b"words", "5")
    assert found.headers["content-disposition"] == "attachment; filename*=utf-8''made%20%C3%BC.txt"
    assert server.call("HEAD", "/api/v1/made/words").body == b""
    assert wait_for(lambda: server.incoming() == [])


def test_a_body_that_ends_early_stores_nothing(server):
    stored = len(server.stored())
    with line_to(server) as line:
        line.sendall(head(server, "Content-Length: 1000") + b"half")
        line.shutdown(socket.SHUT_WR)
        said = line.recv(1000)
    assert said == b"" or b" 400 " in said.split(b"\r\n")[0]
    assert wait_for(lambda: server.incoming() == [])
    assert len(server.stored()) == stored


@pytest.mark.parametrize("size", [1000, 200_000])  # in memory, and as a file
def test_a_file_stays_as_it_was_when_a_body_ends_early_or_lies(server, size):
    server.call("PUT", "/stores", {"key": "notes"})
    path, old = f"/stores/notes/files/{size}", os.urandom(size)
    assert server.call("PUT", path, old).status == 200
    for method in (b"PUT", b"POST"):
        for headers, body, status in (
            ([f"Content-Length: {size}"], b"half", 400),
            (["Transfer-Encoding: chunked"], b"5\r\nwhole\r\n0\r\n\r\n", 411),
            (["Content-Length: 10", "Content-Length: 20"], b"0123456789" * 2, 400),
            ([f"Content-Length: -{size}"], b"half", 400),
            ([f"Content-Length: {size}", "Content-Encoding: gzip"], os.urandom(size), 415),
        ):
            with line_to(server) as line:
                line.sendall(head(server, *headers, "Connection: close", path=path).replace(b"PUT", method, 1) + body)
                line.shutdown(socket.SHUT_WR)
                said = line.recv(1000)
            assert said == b"" or f" {status} ".encode() in said.split(b"\r\n")[0], (headers, said)
    with line_to(server) as line:  # more than it says: what it says is the file, the rest is no request
        line.sendall(head(server, "Content-Length: 5", "Connection: close", path=f"{path}/x") + b"12345GET /health")
        assert answer_on(line)[0] == 409, "a file is no folder"
    assert server.call("GET", path).body == old
    assert server.call("GET", f"/stores/notes/versions/{size}").json()["count"] == 1
    for asked in (f"bytes={size}-", "bytes=-0", "bytes=999999999999-"):
        beyond = server.call("GET", path, headers={"Range": asked})
        assert (beyond.status, beyond.json()["code"]) == (416, "range_not_satisfiable")
        assert beyond.headers["content-range"] == f"bytes */{size}"
    assert wait_for(lambda: server.incoming() == [])


@pytest.mark.parametrize("body", [b"5\r\nwhole\r\n0\r\n\r\n", b"5\r\nabcdefghij\r\n", b"zz\r\nx\r\n", b""])
def test_a_body_in_chunks_is_refused_whatever_it_is(server, body):
    """Its end cannot be told from a broken connection, and a partial file must not be stored."""
    stored = len(server.stored())
    with line_to(server) as line:
        line.sendall(head(server, "Transfer-Encoding: chunked", "Connection: close") + body)
        assert answer_on(line)[1]["code"] == "length_required"
    assert (server.incoming(), len(server.stored())) == ([], stored)


def test_a_body_longer_than_it_says_does_not_become_the_next_request(server):
    inner = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with line_to(server) as line:
        line.sendall(head(server, "Content-Length: 5") + b"12345" + b"6789\r\n\r\n" + inner)
        status, said = answer_on(line)
        assert (status, said["size"]) == (200, 5)
        line.shutdown(socket.SHUT_WR)
        rest = line.recv(10_000)
    assert b" 200 " not in rest.split(b"\r\n")[0]


def test_a_token_has_eight_places_for_bodies_under_way(server):
    lines = [line_to(server) for _ in range(8)]
    for line in lines:
        line.sendall(head(server, "Content-Length: 1000") + b"x")
    try:
        assert wait_for(lambda: len(server.incoming()) == 8)
        refused = put(server, b"one more")
        assert (refused.status, refused.json()["details"]["limit"]) == (429, 8)
        assert server.call("GET", "/health").status == 200  # and no thread is held by them
    finally:
        for line in lines:
            line.close()
    assert wait_for(lambda: server.incoming() == [])
    assert put(server, b"one more").status == 200


def test_a_compressed_body_is_refused(server):
    assert put(server, b"x", {"Content-Encoding": "gzip"}).json()["code"] == "unsupported_media_type"


def test_many_at_once_are_each_kept_to_the_byte(server):
    answers = {}

    def send(number):
        content = random.Random(number).randbytes(3 * MEGABYTE + number)
        answers[number] = (put(server, content).json()["digest"], sha(content))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6 and all(found == wanted for found, wanted in answers.values())


def test_other_calls_are_as_before(server):
    stored = server.call("POST", "/store", {"content": "beside streams"})
    assert stored.status == 200
    assert server.call("PUT", "/store", {"content": "x"}).status == 405


def test_nothing_failed_inside(server):
    said = server.output.read_text() + (server.folder / "flux.log").read_text()
    assert "Traceback" not in said and " ERROR " not in said


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
