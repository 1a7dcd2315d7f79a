"""A real server for stores, and one with given answers, for rare behaviour of real ones."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flux import core
from tests.sdk.memory_messages import ALL


def answer(status: int, body: object = None, **headers: str) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    # Each answer has a connection of its own, and a client that took the next one for open would spend a try on it.
    return f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {len(raw)}\r\n{head}\r\n".encode() + raw


def refused(status: int, code: str, **headers: str) -> bytes:
    body = {"code": code, "message": "as told", "details": {"a": 1}, "request_id": "r-1"}
    return answer(status, body, **headers)


class ScriptedServer:
    """Answers each connection with the next item of its list, and records the requests."""

    def __init__(self, *says: bytes | float | None) -> None:
        self.asked: list[bytes] = []
        self.says = list(says)
        self.line = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.line.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for says in self.says:
            try:
                line, _ = self.line.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line, says), daemon=True).start()

    def _answer(self, line: socket.socket, says: bytes | float | None) -> None:
        with line:
            self.asked.append(self._read(line))
            if isinstance(says, float):
                time.sleep(says)
            elif says is not None:  # None: hang up
                line.sendall(says)

    def _read(self, line: socket.socket) -> bytes:
        said = b""
        while b"\r\n\r\n" not in said:
            said += line.recv(65536)
        head, _, body = said.partition(b"\r\n\r\n")
        wanted = [int(one.split(b":")[1]) for one in head.lower().split(b"\r\n") if one.startswith(b"content-length")]
        while wanted and len(body) < wanted[0]:
            body += line.recv(65536)
        return head + b"\r\n\r\n" + body

    def keys(self) -> list[str]:
        lines = [one.decode() for said in self.asked for one in said.split(b"\r\n")]
        return [one.split(": ")[1] for one in lines if one.lower().startswith("idempotency-key")]


@pytest.fixture
def server(live_server: Any, make_token: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server, its address and a token in the environment."""
    token = make_token(capabilities=ALL)
    monkeypatch.setenv("FLUX_URL", live_server.url)
    monkeypatch.setenv("FLUX_TOKEN", token)
    return live_server


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ScriptedServer]]:
    monkeypatch.setattr(core, "FIRST_PAUSE", 0.001)
    made: list[ScriptedServer] = []

    def make(*says: bytes | float | None) -> ScriptedServer:
        made.append(ScriptedServer(*says))
        return made[-1]

    yield make
    for one in made:
        one.line.close()
