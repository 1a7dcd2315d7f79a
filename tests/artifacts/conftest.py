"""Agents with stores, and a client of the bytes of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Api

FILES = ("artifacts.read", "artifacts.write")
MESSAGES = ("transcript.read", "transcript.write")


class Stores(Api):
    """A REST client that also sends and gets the bytes of files."""

    def file(self, path: str, store: str = "notes", **query: Any) -> Any:
        return self.client.get(f"/stores/{store}/files/{path}", query, headers=self._headers(None))

    def write(self, path: str, content: bytes | str, store: str = "notes", **more: Any) -> Any:
        return self._sent("PUT", path, content, store, **more)

    def append(self, path: str, content: bytes | str, store: str = "notes", **more: Any) -> Any:
        return self._sent("POST", path, content, store, **more)

    def _sent(
        self,
        method: str,
        path: str,
        content: bytes | str,
        store: str,
        *,
        content_type: str = "",
        headers: dict[str, str] | None = None,
        **query: str,
    ) -> Any:
        data = content.encode() if isinstance(content, str) else content
        address = f"/stores/{store}/files/{path}"
        return self.client.generic(
            method, address, data, content_type, headers=self._headers(headers), query_params=query
        )

    def paths(self, store: str = "notes", **query: Any) -> list[str]:
        return [file["path"] for file in self.get(f"/stores/{store}/files", **query).json()["files"]]

    def tail(self, store: str = "notes") -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self.get(f"/stores/{store}/audit", tail=100).json()["events"]
        return events


@pytest.fixture
def with_stores(make_token: Callable[..., str]) -> Callable[..., Stores]:
    def make(*capabilities: str, name: str = "alice", **more: Any) -> Stores:
        return Stores(make_token(name, capabilities=capabilities or (*FILES, *MESSAGES), **more))

    return make


@pytest.fixture
def alice(with_stores: Callable[..., Stores]) -> Stores:
    """An agent with one store, `notes`."""
    made = with_stores()
    assert made.post("/stores", {"key": "notes"}).status_code == 200
    return made
