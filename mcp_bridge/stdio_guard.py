"""Standard output belongs to the protocol: whatever else a process prints goes to standard error.

Imports nothing but the standard library: it is called before anything that might print is loaded.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

_wire: int | None = None


def claim_stdout() -> None:
    """From now on nobody but `writer` writes to what was standard output, not even a library written in C."""
    global _wire
    if _wire is None:
        sys.stdout.flush()
        _wire = os.dup(1)
        os.set_inheritable(_wire, False)
        os.dup2(2, 1)
        sys.stdout = sys.stderr


def stdout_descriptor() -> int:
    """The number of what was standard output."""
    claim_stdout()
    assert _wire is not None  # noqa: S101  claimed above
    return _wire


def protocol_writer() -> io.TextIOWrapper:
    """Where the protocol is written."""
    return io.TextIOWrapper(os.fdopen(stdout_descriptor(), "wb", closefd=False), encoding="utf-8", newline="\n")


class PrefixedInput(io.RawIOBase):
    """Standard input with bytes in front of it that were read before."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._text[: len(buffer)] or os.read(0, len(buffer))
        self._text = self._text[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def protocol_reader(text: bytes) -> io.TextIOWrapper:
    """The protocol as it is read, after what was read before."""
    return io.TextIOWrapper(io.BufferedReader(PrefixedInput(text)), encoding="utf-8", errors="replace")
