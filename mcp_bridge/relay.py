"""Relay of a local agent's messages to the running server of the same instance, over a Unix socket in the data home.

The process that a client starts then loads neither Django nor the SDK. Who may open the socket may also read the
database beside it, so there is no credential: the first line names the agent, and the server looks it up for every
call as this process would. If the server goes away, whatever is still unanswered is handed to this process's own
server. Every write carries an idempotency key, so one that was committed before is not made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import select
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fluxcore.version import VERSION
from fluxsite import env
from fluxsite.home import HomeError, current_home

SOCKET = "mcp.sock"
LONGEST_PATH = 100  # maximum bytes of a socket's path; systems allow 104 to 108
GREETING_SECONDS = 2.0  # time-out of the server's first line
LOOK_AGAIN_SECONDS = 10.0  # after so long without an answer the relay checks whether the server still runs
END_SECONDS = 2.0  # time the server has to finish once the client has disconnected
CHUNK = 64 * 1024
PIECE = 4096  # bytes that a writable pipe takes without blocking
MOST_UNSENT = 1024 * 1024  # bytes buffered for one side before reading from the other pauses
KEY = "idempotency_key"


@dataclass
class UnservedInput:
    """Input that this process must answer itself: lines the server did not answer or was not sent."""

    lines: list[bytes] = field(default_factory=list)
    rest: bytes = b""  # incomplete last line of standard input
    greeted: str = ""  # id of a repeated `initialize` that the client has an answer to

    def __bool__(self) -> bool:
        return bool(self.lines or self.rest)

    def text(self) -> bytes:
        return b"".join(self.lines) + self.rest


def serve(space: str, agent: str, ceiling: str, out: int) -> UnservedInput | None:
    """Relay until the client disconnects, and return None; or return the input left for this process to answer."""
    greeted = greet_server(space, agent, ceiling)
    if greeted is None:
        return UnservedInput()
    connection, keyed = greeted
    with connection:
        relay = Relay(connection, 0, out, keyed, still_there=lambda: _closed(greet_server(space, agent, ceiling)))
        return None if relay.run() else relay.unserved()


def greet_server(space: str, agent: str, ceiling: str) -> tuple[socket.socket, frozenset[str]] | None:
    """Connect to this instance's server: the socket, and the tools that take a key. None without a server."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(GREETING_SECONDS)
        with socket_address(current_home().run) as path:
            connection.connect(path)
        hello = {"version": VERSION, "storage": storage_digest(), "space": space, "agent": agent, "ceiling": ceiling}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        greeting = json.loads(_first_line(connection))
        if greeting["ok"] is True and _is_owner(connection):
            connection.setblocking(False)
            return connection, frozenset(greeting["keyed"])
    except (OSError, ValueError, KeyError, TypeError, HomeError, env.EnvError):
        pass  # no server, another version or no answer: this process serves by itself
    connection.close()
    return None


@contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """Path of the socket, through a descriptor of its folder if the path is longer than systems allow."""
    path = str(folder / SOCKET)
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{SOCKET}"
    finally:
        os.close(number)


def storage_digest() -> str:
    """Digest of the settings that decide where and how writes are stored; the relay requires it to be equal."""
    decisive = [env.text("DATABASE_URL") or "", env.text("FLUX_DURABILITY") or "full"]
    return hashlib.sha256("\n".join(decisive).encode()).hexdigest()


