"""Registry of declared calls: which modules of declarations there are. A new room adds one entry to `ROOMS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flux.calls.base import Call


class Room(NamedTuple):
    """Calls that belong together: the client has one class for them, the documents one table."""

    name: str  # module of the client's methods, flux/rooms/NAME.py, and of the table "calls of NAME"
    methods: str  # the class there
    says: str  # what its calls are on
    document: str  # below docs/
    modules: dict[str, tuple[str, ...]]  # of declarations, each with the groups its tools and commands are in


ROOMS: tuple[Room, ...] = (
    Room(
        "keyvalue",
        "KeyValueCalls",
        "Keys of agents and boards, boards, locks and queues.",
        "exact.md",
        {"flux.calls.keys": ("memory", "board"), "flux.calls.boards": ("board",)},
    ),
    Room(
        "stores",
        "StoreCalls",
        "Stores of files with a transcript.",
        "artifacts.md",
        {
            "flux.calls.stores": ("artifacts", "files"),
            "flux.calls.files": ("artifacts", "files"),
            "flux.calls.transcripts": ("artifacts", "transcript"),
            "flux.calls.passages": ("memory", "board", "artifacts", "files", "transcript"),
        },
    ),
    Room(
        "reviews",
        "ReviewCalls",
        "The queue of what waits for a decision.",
        "artifacts.md",
        {"flux.calls.reviews": ("review",)},
    ),
)


def calls(group: str | None = None, *, room: Room | None = None) -> tuple[type[Call], ...]:
    """All declared calls, in order, or those of the modules of a group or of a room: only these are imported."""
    rooms = ROOMS if room is None else (room,)
    modules = [module for one in rooms for module, groups in one.modules.items() if group is None or group in groups]
    return tuple(call for module in modules for call in import_module(module).CALLS)
