"""Client methods for storing and reading grains and changing their status."""

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
    """One text of a batch with its optional fields."""

    content: str


def grain_call(grain: str, **body: Any) -> CallArguments[Any]:
    """Arguments of a call that changes one grain."""
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
        """Store one text. It is on disk when the call returns."""
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
        """Store up to a hundred texts in one commit, each stored or refused on its own."""
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
        """Store a text or turn unchanged; in the mode flux_extracts a local model then extracts its statements."""
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
        """State of a submitted text's extraction: its statements, and the quote behind each."""
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
        """List grains by status, newest first, page by page: pass `next_cursor` as `cursor` until it is None."""
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
        """Read a grain with its links, entries, recalls, votes, status changes, cluster and lineage."""
        return CallArguments(path={"grain": grain})

    @call("POST", "grains/{grain}/pin")
    def pin_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Pinned]:
        """Pin a grain: decay and clean-up no longer apply to it."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/unpin")
    def unpin_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Pinned]:
        """Unpin a grain: decay and clean-up apply to it again."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/close")
    def close_grain(
        self, grain: str, at: str | None = None, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Closed]:
        """Set the end of a grain's validity; without `at`, now."""
        return grain_call(grain, at=at, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/archive")
    def archive_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Archive a grain: it is recalled only after active ones, and becomes active again by use."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/restore")
    def restore_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Make a dormant or archived grain active again."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/quarantine")
    def quarantine_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Quarantine a grain: it is recalled only if quarantined grains are requested."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/release")
    def release_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Release a grain from quarantine."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/delete")
    def delete_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Mark a grain for deletion. No call with a token purges it."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)

    @call("POST", "grains/{grain}/undelete")
    def undelete_grain(
        self, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[StatusChanged]:
        """Unmark a grain for deletion."""
        return grain_call(grain, reason=reason, idempotency_key=idempotency_key)
