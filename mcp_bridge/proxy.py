"""`python -m mcp_bridge.proxy`: a client of a running server over standard input and output, without Django.

FLUX_URL is the address of the MCP server (http://127.0.0.1:7464), FLUX_TOKEN the agent's token. Messages and answers
are passed on unchanged, so both protocol revisions work and this process needs no SDK.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import ssl
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO
from urllib.parse import urlsplit

AT_ONCE = 8  # concurrent calls; a client rarely has more than three
TIMEOUT_SECONDS = 120.0  # time-out of one answer
LONGEST = 64 * 1024 * 1024  # maximum bytes of one answer
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
# Method -> the parameter repeated in the header Mcp-Name; the server refuses a header that differs from the body.
NAME_FIELDS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def is_wanted(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("FLUX_URL") and environment.get("FLUX_TOKEN"))


def envelope(client: str) -> dict[str, Any]:
    """`_meta` of a message of the newer protocol revision."""
    return {
        VERSION_KEY: "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


class RemoteServer:
    """Client of the remote MCP server. Each thread has its own connection."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SystemExit(f"flux: FLUX_URL must be like http://127.0.0.1:7464, not {url!r}")
        # With the REST port, set for the REST client, the same instance is meant.
        port = 7464 if parts.port == 7465 else parts.port
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, port
        path = parts.path.rstrip("/")
        self.path = path if path.endswith("/mcp") else "/mcp"
        self.token = token
        self.revision = ""  # protocol revision agreed in the handshake; the newer one is named in each message
        self._local = threading.local()

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The server's answer to a message; None to a notification."""
        try:
            status, body = self._post(json.dumps(message).encode(), self._headers(message))
        except (ValueError, RecursionError):
            return failure_answer(
                message, "invalid", "The message, or FLUX_TOKEN, contains characters that an HTTP request cannot carry."
            )
        except (OSError, http.client.HTTPException) as error:
            return failure_answer(
                message,
                "unreachable",
                f"No Flux Memory answers at {self.host}:{self.port} ({error}). Tell the user to start it: flux start.",
            )
        found = _loaded(body)
        if "jsonrpc" in found and (status < 400 or "method" not in message):
            self._note(message, found)
            return found
        if status < 300:
            return None
        if status == 404 and "jsonrpc" not in found:
            return failure_answer(
                message,
                "not_found",
                f"{self.host}:{self.port} is not an MCP server. Set FLUX_URL to it (port 7464 by default).",
            )
        if "jsonrpc" not in found or message.get("method") == "tools/call":
            return failure_answer(message, *_code_and_message(found, status))
        return {**found, "id": message.get("id")}

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        revision = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if isinstance(revision, str):
            headers |= {"MCP-Protocol-Version": revision, "Mcp-Method": str(method)}
            name = params.get(NAME_FIELDS.get(str(method), ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        elif self.revision:
            headers["MCP-Protocol-Version"] = self.revision
        return {name: value.encode("ascii", "replace").decode() for name, value in headers.items()}

    def _note(self, message: dict[str, Any], answer: dict[str, Any]) -> None:
        result = answer.get("result")
        if message.get("method") == "initialize" and isinstance(result, dict):
            self.revision = str(result.get("protocolVersion", ""))

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request("POST", self.path, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.read(LONGEST)
        except BaseException:
            connection.close()  # it may contain the rest of an answer
            raise

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's connection, a new one if the server has closed it: a message is never sent twice."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        # No answer is outstanding, so anything to read is the end of the connection, as after a restart of the server.
        if connection is None or connection.sock is None or select.select([connection.sock], [], [], 0)[0]:
            if connection is not None:
                connection.close()
            connection = self._local.connection = (
                http.client.HTTPSConnection(
                    self.host, self.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
                )
                if self.secure
                else http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)
            )
        return connection


def failure_answer(message: dict[str, Any], code: str, says: str) -> dict[str, Any] | None:
    """Answer for a failed message: text for the model if it called a tool, else an error of the protocol."""
    if "id" not in message:
        return None
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message.get("method") == "tools/call":
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": f"{code}: {says}"}],
            "isError": True,
            "_meta": {"flux-memory/error": {"code": code, "message": says, "details": {}}},
        }
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and VERSION_KEY in meta:
            result["resultType"] = "complete"
        return {**frame, "result": result}
    return {**frame, "error": {"code": -32000, "message": f"{code}: {says}"}}


def _loaded(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _code_and_message(found: dict[str, Any], status: int) -> tuple[str, str]:
    """Code and message of an error response of REST's or JSON-RPC's shape."""
    error = found.get("error")
    if not isinstance(error, dict):
        return str(found.get("code") or f"http_{status}"), str(found.get("message") or f"The server answered {status}.")
    data = error.get("data")
    code = str(data["code"]) if isinstance(data, dict) and "code" in data else f"http_{status}"
    return code, str(error.get("message")).removeprefix(f"{code}: ")


def serve(server: RemoteServer, given: Any, out: TextIO) -> None:
    """Pass messages on until standard input ends, each in a thread, so that a slow call does not delay others."""
    write_lock = threading.Lock()

    def write(answer: dict[str, Any]) -> None:
        with write_lock:
            # As ASCII: a lone surrogate in a name or id can only be written as an escape.
            out.write(json.dumps(answer, separators=(",", ":")) + "\n")
            out.flush()

    def handle(message: dict[str, Any]) -> None:
        answer = server.answer(message)
        if answer is not None and "id" in message:
            write(answer)

    with ThreadPoolExecutor(AT_ONCE, "proxy") as pool:
        for line in given:
            message = _loaded(line)
            if not message:
                if line.strip():
                    write(
                        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "The message is not JSON."}}
                    )
            elif message.get("method") in ("initialize", "server/discover"):
                handle(message)  # later messages depend on its answer
            else:
                pool.submit(handle, message)


def main() -> None:
    from mcp_bridge import parent, stdio_guard

    out = stdio_guard.protocol_writer()
    if not is_wanted(os.environ):
        raise SystemExit("flux: set FLUX_URL (http://127.0.0.1:7464) and FLUX_TOKEN to the server's address and token")
    parent.end_with_parent()
    serve(RemoteServer(os.environ["FLUX_URL"], os.environ["FLUX_TOKEN"]), sys.stdin.buffer, out)


if __name__ == "__main__":
    main()
