"""Redirection of standard output: only the protocol is written to it, other prints go to standard error.

Imports nothing but the standard library: it is called before anything that might print is loaded.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

_stdout: int | None = None


def claim_stdout() -> None:
    """Reserve standard output for `protocol_writer`; other prints, of C libraries too, go to standard error."""
    global _stdout
    if _stdout is None:
        sys.stdout.flush()
        _stdout = os.dup(1)
        os.set_inheritable(_stdout, False)
        os.dup2(2, 1)
        sys.stdout = sys.stderr


def stdout_descriptor() -> int:
    """File descriptor of the original standard output."""
    claim_stdout()
    assert _stdout is not None  # noqa: S101  claimed above
    return _stdout


def protocol_writer() -> io.TextIOWrapper:
    """Text stream that writes the protocol."""
    return io.TextIOWrapper(os.fdopen(stdout_descriptor(), "wb", closefd=False), encoding="utf-8", newline="\n")


class PrefixedInput(io.RawIOBase):
    """Standard input, preceded by bytes that were read from it before."""

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
    """Text stream that reads the protocol, beginning with text that was read before."""
    return io.TextIOWrapper(io.BufferedReader(PrefixedInput(text)), encoding="utf-8", errors="replace")
