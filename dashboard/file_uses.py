"""What the page of a file says about it beside its content: its newest version, and how often it was recalled."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.principals import Principal
from accounts.verbs import selector
from memory.artifacts import names, reading
from memory.artifacts.states import read_state
from memory.grains.models import TraceGrain
from memory.passages.models import GrainSource

MOST = 1_000  # recalls that are counted


@dataclass(frozen=True)
class FileUse:
    newest: int = 0  # the newest version
    recalls: int | None = None  # that returned something of the file, up to MOST; None: it is not in a recallable store


@selector("files.use", needs="artifacts.read", asks=names.asks("artifacts.read", "path"))
def use_of_file(principal: Principal, *, store: str, path: str) -> FileUse:
    place, found = read_state(principal, store, reading.existing_path(path))
    if found is None:
        return FileUse()
    if not place.recallable:
        return FileUse(found.version)
    passages = GrainSource.objects.filter(file=found.id, message=None).values("grain")
    traces = TraceGrain.objects.filter(space=principal.space, grain__in=passages).values("trace").distinct()
    return FileUse(found.version, traces[:MOST].count())
