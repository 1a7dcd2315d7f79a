"""Comparison of what stores, spaces and contents count with what is there."""

from __future__ import annotations

import hashlib

from django.db.models import Count, Sum

from memory.artifacts import contents
from memory.artifacts.models import Content, File, FileChange, Message, Store, StoreUsage


def check() -> None:
    """What stores, the space and contents count is what is there, and every file can be read."""
    for store in Store.objects.all():
        there = File.objects.filter(store=store).exclude(sha="")
        current = dict(there.values_list("sha", "size"))
        kept = dict(FileChange.objects.filter(store=store).exclude(content=None).values_list("new_sha", "size"))
        said = Message.objects.filter(store=store).aggregate(messages=Count("id"), bytes=Sum("size"))
        assert (store.files, store.bytes) == (there.count(), sum(current.values()))
        assert current.keys() <= kept.keys() and store.history_bytes == sum(kept.values()) - store.bytes
        assert (store.messages, store.message_bytes) == (said["messages"], said["bytes"] or 0)
    wanted = sum(store.bytes + store.history_bytes + store.message_bytes for store in Store.objects.all())
    assert StoreUsage.objects.get().bytes == wanted
    for content in Content.objects.all():
        assert content.uses == FileChange.objects.filter(content=content).count() > 0
    for file in File.objects.exclude(sha=""):
        assert hashlib.sha256(contents.read_all(file.content_id)).hexdigest() == file.sha
