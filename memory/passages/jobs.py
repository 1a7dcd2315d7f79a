"""Kinds of background jobs of passages: index files, transcripts and values, and erase what is gone."""

from __future__ import annotations

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every

INDEX_FILE = job("passages.index_file", "memory.passages.indexing.index_file")
INDEX_MESSAGES = job("passages.index_messages", "memory.passages.message_indexing.index_messages")
INDEX_STORE = job("passages.index_store", "memory.passages.indexing.index_store", queue=SLOW)
INDEX_VALUE = job("passages.index_value", "memory.passages.value_indexing.index_value")
INDEX_PLACE = job("passages.index_place", "memory.passages.value_indexing.index_place", queue=SLOW)
ERASE_VALUE = job("passages.erase_value", "memory.passages.upkeep.erase_value")

ERASE_REMOVED = job("passages.erase_removed", "memory.passages.upkeep.erase_removed", queue=SLOW)
ERASE_SECONDS = 86_400.0


def ask_to_erase() -> None:
    enqueue(ERASE_REMOVED, once_key="all")


every(ERASE_REMOVED, ERASE_SECONDS, ask_to_erase)


def ask_for_file(space: int, file: int) -> None:
    enqueue(INDEX_FILE, {"file": file}, space=space, once_key=f"file:{file}")


def ask_for_new_messages(space: int, store: int) -> None:
    """Index all messages that are not indexed yet: whichever job runs does the work of every other."""
    enqueue(INDEX_MESSAGES, {"store": store}, space=space, once_key=f"store:{store}")


def ask_for_transcript(space: int, store: int) -> None:
    """Index new messages, and forget removed ones."""
    enqueue(INDEX_MESSAGES, {"store": store, "all": True}, space=space, once_key=f"all:{store}")


def ask_for_store(space: int, store: int, after: int = 0) -> None:
    enqueue(INDEX_STORE, {"store": store, "after": after}, space=space, once_key=f"store:{store}:{after}")


def ask_for_value(space: int, item: int) -> None:
    enqueue(INDEX_VALUE, {"item": item}, space=space, once_key=f"item:{item}")


def ask_for_place(space: int, namespace: int, after: int = 0) -> None:
    """Index the values of a namespace, and forget those that are recallable no more."""
    enqueue(
        INDEX_PLACE, {"namespace": namespace, "after": after}, space=space, once_key=f"namespace:{namespace}:{after}"
    )


def ask_to_erase_value(space: int, item: int) -> None:
    enqueue(ERASE_VALUE, {"item": item}, space=space, once_key=f"item:{item}")
