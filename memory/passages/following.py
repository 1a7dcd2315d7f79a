"""Follows changes of stores: each change of a recallable store asks, in the same write, for its indexing."""

from __future__ import annotations

from memory.artifacts import hooks
from memory.artifacts.models import Store
from memory.artifacts.states import StoreState
from memory.passages import jobs, transcript_marks


def _file_written(store: StoreState, file: int) -> None:
    jobs.ask_for_file(store.space, file)


def _messages_appended(store: StoreState, first: int, last: int) -> None:
    jobs.ask_for_new_messages(store.space, store.id)


def _messages_removed(store: StoreState, removal: str) -> None:
    jobs.ask_for_transcript(store.space, store.id)


def _messages_restored(store: StoreState, removal: str) -> None:
    transcript_marks.begin_anew(store.id)
    jobs.ask_for_transcript(store.space, store.id)


def _store_changed(store: int) -> None:
    space = Store.objects.values_list("space_id", flat=True).get(pk=store)
    jobs.ask_for_store(space, store)


def register() -> None:
    hooks.registered.file_written.append(_file_written)
    hooks.registered.messages_appended.append(_messages_appended)
    hooks.registered.messages_removed.append(_messages_removed)
    hooks.registered.messages_restored.append(_messages_restored)
    hooks.registered.store_changed.append(_store_changed)
