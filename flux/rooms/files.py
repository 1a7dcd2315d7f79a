"""Calls with the bytes of files. The other calls on stores are in `flux/rooms/stores.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flux.calls.store_answers import FilesRemoved, FileWritten
from flux.core import CallArguments, call


class FileCalls:
    """The bytes of one file."""

    @call("GET", "stores/{store}/files/{path}", gives="bytes")
    def get_file(self, store: str, path: str, version: int | None = None) -> CallArguments[bytes]:
        """Read a file, byte for byte."""
        return CallArguments(path={"store": store, "path": path}, query={"version": version})

    @call("PUT", "stores/{store}/files/{path}")
    def put_file(
        self,
        store: str,
        path: str,
        content: bytes | str | Path,
        *,
        expected_sha: str | None = None,
        content_type: str | None = None,
        provenance: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FileWritten]:
        """Write a file: bytes, a text, or the file at a Path. With `expected_sha` only if it is as expected."""
        query = {"expected_sha": expected_sha, "provenance": provenance, "actor": actor, "reason": reason}
        return _sent(store, path, content, query, idempotency_key, content_type)

    @call("POST", "stores/{store}/files/{path}")
    def append_file(
        self,
        store: str,
        path: str,
        content: bytes | str | Path,
        *,
        expected_sha: str | None = None,
        provenance: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FileWritten]:
        """Add to the end of a file, which is created if it does not exist."""
        query = {"expected_sha": expected_sha, "provenance": provenance, "actor": actor, "reason": reason}
        return _sent(store, path, content, query, idempotency_key, None)

    @call("DELETE", "stores/{store}/files/{path}")
    def delete_file(
        self,
        store: str,
        path: str,
        *,
        expected_sha: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FilesRemoved]:
        """Delete a file. Kept versions can be restored."""
        return CallArguments(
            path={"store": store, "path": path},
            query={"expected_sha": expected_sha, "actor": actor, "reason": reason},
            body={"idempotency_key": idempotency_key},
        )


def _sent(
    store: str,
    path: str,
    content: bytes | str | Path,
    query: dict[str, Any],
    idempotency_key: str | None,
    content_type: str | None,
) -> CallArguments[FileWritten]:
    headers = {"Idempotency-Key": idempotency_key, "Content-Type": content_type}
    return CallArguments(
        path={"store": store, "path": path},
        query=query,
        content=content.encode() if isinstance(content, str) else content,
        headers={name: value for name, value in headers.items() if value is not None},
    )
