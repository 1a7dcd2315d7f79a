"""Bytes a store counts: each content once, however many files and versions have it.

A content that some file has now counts in `bytes`, one that only earlier versions have in `history_bytes`. So a rename,
a copy, a restored version and a write of bytes that the store has already cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from fluxcore import raw_sql
from memory.artifacts.models import Content, File, FileChange
from memory.artifacts.states import FileState, StoreState

CURRENT, EARLIER, NOWHERE = "current", "earlier", ""
_FILES, _CHANGES, _CONTENTS = File._meta.db_table, FileChange._meta.db_table, Content._meta.db_table
_PART = (
    f"SELECT CASE WHEN EXISTS (SELECT 1 FROM {_FILES} WHERE store_id = %s AND content_id = %s) THEN '{CURRENT}' "  # noqa: S608
    f"WHEN EXISTS (SELECT 1 FROM {_CHANGES} WHERE store_id = %s AND content_id = %s) THEN '{EARLIER}' "
    f"ELSE '{NOWHERE}' END"
)
_HAS = (
    f"SELECT 1 FROM {_CONTENTS} WHERE space_id = %s AND sha = %s "  # noqa: S608
    f"AND EXISTS (SELECT 1 FROM {_CHANGES} WHERE store_id = %s AND content_id = {_CONTENTS}.id)"
)

Sizes = Iterable[tuple[int, int]]  # contents with their sizes


def _part(store: int, content: int) -> str:
    """Where a store has a content: in a file, in an earlier version only, or nowhere."""
    return str(raw_sql.read(_PART, [store, content, store, content])[0][0])


def has(store: StoreState, sha: str) -> bool:
    """Whether some file or kept version of a store has the bytes with that digest."""
    return bool(raw_sql.read(_HAS, [store.space, sha, store.id]))


class WriteCount:
    """What a write of one file adds to the bytes of its store: made before the write, asked after it."""

    def __init__(self, store: StoreState, file: FileState | None, content: int | None, size: int, *, new: bool) -> None:
        """`content` is what the file will have; `new` says that nothing else in the space has it."""
        self.store, self.content = store.id, content
        self.before: dict[int, tuple[int, str]] = {}
        if file is not None and file.content is not None:
            self.before[file.content] = (file.size, CURRENT)
        if content is not None and content not in self.before:
            self.before[content] = (size, NOWHERE if new or not size else _part(store.id, content))

    def added(self, forgotten: Sizes) -> tuple[int, int]:
        """Bytes of current and of earlier contents, after the write and after versions were forgotten."""
        grown = {CURRENT: 0, EARLIER: 0, NOWHERE: 0}
        sizes = {**dict(forgotten), **{content: size for content, (size, _) in self.before.items()}}
        for content, size in sizes.items():
            if size:
                after = CURRENT if content == self.content else _part(self.store, content)
                # A forgotten version of another content: no other file changed, so it was in a file if it still is.
                _, before = self.before.get(content, (size, CURRENT if after == CURRENT else EARLIER))
                grown[before] -= size
                grown[after] += size
        return grown[CURRENT], grown[EARLIER]


def freed(store: int, forgotten: Sizes) -> int:
    """Bytes that a store no longer has after versions were forgotten."""
    return sum(size for content, size in dict(forgotten).items() if size and _part(store, content) == NOWHERE)