def peer_user(connection: Any) -> int | None:
    """User id of the peer; None if the system does not provide it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return int(user)


def _is_owner(connection: socket.socket) -> bool:
    """Whether the server runs as the owner of the data home."""
    return peer_user(connection) in (None, current_home().run.stat().st_uid)


def _first_line(connection: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        part = connection.recv(CHUNK)
        if not part:
            raise ConnectionResetError
        found += part
    return found


def _closed(greeted: tuple[socket.socket, frozenset[str]] | None) -> bool:
    if greeted is not None:
        greeted[0].close()
    return greeted is not None


class Relay:
    """Copies bytes from standard input to the server and back, and remembers the requests that wait for an answer."""

    def __init__(
        self, connection: socket.socket, given: int, out: int, keyed: frozenset[str], still_there: Callable[[], bool]
    ) -> None:
        self.connection, self.given, self.out, self.keyed, self.still_there = connection, given, out, keyed, still_there
        self.session, self.count = secrets.token_hex(16), 0
        self.opening: list[bytes] = []  # handshake of the older revision, repeated to this process's own server
        self.greeted = ""
        self.waiting: dict[str, bytes] = {}
        self.read, self.received = bytearray(), bytearray()  # incomplete last lines of either side
        self.to_server, self.to_client = bytearray(), bytearray()
        self.hung_up = False

    def run(self) -> bool:
        """Relay until either side disconnects: True if it was the client."""
        try:
            return self._relay()
        except BrokenPipeError:
            return True  # the client no longer reads answers

    def _relay(self) -> bool:
        while True:
            reads: list[Any] = [self.connection] if len(self.to_client) < MOST_UNSENT else []
            if not self.hung_up and len(self.to_server) < MOST_UNSENT:
                reads.append(self.given)
            writes: list[Any] = [self.connection] * bool(self.to_server) + [self.out] * bool(self.to_client)
            patience = END_SECONDS if self.hung_up else LOOK_AGAIN_SECONDS
            readable, writable, _ = select.select(reads, writes, [], patience)
            if not readable and not writable and (self.hung_up or (self.waiting and not self.still_there())):
                return self._over()
            if self.out in writable:
                del self.to_client[: os.write(self.out, self.to_client[:PIECE])]
            if self.connection in writable:
                self._send()
            if self.given in readable:
                self._take(os.read(self.given, CHUNK))
            if self.connection in readable and not self._hear():
                return self._over()

    def _over(self) -> bool:
        while self.to_client:
            del self.to_client[: os.write(self.out, self.to_client[:CHUNK])]
        return self.hung_up

    def _send(self) -> None:
        try:
            del self.to_server[: self.connection.send(self.to_server[:CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self.to_server.clear()  # the server is gone; answers it has sent are read before that is handled
        if self.hung_up and not self.to_server:
            self._end_of_messages()

    def _take(self, part: bytes) -> None:
        if not part:
            self.hung_up = True
            if not self.to_server:
                self._end_of_messages()
            return
        self.to_server += b"".join(self._noted(line) for line in _whole_lines(self.read, part))

    def _end_of_messages(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server is gone already

    def _hear(self) -> bool:
        try:
            part = self.connection.recv(CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for line in _whole_lines(self.received, part):
            message = _loaded(line)
            if "method" not in message:
                self.waiting.pop(json.dumps(message.get("id")), None)
            self.to_client += line
        return bool(part)

    def _noted(self, line: bytes) -> bytes:
        """The line to send, remembered as waiting; a write gets its idempotency key."""
        message = _loaded(line)
        method = message.get("method")
        if method in ("initialize", "notifications/initialized"):
            self.opening.append(line)
        if method == "initialize":
            self.greeted = json.dumps(message.get("id"))
        params = message.get("params")
        if method == "notifications/cancelled" and isinstance(params, dict):
            self.waiting.pop(json.dumps(params.get("requestId")), None)
        if isinstance(method, str) and "id" in message:
            if method == "tools/call" and isinstance(params, dict):
                line = self._with_key(message, params, line)
            self.waiting[json.dumps(message["id"])] = line
        return line

    def _with_key(self, message: dict[str, Any], params: dict[str, Any], line: bytes) -> bytes:
        given = params.get("arguments")
        if params.get("name") not in self.keyed or not isinstance(given, dict) or given.get(KEY) is not None:
            return line
        self.count += 1
        keyed = {**given, KEY: f"relay-{self.session}-{self.count}"}
        return json.dumps({**message, "params": {**params, "arguments": keyed}}).encode() + b"\n"

    def unserved(self) -> UnservedInput:
        left = list(self.waiting.values())
        opening = [line for line in self.opening if line not in left]
        return UnservedInput(opening + left, bytes(self.read), "" if self.greeted in self.waiting else self.greeted)


def _whole_lines(buffer: bytearray, part: bytes) -> list[bytes]:
    """The lines completed by this part; an incomplete last line stays in the buffer."""
    buffer += part
    if b"\n" not in part:
        return []
    *lines, rest = bytes(buffer).split(b"\n")
    buffer[:] = rest
    return [line + b"\n" for line in lines]


def _loaded(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
