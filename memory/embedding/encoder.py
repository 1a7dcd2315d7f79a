"""Protocol of encoders, and the check of their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memory.embedding.native_calls import NATIVE

Vectors = npt.NDArray[np.float32]

# Rows are normalised in float32; a length further from 1 than this is no rounding error.
UNIT_TOLERANCE = 1e-3


class EncoderProblem(Exception):
    """An encoder cannot be used; the message is a sentence with the next step."""


class Encoder(Protocol):
    """Interface of encoders. The same text always gets the same vector, whatever the other texts of the call are."""

    name: str  # stored with every vector: vectors of two names are never compared
    dimension: int  # a multiple of 64, so that one bit per number fills 64-bit words

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text."""


def encode_checked(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Vectors of texts, checked for type, shape, finite numbers and unit length; raises EncoderProblem."""
    if not texts:
        return np.zeros((0, encoder.dimension), dtype=np.float32)
    try:
        with NATIVE:
            rows = encoder.encode(texts)
    except Exception as error:
        # Only the type of the error: its message may contain the text, and this message is logged.
        raise EncoderProblem(f"{encoder.name} failed on a text ({type(error).__name__}).") from error
    fault = _find_fault(rows, len(texts), encoder.dimension)
    if fault:
        raise EncoderProblem(f"{encoder.name} gave {fault}.")
    return rows


def _find_fault(rows: object, count: int, dimension: int) -> str | None:
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float32:
        return f"{getattr(rows, 'dtype', type(rows).__name__)} instead of float32 rows"
    if rows.shape != (count, dimension):
        return f"an array of shape {rows.shape} instead of {(count, dimension)}"
    if np.logical_and.reduce(np.abs(_lengths(rows) - 1) <= UNIT_TOLERANCE):
        return None
    return "rows that are not of unit length" if np.isfinite(rows).all() else "numbers that are not finite"


def readable(text: str) -> str:
    """The text with lone surrogates replaced, on which tokenizers would fail."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit(rows: Vectors) -> Vectors:
    """Rows normalised to unit length; a row of zeros becomes the first axis."""
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
