"""Storing and reading grains, and what may become of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from flux.answers import (
    Closed,
    Dossier,
    Extracted,
    ExtractionResult,
    GrainPage,
    Pinned,
    StatusChanged,
    Stored,
    StoredBatch,
)
from flux.core import CallArguments, call


class _Optional(TypedDict, total=False):
    provenance: str
    session: str
    speaker: str
    time: str
    tags: Sequence[str]
    valid_from: str
    valid_to: str


class Item(_Optional):
    """One text of a batch, with what may be said about it."""

    content: str


def grain_call(grain: str, **body: Any) -> CallArguments[Any]:
    """An act on one grain."""
    return CallArguments(body, path={"grain": grain})


class GrainCalls:
    @call("POST", "store")
    def store(
        self,
        content: str,
        provenance: str | None = None,
        *,
        session: str | None = None,
        speaker: str | None = None,
        time: str | None = None,
        tags: Sequence[str] | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Stored]:
        """Remember one text. It is on disk when the answer comes."""
        return CallArguments(
            {
                "content": content,
                "provenance": provenance,
                "session": session,
                "speaker": speaker,
                "time": time,
                "tags": None if tags is None else list(tags),
                "valid_from": valid_from,
                "valid_to": valid_to,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "store/batch")
    def store_batch(
        self, items: Sequence[Item], *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StoredBatch]:
        """Remember up to a hundred texts in one commit, each stored or refused on its own."""
        return CallArguments(
            {"items": [dict(item) for item in items], "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("POST", "extract")
    def extract(
        self,
        content: str,
        provenance: str | None = None,
        *,
        session: str | None = None,
        speaker: str | None = None,
        time: str | None = None,
        tags: Sequence[str] | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Extracted]:
        """Remember a text or a turn as it stands; in the mode flux_extracts a local model then finds its statements."""
        return CallArguments(
            {
                "content": content,
                "provenance": provenance,
                "session": session,
                "speaker": speaker,
                "time": time,
                "tags": None if tags is None else list(tags),
                "valid_from": valid_from,
                "valid_to": valid_to,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("GET", "extract/{grain}")
    def found(self, grain: str) -> CallArguments[ExtractionResult]:
        """What became of a text that was handed over: its statements, and the words each rests on."""
        return CallArguments(path={"grain": grain})

    @call("GET", "grains")
    def list_grains(
        self,
        status: str | None = None,
        limit: int | None = None,
        *,
        cursor: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        tag: str | None = None,
        origin: str | None = None,
        writer: str | None = None,
        pinned: bool | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> CallArguments[GrainPage]:
        """The newest grains of a status, a page at a time: pass `next_cursor` on as `cursor` until it is None."""
        return CallArguments(
            query={
                "status": status,
                "limit": limit,
                "cursor": cursor,
                "session": session,
                "speaker": speaker,
                "tag": tag,
                "origin": origin,
                "writer": writer,
                "pinned": pinned,
                "since": since,
                "until": until,
            }
        )

    @call("GET", "grains/{grain}")
    def get_grain(self, grain: str) -> CallArguments[Dossier]:
        """One grain with its links, what finds it, when it was recalled, its lineage."""
        return CallArguments(path={"grain": grain})

    @call("POST", "grains/{grain}/pin")
    def pin_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Pinned]:
        """Decay and clean-up leave it alone from now on."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/unpin")
    def unpin_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Pinned]:
        """It ages like any other again."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/close")
    def close_grain(
        self, grain: str, at: str | None = None, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Closed]:
        """Say until when it was true; without `at`, until now."""
        return grain_call(grain, at=at, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/archive")
    def archive_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Put it aside: it answers where others leave room, and comes back by use."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/restore")
    def restore_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Bring a dormant or archived grain back."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/quarantine")
    def quarantine_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Keep it out of every answer that does not ask for it."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/release")
    def release_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Let it out of quarantine."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/delete")
    def delete_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Mark it for deletion. Nothing a token does removes it for good."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/undelete")
    def undelete_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Take the mark back."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)
