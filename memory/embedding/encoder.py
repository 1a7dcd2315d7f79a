"""What every encoder promises, and the one place where its answers are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memory.embedding.native_calls import NATIVE

Vectors = npt.NDArray[np.float32]

# Rows are made unit by dividing by a float32 norm; what is further off than rounding was not normalised at all.
UNIT_TOLERANCE = 1e-3


class EncoderProblem(Exception):
    """An encoder cannot be used; the message is a sentence with the next step."""


class Encoder(Protocol):
    """Gives the same text the same vector, whatever it is asked together with."""

    name: str  # stored with every vector: vectors of two names are never compared
    dimension: int  # a multiple of 64, so that one bit a number packs into whole words

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text."""


def encode_checked(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """The rows of an encoder, or EncoderProblem: nothing an index would choke on gets past here."""
    if not texts:
        return np.zeros((0, encoder.dimension), dtype=np.float32)
    try:
        with NATIVE:
            rows = encoder.encode(texts)
    except Exception as error:
        # The kind of error alone: its message may hold the text, and this one goes to the log.
        raise EncoderProblem(f"{encoder.name} failed on a text ({type(error).__name__}).") from error
    fault = _fault(rows, len(texts), encoder.dimension)
    if fault:
        raise EncoderProblem(f"{encoder.name} gave {fault}.")
    return rows


def _fault(rows: object, count: int, dimension: int) -> str | None:
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float32:
        return f"{getattr(rows, 'dtype', type(rows).__name__)} instead of float32 rows"
    if rows.shape != (count, dimension):
        return f"an array of shape {rows.shape} instead of {(count, dimension)}"
    if np.logical_and.reduce(np.abs(_lengths(rows) - 1) <= UNIT_TOLERANCE):
        return None
    return "rows that are not of unit length" if np.isfinite(rows).all() else "numbers that are not finite"


def readable(text: str) -> str:
    """Half a character is no reason for a tokenizer to fail."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit(rows: Vectors) -> Vectors:
    """Each row at length one. A row of zeros points along the first axis: nothing said is nothing in common."""
    lengths = _lengths(rows)
    if not np.logical_and.reduce(lengths):
        empty = lengths == 0
        rows = rows.copy()
        rows[empty, 0] = 1
        lengths[empty] = 1
    return np.asarray(rows / lengths[:, None], dtype=np.float32)


def _lengths(rows: Vectors) -> Vectors:
    lengths: Vectors = np.sqrt(np.add.reduce(rows * rows, axis=1))
    return lengths
