"""Standard output belongs to the protocol: whatever else a process prints goes to standard error.

Imports nothing but the standard library: it is called before anything that might print is loaded.
"""

from __future__ import annotations

import io
import os
import sys

_wire: int | None = None


def claim() -> None:
    """From now on nobody but `writer` writes to what was standard output, not even a library written in C."""
    global _wire
    if _wire is None:
        sys.stdout.flush()
        _wire = os.dup(1)
        os.set_inheritable(_wire, False)
        os.dup2(2, 1)
        sys.stdout = sys.stderr


def writer() -> io.TextIOWrapper:
    """Where the protocol is written."""
    claim()
    assert _wire is not None  # noqa: S101  claimed above
    return io.TextIOWrapper(os.fdopen(_wire, "wb", closefd=False), encoding="utf-8", newline="\n")
