"""Kinds of background jobs of passages: index a file, the messages of a transcript, a whole store."""

from __future__ import annotations

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every

INDEX_FILE = job("passages.index_file", "memory.passages.indexing.index_file")
INDEX_MESSAGES = job("passages.index_messages", "memory.passages.indexing.index_messages")
INDEX_STORE = job("passages.index_store", "memory.passages.indexing.index_store", queue=SLOW)

ERASE_REMOVED = job("passages.erase_removed", "memory.passages.upkeep.erase_removed", queue=SLOW)
ERASE_SECONDS = 86_400.0


def ask_to_erase() -> None:
    enqueue(ERASE_REMOVED, once_key="all")


every(ERASE_REMOVED, ERASE_SECONDS, ask_to_erase)


def ask_for_file(space: int, file: int) -> None:
    enqueue(INDEX_FILE, {"file": file}, space=space, once_key=f"file:{file}")


def ask_for_new_messages(space: int, store: int, after: int) -> None:
    """Index messages with a higher number. A job that waits already has a lower one, and does these too."""
    enqueue(INDEX_MESSAGES, {"store": store, "after": after}, space=space, once_key=f"store:{store}")


def ask_for_transcript(space: int, store: int, after: int = 0) -> None:
    """Index all messages, and forget removed ones."""
    enqueue(INDEX_MESSAGES, {"store": store, "after": after, "all": True}, space=space, once_key=f"all:{store}:{after}")


def ask_for_store(space: int, store: int, after: int = 0) -> None:
    enqueue(INDEX_STORE, {"store": store, "after": after}, space=space, once_key=f"store:{store}:{after}")
