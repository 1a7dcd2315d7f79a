"""What a write tells the arenas: numbers only, packed beside the public summary of its event.

A text never enters the log. The arena is told which grains changed and reads those rows; conduits are
small enough to travel whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CONDUIT = np.dtype(
    [
        ("id", "<i8"),
        ("from_entry", "<i8"),  # 0: it begins at a grain
        ("entry_key", "<u8"),  # `words.key("kind:feature")` of the entry, so that no row need be read
        ("from_grain", "<i8"),  # 0: it begins at an entry
        ("to_grain", "<i8"),
        ("weight", "<f4"),
        ("affinity", "<f4"),
        ("made_at", "<i8"),
        ("used_at", "<i8"),
        ("relation", "u1"),
        ("decay_class", "u1"),
    ]
)
# A grain's cluster, 0 for none, and how typical it is of it.
MEMBER = np.dtype([("grain", "<i8"), ("cluster", "<i4"), ("typical", "<f4")])
_GRAINS, _CONDUITS, _CUT, _JUDGED, _MEMBERS, _EXPLORING = b"G", b"C", b"X", b"J", b"M", b"E"
_ATTUNED = b"W"
_TAGS = (_GRAINS, _CONDUITS, _CUT, _JUDGED, _MEMBERS, _EXPLORING, _ATTUNED)


@dataclass(frozen=True)
class Changes:
    """Grains to read again, conduits as they are now, conduits that are no more, questions to read the votes of.

    And whom clusters hold now, small enough to travel whole; whether recall looks wider from here on; whether the
    space's own weights have moved.
    """

    grains: tuple[int, ...] = ()
    conduits: NDArray[np.void] = field(default_factory=lambda: np.empty(0, CONDUIT))
    cut: tuple[int, ...] = ()
    judged: tuple[int, ...] = ()
    members: NDArray[np.void] = field(default_factory=lambda: np.empty(0, MEMBER))
    exploring: bool | None = None  # None: nothing is said about it
    attuned: bool = False

    def pack(self) -> bytes:
        return b"".join(
            tag + len(body).to_bytes(4, "little") + body
            for tag, body in (
                (_GRAINS, np.asarray(self.grains, "<i8").tobytes()),
                (_CONDUITS, self.conduits.tobytes()),
                (_CUT, np.asarray(self.cut, "<i8").tobytes()),
                (_JUDGED, np.asarray(self.judged, "<i8").tobytes()),
                (_ATTUNED, b"\1" if self.attuned else b""),
                (_MEMBERS, self.members.tobytes()),
                (_EXPLORING, b"" if self.exploring is None else bytes([self.exploring])),
            )
            if body
        )


def unpack(packed: bytes) -> Changes:
    """Raises ValueError on anything `pack` did not write: whoever replays it drops the arena and builds anew."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(packed):
        tag, length = packed[at : at + 1], int.from_bytes(packed[at + 1 : at + 5], "little")
        body = packed[at + 5 : at + 5 + length]
        if tag not in _TAGS or len(body) != length:
            raise ValueError("not a packed change")
        found[tag] = body
        at += 5 + length
    return Changes(
        tuple(np.frombuffer(found.get(_GRAINS, b""), "<i8").tolist()),
        np.frombuffer(found.get(_CONDUITS, b""), CONDUIT),
        tuple(np.frombuffer(found.get(_CUT, b""), "<i8").tolist()),
        tuple(np.frombuffer(found.get(_JUDGED, b""), "<i8").tolist()),
        np.frombuffer(found.get(_MEMBERS, b""), MEMBER),
        bool(found[_EXPLORING][0]) if _EXPLORING in found else None,
        _ATTUNED in found,
    )


def merge_packed(packed: Iterable[bytes]) -> bytes:
    """Several changes of grains and conduits as one."""
    found = [unpack(one) for one in packed]
    return Changes(
        tuple(grain for one in found for grain in one.grains),
        np.concatenate([one.conduits for one in found]) if found else np.empty(0, CONDUIT),
    ).pack()


def conduit_array(rows: Iterable[Sequence[object]]) -> NDArray[np.void]:
    """Rows in the order of CONDUIT's fields."""
    return np.array([tuple(row) for row in rows], CONDUIT)


def member_array(rows: Iterable[Sequence[object]]) -> NDArray[np.void]:
    """Rows in the order of MEMBER's fields."""
    return np.array([tuple(row) for row in rows], MEMBER)
