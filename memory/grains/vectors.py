"""Rows of vectors, one per grain and encoder, so that vectors of two encoders are never compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from fluxcore import raw_sql
from memory.grains.models import Grain, Vector

_COLUMNS = ("space", "grain", "encoder", "dimension", "scale", "data")
_TABLE, _GRAINS = Vector._meta.db_table, Grain._meta.db_table
_OR_REPLACE = (
    "ON CONFLICT (space_id, encoder, grain_id) DO UPDATE SET "
    "dimension = EXCLUDED.dimension, scale = EXCLUDED.scale, data = EXCLUDED.data RETURNING id"
)
_PIECE = 500


def save_vectors(
    space: int, encoder: str, grains: Sequence[int], data: NDArray[np.int8], scale: NDArray[np.float32]
) -> None:
    """Write vectors of grains; an earlier one of the same encoder is replaced."""
    new = [
        (space, grain, encoder, data.shape[1], float(one), numbers.tobytes())
        for grain, numbers, one in zip(grains, data, scale, strict=True)
    ]
    for at in range(0, len(new), _PIECE):
        raw_sql.upsert(Vector, _COLUMNS, new[at : at + _PIECE], _OR_REPLACE)


def existing_grains(space: int, grains: Iterable[int]) -> set[int]:
    """Those of these grains that exist in the space."""
    values: Any
    if connection.vendor == "postgresql":
        where, values = "id = ANY(%s)", list(grains)
    else:
        # One JSON value, because SQLite limits the number of parameters.
        where, values = "id IN (SELECT value FROM json_each(%s))", json.dumps(list(grains))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {_GRAINS} WHERE space_id = %s AND {where}", [space, values])  # noqa: S608
        return {number for (number,) in cursor.fetchall()}
