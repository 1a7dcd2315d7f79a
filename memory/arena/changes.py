"""Changes of a write for arenas: ids and numbers, packed beside the public summary of its event.

Texts never enter the log. The change has the ids of changed grains, whose rows the arena reads; conduits are small
enough to be included completely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CONDUIT = np.dtype(
    [
        ("id", "<i8"),
        ("from_entry", "<i8"),  # 0: it starts at a grain
        ("entry_key", "<u8"),  # `words.key("kind:feature")` of the entry, so that no row has to be read
        ("from_grain", "<i8"),  # 0: it starts at an entry
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
    """Changes of one or more events."""

    grains: tuple[int, ...] = ()  # ids of grains to read again
    conduits: NDArray[np.void] = field(default_factory=lambda: np.empty(0, CONDUIT))  # their present state
    cut: tuple[int, ...] = ()  # ids of removed conduits
    judged: tuple[int, ...] = ()  # ids of questions whose votes are to be read again
    members: NDArray[np.void] = field(default_factory=lambda: np.empty(0, MEMBER))  # new clusters of grains
    exploring: bool | None = None  # whether exploration began or ended; None: no change
    attuned: bool = False  # whether the space's own weights changed

    def pack(self) -> bytes:
        """Bytes for the event: tag, length and body of each part that is not empty."""
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
    """Changes from packed bytes. Raises ValueError on anything `pack` did not write; the arena is then built again."""
    parts: dict[bytes, bytes] = {}
    at = 0
    while at < len(packed):
        tag, length = packed[at : at + 1], int.from_bytes(packed[at + 1 : at + 5], "little")
        body = packed[at + 5 : at + 5 + length]
        if tag not in _TAGS or len(body) != length:
            raise ValueError("not a packed change")
        parts[tag] = body
        at += 5 + length
    return Changes(
        tuple(np.frombuffer(parts.get(_GRAINS, b""), "<i8").tolist()),
        np.frombuffer(parts.get(_CONDUITS, b""), CONDUIT),
        tuple(np.frombuffer(parts.get(_CUT, b""), "<i8").tolist()),
        tuple(np.frombuffer(parts.get(_JUDGED, b""), "<i8").tolist()),
        np.frombuffer(parts.get(_MEMBERS, b""), MEMBER),
        bool(parts[_EXPLORING][0]) if _EXPLORING in parts else None,
        _ATTUNED in parts,
    )


def merge_packed(packed: Iterable[bytes]) -> bytes:
    """Merge several packed changes of grains and conduits."""
    changes = [unpack(change) for change in packed]
    return Changes(
        tuple(grain for change in changes for grain in change.grains),
        np.concatenate([change.conduits for change in changes]) if changes else np.empty(0, CONDUIT),
    ).pack()


def conduit_array(rows: Iterable[Sequence[object]]) -> NDArray[np.void]:
    """Array of CONDUIT records from rows in the order of its fields."""
    return np.array([tuple(row) for row in rows], CONDUIT)


def member_array(rows: Iterable[Sequence[object]]) -> NDArray[np.void]:
    """Array of MEMBER records from rows in the order of its fields."""
    return np.array([tuple(row) for row in rows], MEMBER)
