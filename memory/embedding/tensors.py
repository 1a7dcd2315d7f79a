"""Reader of safetensors files: eight bytes of length, a JSON table of contents, then the numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.embedding.encoder import EncoderProblem

_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}
_LONGEST_TABLE = 10_000_000  # bytes


def read_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of the file, memory-mapped: only what is used is read."""
    try:
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        size = int.from_bytes(whole[:8].tobytes(), "little")
        if len(whole) < 8 or size > min(len(whole) - 8, _LONGEST_TABLE):
            raise ValueError("the table of contents is cut off")
        table = json.loads(whole[8 : 8 + size].tobytes())
        numbers = whole[8 + size :]
        return {name: _array(numbers, **entry) for name, entry in table.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderProblem(f"{path.name} cannot be read ({error}). Install its package again.") from error


def _array(numbers: npt.NDArray[np.uint8], *, dtype: str, shape: list[int], data_offsets: list[int]) -> Any:
    begin, end = data_offsets
    kind = _TYPES[dtype]
    if not 0 <= begin <= end <= len(numbers) or end - begin != math.prod(shape) * kind.itemsize:
        raise ValueError("an array is cut off")
    return numbers[begin:end].view(kind).reshape(shape)
