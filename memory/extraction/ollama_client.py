"""Client of an Ollama server: one request to the address of config.yaml, with one time-out for everything.

No proxy, no redirect, no answer beyond MAX_BYTES. Whatever the server does, the call returns in time.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from fluxcore.canonical_json import loads
from fluxcore.errors import FluxError

MAX_BYTES = 256 * 1024  # of an answer; twenty statements need a few thousand
_CHUNK = 16 * 1024
_LOOK_SECONDS = 0.25  # delay until a stopping process ends a call


class ModelProblem(Exception):
    """Reason why there is no usable answer, without the text of the request."""


class ModelUnavailable(ModelProblem):
    """The server is down, broken or too slow: another call at once is useless."""


class ModelTimedOut(ModelUnavailable):
    """No answer within the time limit."""


class BadModelAnswer(ModelProblem):
    """The answer cannot be used; another call may succeed."""


class ModelCallStopped(Exception):
    """The process is stopping; not a failure of the server."""


@dataclass(frozen=True)
class ModelReply:
    """Text of the model, and the number of tokens the server counted."""

    content: str
    tokens: int | None


def url_problem(url: str) -> str | None:
    """Problem with the address of the model server, or None."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "LLM_BASE_URL is not an address"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "LLM_BASE_URL must begin with http:// or https:// and name a host"
    if parts.username is not None or parts.password is not None:
        return "LLM_BASE_URL must not contain a password"
    if parts.query or parts.fragment or any(ord(sign) <= 32 or ord(sign) > 126 for sign in url):
        return "LLM_BASE_URL must be plain ASCII without ? and #"
    return None


def ask_model(
    base: str, body: dict[str, Any], *, seconds: float, stop: Callable[[], bool] = lambda: False
) -> ModelReply:
    """POST to /api/chat; takes at most `seconds` from name look-up to last byte."""
    wrong = url_problem(base)
    if wrong is not None:
        raise ModelUnavailable(wrong)
    line, answer = _AbortableConnection(urlsplit(base), seconds), queue.Queue[ModelReply | Exception]()

    def send() -> None:
        try:
            answer.put(_read(line.post("/api/chat", json.dumps(body, ensure_ascii=False).encode())))
        except Exception as error:
            answer.put(error)
        finally:
            line.close()

    # In a separate thread: neither a name look-up nor a server that sends slowly can be interrupted.
    threading.Thread(target=send, name="model", daemon=True).start()
    until = time.monotonic() + seconds
    while True:
        try:
            found = answer.get(timeout=max(min(until - time.monotonic(), _LOOK_SECONDS), 0.0))
            break
        except queue.Empty:
            if stop():
                line.cut()
                raise ModelCallStopped from None
            if time.monotonic() >= until:
                line.cut()
                raise ModelTimedOut(f"no answer within {seconds:g} seconds") from None
    if isinstance(found, ModelReply):
        return found
    if isinstance(found, ModelProblem):
        raise found
    if isinstance(found, TimeoutError):
        raise ModelTimedOut(f"no answer within {seconds:g} seconds")
    raise ModelUnavailable(f"no connection ({type(found).__name__})")


class _AbortableConnection:
    """HTTP connection that another thread can abort."""

    def __init__(self, base: SplitResult, seconds: float) -> None:
        self._base, self._seconds = base, seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._gone = False

    def post(self, path: str, body: bytes) -> bytes:
        host = self._base.hostname or ""
        port = self._base.port or (443 if self._base.scheme == "https" else 80)
        raw = socket.create_connection((host, port), timeout=self._seconds)
        self._hold(raw)
        if self._base.scheme == "https":
            self._hold(ssl.create_default_context().wrap_socket(raw, server_hostname=host))
        line = http.client.HTTPConnection(host, port, timeout=self._seconds)
        line.sock = self._socket
        headers = {"Content-Type": "application/json", "User-Agent": "flux-memory", "Connection": "close"}
        line.request("POST", self._base.path.rstrip("/") + path, body, headers)
        with line.getresponse() as answer:
            return _body(answer)

    def _hold(self, made: socket.socket) -> None:
        with self._lock:
            self._socket = made
            if self._gone:
                made.close()
                raise OSError("the call was cancelled")

    def cut(self) -> None:
        """Shut the socket down, which wakes a reader; closing alone would not."""
        with self._lock:
            self._gone = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # closed already

    def close(self) -> None:
        with self._lock:
            if self._socket is not None:
                self._socket.close()


def _body(answer: http.client.HTTPResponse) -> bytes:
    """Body of the answer, limited to MAX_BYTES while it is read."""
    if 300 <= answer.status < 400:
        raise ModelUnavailable("the server redirects, which is not followed")
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadModelAnswer("the server sent a compressed answer, which is not supported")
    found = bytearray()
    try:
        while chunk := answer.read(_CHUNK):
            found += chunk
            if len(found) > MAX_BYTES:
                raise BadModelAnswer(f"an answer of more than {MAX_BYTES // 1024} KiB")
    except http.client.IncompleteRead:
        raise BadModelAnswer("the answer was cut off") from None
    if answer.length:
        raise BadModelAnswer("the answer was cut off")
    if answer.status != 200:
        raise ModelUnavailable(f"the server answered {answer.status}{_reason(bytes(found))}")
    return bytes(found)


def _reason(body: bytes) -> str:
    """Error message of Ollama, for example that a model is missing."""
    return ": the model is not installed there" if b"not found" in body[:500] else ""


def _read(body: bytes) -> ModelReply:
    try:
        found = loads(body)
    except FluxError:
        raise BadModelAnswer("the answer is not JSON") from None
    message = found.get("message") if isinstance(found, dict) else None
    if not isinstance(message, dict) or found.get("done") is not True:
        raise BadModelAnswer("the answer is not from an Ollama server")
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        raise BadModelAnswer("the answer is empty")
    counts = [found.get(name) for name in ("prompt_eval_count", "eval_count")]
    # A bool is an int in Python, and a token count of the server is only used within plausible limits.
    tokens = sum(counts) if all(type(one) is int and 0 <= one < 10**7 for one in counts) else None
    return ModelReply(content, tokens)
