"""Stores of files with a transcript.

Written by `make docs` from `flux/calls/`; change the declarations there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flux.calls.passage_answers import PassagePage
from flux.calls.store_answers import (
    FileFacts,
    FilePage,
    FilesMoved,
    FilesRemoved,
    FileWritten,
    FoundLines,
    MessagePage,
    MessagesAppended,
    MessagesRemoved,
    MessagesRestored,
    OpenedStore,
    StoreDeleted,
    StoreFacts,
    StoreList,
    StoreTail,
    VersionDiff,
    VersionList,
)
from flux.core import CallArguments, call


class StoreCalls:
    """Stores of files with a transcript."""

    @call("GET", "agents/{agent}/passages/{key}")
    def memory_passages(
        self,
        agent: str,
        key: str,
        *,
        earlier: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[PassagePage]:
        """What recall finds of the value of a key, with the numbers of recalls and votes."""
        return CallArguments(
            path={"agent": agent, "key": key},
            query={"earlier": earlier, "limit": limit, "cursor": cursor},
        )

    @call("GET", "boards/{board}/passages/{key}")
    def board_passages(
        self,
        board: str,
        key: str,
        *,
        earlier: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[PassagePage]:
        """What recall finds of the value of a key, with the numbers of recalls and votes."""
        return CallArguments(
            path={"board": board, "key": key},
            query={"earlier": earlier, "limit": limit, "cursor": cursor},
        )

    @call("POST", "stores")
    def create_store(
        self,
        key: str,
        *,
        read_only_prefixes: Sequence[str] | None = None,
        staging_prefix: str | None = None,
        audit: bool | None = None,
        keep_versions: bool | None = None,
        max_versions: int | None = None,
        max_files: int | None = None,
        max_bytes: int | None = None,
        retention_days: float | None = None,
        recallable: bool | None = None,
        ephemeral: bool | None = None,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[StoreFacts]:
        """Create a store of files with a transcript. 409 if it exists."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "read_only_prefixes": list(read_only_prefixes) if read_only_prefixes is not None else None,
                "staging_prefix": staging_prefix,
                "audit": audit,
                "keep_versions": keep_versions,
                "max_versions": max_versions,
                "max_files": max_files,
                "max_bytes": max_bytes,
                "retention_days": retention_days,
                "recallable": recallable,
                "ephemeral": ephemeral,
                "key": key,
                "org": org,
                "project": project,
                "domain": domain,
            },
        )

    @call("PUT", "stores")
    def open_store(
        self,
        key: str,
        *,
        read_only_prefixes: Sequence[str] | None = None,
        staging_prefix: str | None = None,
        audit: bool | None = None,
        keep_versions: bool | None = None,
        max_versions: int | None = None,
        max_files: int | None = None,
        max_bytes: int | None = None,
        retention_days: float | None = None,
        recallable: bool | None = None,
        ephemeral: bool | None = None,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[OpenedStore]:
        """Open a store, and create it if it does not exist. An existing store keeps its own policy."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "read_only_prefixes": list(read_only_prefixes) if read_only_prefixes is not None else None,
                "staging_prefix": staging_prefix,
                "audit": audit,
                "keep_versions": keep_versions,
                "max_versions": max_versions,
                "max_files": max_files,
                "max_bytes": max_bytes,
                "retention_days": retention_days,
                "recallable": recallable,
                "ephemeral": ephemeral,
                "key": key,
                "org": org,
                "project": project,
                "domain": domain,
            },
        )

    @call("GET", "stores/{store}")
    def get_store(self, store: str) -> CallArguments[StoreFacts]:
        """Coordinates, policy and counts of a store."""
        return CallArguments(path={"store": store})

    @call("GET", "stores")
    def list_stores(
        self,
        *,
        key: str | None = None,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        deleted: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[StoreList]:
        """List the stores you may read something of, oldest first."""
        return CallArguments(
            query={
                "key": key,
                "org": org,
                "project": project,
                "domain": domain,
                "deleted": deleted,
                "limit": limit,
                "cursor": cursor,
            },
        )

    @call("DELETE", "stores/{store}")
    def delete_store(
        self,
        store: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[StoreDeleted]:
        """Delete a store with its files and messages. It can be restored for 30 days (STORE_UNDELETE_DAYS)."""
        return CallArguments(body={"reason": reason, "idempotency_key": idempotency_key}, path={"store": store})

    @call("POST", "stores/{store}/undelete")
    def undelete_store(
        self,
        store: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[StoreFacts]:
        """Restore a deleted store as it was."""
        return CallArguments(body={"reason": reason, "idempotency_key": idempotency_key}, path={"store": store})

    @call("GET", "stores/{store}/audit")
    def store_audit(
        self,
        store: str,
        tail: int | None = None,
        *,
        before: int | None = None,
    ) -> CallArguments[StoreTail]:
        """The newest changes of a store, refused ones included, oldest first."""
        return CallArguments(path={"store": store}, query={"tail": tail, "before": before})

    @call("GET", "stores/{store}/files")
    def list_files(
        self,
        store: str,
        prefix: str | None = None,
        *,
        recursive: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[FilePage]:
        """List files in order of their paths, page by page; only those you may read."""
        return CallArguments(
            path={"store": store},
            query={"prefix": prefix, "recursive": recursive, "limit": limit, "cursor": cursor},
        )

    @call("GET", "stores/{store}/meta/{path}")
    def file_facts(self, store: str, path: str) -> CallArguments[FileFacts]:
        """Version, SHA-256, size, type and writers of a file, without its content."""
        return CallArguments(path={"store": store, "path": path})

    @call("POST", "stores/{store}/move")
    def move_files(
        self,
        store: str,
        path: str,
        to: str,
        *,
        actor: str | None = None,
        keep: bool | None = None,
        recursive: bool | None = None,
        overwrite: bool | None = None,
        expected_sha: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FilesMoved]:
        """Rename or copy a file, or with recursive a folder. Existing files are replaced only with overwrite."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "actor": actor,
                "path": path,
                "to": to,
                "keep": keep,
                "recursive": recursive,
                "overwrite": overwrite,
                "expected_sha": expected_sha,
            },
            path={"store": store},
        )

    @call("POST", "stores/{store}/delete")
    def delete_files(
        self,
        store: str,
        path: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FilesRemoved]:
        """Delete a folder with all its files, at most 1,000. Kept versions can be restored."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "actor": actor, "path": path},
            path={"store": store},
        )

    @call("GET", "stores/{store}/versions/{path}")
    def file_versions(
        self,
        store: str,
        path: str,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> CallArguments[VersionList]:
        """List the versions of a file, newest first, those of deleted files too."""
        return CallArguments(path={"store": store, "path": path}, query={"limit": limit, "before": before})

    @call("POST", "stores/{store}/restore/{path}")
    def restore_file(
        self,
        store: str,
        path: str,
        version: int,
        *,
        actor: str | None = None,
        expected_sha: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[FileWritten]:
        """Write the content of an earlier version again, as a new version."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "actor": actor,
                "version": version,
                "expected_sha": expected_sha,
            },
            path={"store": store, "path": path},
        )

    @call("GET", "stores/{store}/diff/{path}")
    def diff_file(
        self,
        store: str,
        path: str,
        *,
        old: int | None = None,
        new: int | None = None,
    ) -> CallArguments[VersionDiff]:
        """Compare two versions of a text or JSON file."""
        return CallArguments(path={"store": store, "path": path}, query={"old": old, "new": new})

    @call("GET", "stores/{store}/search")
    def search_files(
        self,
        store: str,
        query: str,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[FoundLines]:
        """Find lines with a text in the text files of a store, whatever their case. Follow next_cursor until it is
        null: a page ends after 8 MiB, so it may have fewer lines, or none.
        """
        return CallArguments(
            path={"store": store},
            query={"query": query, "prefix": prefix, "limit": limit, "cursor": cursor},
        )

    @call("POST", "stores/{store}/messages")
    def append_messages(
        self,
        store: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        actor: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        provenance: str | None = None,
        create: bool | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[MessagesAppended]:
        """Add messages to the end of a transcript: objects with role and content, tool calls and whatever else they
        have. Messages of several writers interleave; none is overwritten.
        """
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "actor": actor,
                "messages": [dict(one) for one in messages],
                "session": session,
                "speaker": speaker,
                "provenance": provenance,
                "create": create,
            },
            path={"store": store},
        )

    @call("GET", "stores/{store}/messages")
    def read_messages(
        self,
        store: str,
        *,
        after: int | None = None,
        before: int | None = None,
        session: str | None = None,
        query: str | None = None,
        limit: int | None = None,
    ) -> CallArguments[MessagePage]:
        """Read messages in order: the newest, or those after or before a number, or those that contain a text."""
        return CallArguments(
            path={"store": store},
            query={"after": after, "before": before, "session": session, "query": query, "limit": limit},
        )

    @call("POST", "stores/{store}/messages/pop")
    def pop_messages(
        self,
        store: str,
        *,
        actor: str | None = None,
        count: int | None = None,
        seqs: Sequence[int] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[MessagesRemoved]:
        """Remove the newest messages, or those with given numbers. It can be undone. Readers get them back."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "actor": actor,
                "count": count,
                "seqs": list(seqs) if seqs is not None else None,
            },
            path={"store": store},
        )

    @call("POST", "stores/{store}/messages/clear")
    def clear_messages(
        self,
        store: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[MessagesRemoved]:
        """Remove all messages. It can be undone."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "actor": actor},
            path={"store": store},
        )

    @call("POST", "stores/{store}/messages/restore")
    def restore_messages(
        self,
        store: str,
        removal: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[MessagesRestored]:
        """Bring back messages that were removed, at their old places."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "actor": actor, "removal": removal},
            path={"store": store},
        )

    @call("GET", "stores/{store}/passages/{path}")
    def file_passages(
        self,
        store: str,
        path: str,
        *,
        earlier: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[PassagePage]:
        """The passages of a file that recall finds, in order, with the numbers of their recalls and votes."""
        return CallArguments(
            path={"store": store, "path": path},
            query={"earlier": earlier, "limit": limit, "cursor": cursor},
        )

    @call("GET", "stores/{store}/passages")
    def message_passages(
        self,
        store: str,
        message: int,
        *,
        earlier: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[PassagePage]:
        """What recall finds of a message of a transcript, with the numbers of recalls and votes."""
        return CallArguments(
            path={"store": store},
            query={"earlier": earlier, "limit": limit, "cursor": cursor, "message": message},
        )
