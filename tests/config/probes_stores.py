"""Probes of the keys about stores of files."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import blobs, clock
from tests.config.probing import ProbeWorld, probe
from tests.conftest import Api


@probe("BLOBS_URL", "memory://probe")
def place_of_blobs(world: ProbeWorld) -> object:
    return type(blobs.of_instance().backend).__name__


def _with_store(world: ProbeWorld) -> Api:
    api = world.api()
    api.post("/stores", {"key": "notes"})
    return api


@probe("MAX_FILE_BYTES", 5, stored=True)
@probe("MAX_STORES_PER_SPACE", 1, stored=True)
@probe("MAX_STORE_BYTES_PER_SPACE", 5, stored=True)
@probe("MAX_STORE_FILES", 1, stored=True)
@probe("MAX_FILE_WRITES_PER_MINUTE", 2, stored=True)
def writing_files(world: ProbeWorld) -> object:
    api = _with_store(world)
    written = [api.put(f"/stores/notes/files/{name}", "more than five").status_code for name in "ab"]
    return [*written, api.post("/stores", {"key": "second"}).status_code]


@probe("STORE_UNDELETE_DAYS", 1.0, stored=True)
@probe("STORE_LOG_DAYS", 1.0, stored=True)
def what_is_left_after_two_days(world: ProbeWorld) -> object:
    from memory.artifacts import upkeep
    from memory.artifacts.models import FileChange, Store

    api = _with_store(world)
    for _ in range(2):
        api.put("/stores/notes/files/a", "the same")
    api.post("/stores", {"key": "old"})
    api.delete("/stores/old")
    before = clock.now() - timedelta(days=2)
    notes, old = Store.objects.order_by("-id")[:2][::-1]
    Store.objects.filter(pk=old.pk).update(deleted_at=before)
    FileChange.objects.filter(store=notes).update(at=before)
    upkeep.sweep(None)  # type: ignore[arg-type]
    return Store.objects.filter(pk=old.pk).exists(), FileChange.objects.filter(store=notes).count()
