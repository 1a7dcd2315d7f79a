"""Files of arenas: plain arrays that every process maps copy-on-write, so that processes share the pages.

`arenas/<space>/<generation>/` in the data folder has one .npy file per array, with spare capacity after the rows, and
`meta.json`, which describes them. A folder is written under a temporary name and renamed, so it is complete or absent.
Files are only a copy: in any doubt they are not used and the arena is built from SQL.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import Error
from numpy.typing import NDArray

from fluxcore import clock
from fluxcore.db_errors import error_place
from fluxcore.events import Position
from fluxcore.files import new_file, new_folder
from memory.arena import coherence, grain_rows, queries
from memory.arena.arena import Arena
from memory.arena.votes import VoteRow
from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.index.dense import LISTED_ROWS, Dense
from memory.engine.index.postings import Postings
from memory.engine.index.space_index import COLUMNS, GONE, Index

log = logging.getLogger(__name__)

FORMAT = 3
META = "meta.json"
# Bytes at both ends of a file that are verified on opening: lost writes of a disk show there.
_ENDS = 1 << 16
_ABANDONED_SECONDS = 3600.0  # age from which on a temporary folder is removed


class UntrustedFiles(Exception):
    """The files cannot be used; the message says why."""


def newest_generation(space: int) -> int:
    """The highest generation on disk; 0 if there is none."""
    return max(_generations(space), default=0)


def write_generation(arena: Arena) -> int:
    """Write the arena as a new generation, remove older ones, and return the generation."""
    with arena.following, arena.lock.reading():
        generation = newest_generation(arena.space) + 1
        target = _space_folder(arena.space) / f"{generation:08d}"
        with new_folder(target) as folder:
            descriptions = {
                name: _write_array(folder / f"{name}.npy", array) for name, array in _to_arrays(arena.index).items()
            }
            _write_meta(folder / META, arena, generation, descriptions)
    tidy(arena.space)
    return generation


def open_newest(space: int, encoder: str) -> Arena | None:
    """The arena from the newest files, caught up with the log; None if it must be built."""
    for _ in range(2):
        generation = newest_generation(space)
        if not generation:
            return None
        try:
            return _open(space, generation, encoder)
        except FileNotFoundError:
            continue  # a newer generation has just replaced it
        except Error:
            raise  # an error of the database, not of the files
        except Exception as error:
            log.info(
                "the files of space %d are not used: %s",
                space,
                error if isinstance(error, UntrustedFiles) else error_place(error),
            )
            return None
    return None


def tidy(space: int) -> None:
    """Remove all generations but the newest, and incomplete folders of killed processes.

    Another process may still have a generation mapped: on Linux its pages stay valid, elsewhere the removal fails and
    the next call tries again.
    """
    for generation in sorted(_generations(space))[:-1]:
        shutil.rmtree(_space_folder(space) / f"{generation:08d}", ignore_errors=True)
    for incomplete in _space_folder(space).glob(".*"):
        if incomplete.stat().st_mtime < clock.seconds() - _ABANDONED_SECONDS:
            shutil.rmtree(incomplete, ignore_errors=True)


def remove_generations(space: int) -> None:
    """Remove all files of a space."""
    shutil.rmtree(_space_folder(space), ignore_errors=True)


def _space_folder(space: int) -> Path:
    return Path(settings.HOME.arenas) / str(space)


def _generations(space: int) -> list[int]:
    try:
        return [int(path.name) for path in _space_folder(space).iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return []


def _to_arrays(index: Index) -> dict[str, NDArray[Any]]:
    """All arrays of an index, merged, with spare capacity after the rows."""
    capacity = grain_rows.capacity_for(index.size)
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in index.columns.items():
        arrays[f"columns.{name}"] = np.concatenate(
            (column[: index.size], np.zeros(capacity - index.size, column.dtype))
        )
    arrays |= {f"postings.{name}": array for name, array in index.postings.arrays().items()}
    arrays |= {f"graph.{name}": array for name, array in index.graph.arrays().items()}
    if index.dense is not None:
        size, old = index.dense.size, index.dense
        # Built again, because its bits depend on the mean of all present vectors.
        dense = Dense.build(old.data[:size], old.scale[:size], old.has[:size], capacity)
        if size >= LISTED_ROWS:
            dense.build_ivf()
        arrays |= {f"dense.{name}": array for name, array in dense.arrays().items()}
    arrays["speakers.key"] = np.array(list(index.speakers), np.uint64)
    arrays["speakers.count"] = np.array([len(terms) for terms in index.speakers.values()], np.int32)
    arrays["speakers.terms"] = np.array([term for terms in index.speakers.values() for term in terms], np.uint64)
    return arrays


def _from_arrays(arrays: dict[str, NDArray[Any]], size: int) -> Index:
    def part(prefix: str) -> dict[str, NDArray[Any]]:
        return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

    dense = part("dense.")
    terms = np.split(arrays["speakers.terms"], np.cumsum(arrays["speakers.count"])[:-1])
    speakers = zip(arrays["speakers.key"].tolist(), terms, strict=False)
    return Index(
        {name: arrays[f"columns.{name}"] for name in COLUMNS},
        Postings.from_arrays(part("postings."), size),
        Dense.from_arrays(dense) if dense else None,
        ConduitGraph.from_arrays(part("graph.")),
        size,
        {key: tuple(name_terms.tolist()) for key, name_terms in speakers},
    )


def _open(space: int, generation: int, encoder: str) -> Arena:
    folder = _space_folder(space) / f"{generation:08d}"
    meta = _read_meta(folder / META)
    expected = {"format": FORMAT, "analysis": grain_rows.ANALYSIS, "space": space, "generation": generation}
    for name, value in expected.items():
        if meta[name] != value:
            raise UntrustedFiles(f"another {name}")
    if encoder and meta["encoder"] != encoder:
        raise UntrustedFiles("vectors of another encoder")
    position = Position.parse(meta["position"])
    if (coherence.event_mark(position) or "") != meta["mark"] or not coherence.log_reaches(position):
        raise UntrustedFiles("the log does not reach back to it, or is another one")
    arrays = {name: _map_array(folder / f"{name}.npy", description) for name, description in meta["arrays"].items()}
    arena = Arena(space, _from_arrays(arrays, meta["size"]), position, meta["encoder"], generation=generation)
    arena.teach([VoteRow(*row) for row in queries.read_votes(space)])
    arena.attune(queries.read_attunement(space))
    arena.exploring = queries.is_exploring(space)
    if not _is_complete(arena):
        raise UntrustedFiles("it does not hold as many grains as the database")
    return arena


def _is_complete(arena: Arena) -> bool:
    """Whether it has a row for each grain; rows are counted before and after the grains, as others may be writing."""
    for _ in range(2):  # twice: grains may be purged in between
        if not coherence.catch_up(arena):
            return arena.sound  # far behind: nothing to compare yet
        rows_before = _count_present(arena)
        count = queries.count_grains(arena.space)
        if coherence.catch_up(arena) and rows_before <= count <= _count_present(arena):
            return True
    return False


def _count_present(arena: Arena) -> int:
    return int(np.count_nonzero(arena.index.column("status") != GONE))


def _write_array(path: Path, array: NDArray[Any]) -> list[Any]:
    """Write an array durably; returns the description that `_map_array` verifies."""
    with new_file(path) as file:  # a renamed folder must not have files that a power failure left empty
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return [array.dtype.str, list(array.shape), path.stat().st_size, _ends_checksum(path)]


def _map_array(path: Path, description: list[Any]) -> NDArray[Any]:
    dtype, shape, size, ends = description
    if path.stat().st_size != size or _ends_checksum(path) != ends:
        raise UntrustedFiles(f"{path.name} is not as it was written")
    empty = 0 in shape  # nothing to map
    array: NDArray[Any] = np.load(path, mmap_mode=None if empty else "c", allow_pickle=False)
    if array.dtype.str != dtype or list(array.shape) != shape:
        raise UntrustedFiles(f"{path.name} is another array")
    return array.view(np.ndarray)  # slices of np.memmap are slower


def _ends_checksum(path: Path) -> int:
    with path.open("rb") as file:
        checksum = zlib.crc32(file.read(_ENDS))
        file.seek(max(path.stat().st_size - _ENDS, 0))
        return zlib.crc32(file.read(_ENDS), checksum)


def _write_meta(path: Path, arena: Arena, generation: int, arrays: dict[str, list[Any]]) -> None:
    meta = {
        "format": FORMAT,
        "analysis": grain_rows.ANALYSIS,
        "space": arena.space,
        "encoder": arena.encoder,
        "generation": generation,
        "size": arena.index.size,
        "position": str(arena.position),
        "mark": coherence.event_mark(arena.position) or "",
        "arrays": arrays,
    }
    text = json.dumps({**meta, "checksum": _checksum(meta)}, indent=1)
    with new_file(path) as file:
        file.write(text.encode())


def _read_meta(path: Path) -> dict[str, Any]:
    meta = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(meta, dict) or meta.pop("checksum", None) != _checksum(meta):
        raise UntrustedFiles("meta.json is not as it was written")
    return meta


def _checksum(meta: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()
