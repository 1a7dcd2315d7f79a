"""Answers of `FluxService`: dictionaries with REST's keys, and the attributes and pairs of flux-memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class FeedbackResult(dict[str, Any]):
    """Answer to a vote: `result.action` is `result["action"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class StoreResult(FeedbackResult):
    """Answer to a store: keys and attributes, and `grain_id, status = result` with flux-memory's status."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self["grain_id"], self["action"]))
