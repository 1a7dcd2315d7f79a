"""Arenas on disk: plain arrays that every process maps copy-on-write, so that they share the pages.

`arenas/<space>/<generation>/` in the data home holds one .npy file per array, with room behind the rows, and
`meta.json`, which says what they are. A folder is written under another name and renamed, so it is whole or
not there. It is only ever a copy: at any doubt it is left aside and the arena is built from SQL.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import uuid
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
from fluxcore.files import make_folder, new_file
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
# Bytes at both ends of a file that are compared on opening: a disk that lost its last writes shows there.
_ENDS = 1 << 16
_ABANDONED_SECONDS = 3600.0


class UntrustedFiles(Exception):
    """The files cannot be trusted; the message says why."""


def newest_generation(space: int) -> int:
    """The highest generation on disk; 0 if there is none."""
    return max(_generations(space), default=0)


def write_generation(arena: Arena) -> int:
    """Keep the arena as a new generation and let the older ones go; the generation."""
    with arena.following, arena.gate.reading():
        generation = newest_generation(arena.space) + 1
        target = _home(arena.space) / f"{generation:08d}"
        aside = _home(arena.space) / f".{generation:08d}-{uuid.uuid4().hex[:8]}"
        make_folder(aside)
        try:
            held = {name: _write(aside / f"{name}.npy", array) for name, array in _arrays(arena.index).items()}
            _write_meta(aside / META, arena, generation, held)
            aside.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    tidy(arena.space)
    return generation


def open_newest(space: int, encoder: str) -> Arena | None:
    """The arena as it was written, brought to the end of the log; None if it must be built."""
    for _ in range(2):
        generation = newest_generation(space)
        if not generation:
            return None
        try:
            return _open(space, generation, encoder)
        except FileNotFoundError:
            continue  # a newer one took its place this moment
        except Error:
            raise  # the database's trouble, not the files'
        except Exception as error:
            log.info(
                "the files of space %d are not used: %s",
                space,
                error if isinstance(error, UntrustedFiles) else error_place(error),
            )
            return None
    return None


def tidy(space: int) -> None:
    """Remove all generations but the newest, and what a killed process left half written.

    Another process may still have them mapped: on Linux its pages stay, elsewhere the removal fails
    and the next one tries again.
    """
    for generation in sorted(_generations(space))[:-1]:
        shutil.rmtree(_home(space) / f"{generation:08d}", ignore_errors=True)
    for left in _home(space).glob(".*"):
        if left.stat().st_mtime < clock.seconds() - _ABANDONED_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def remove_generations(space: int) -> None:
    """Forget the files of a space."""
    shutil.rmtree(_home(space), ignore_errors=True)


def _home(space: int) -> Path:
    return Path(settings.HOME.arenas) / str(space)


def _generations(space: int) -> list[int]:
    try:
        return [int(path.name) for path in _home(space).iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return []


def _arrays(index: Index) -> dict[str, NDArray[Any]]:
    """Everything an index holds, merged, with room behind the rows."""
    capacity = grain_rows.capacity_for(index.size)
    found: dict[str, NDArray[Any]] = {}
    for name, column in index.columns.items():
        found[f"columns.{name}"] = np.concatenate((column[: index.size], np.zeros(capacity - index.size, column.dtype)))
    found |= {f"postings.{name}": array for name, array in index.postings.arrays().items()}
    found |= {f"graph.{name}": array for name, array in index.graph.arrays().items()}
    if index.dense is not None:
        size, held = index.dense.size, index.dense
        # Built again: its bits are cut at the mean of all that is here now.
        dense = Dense.build(held.data[:size], held.scale[:size], held.has[:size], capacity)
        if size >= LISTED_ROWS:
            dense.build_ivf()
        found |= {f"dense.{name}": array for name, array in dense.arrays().items()}
    found["speakers.key"] = np.array(list(index.speakers), np.uint64)
    found["speakers.count"] = np.array([len(terms) for terms in index.speakers.values()], np.int32)
    found["speakers.terms"] = np.array([term for terms in index.speakers.values() for term in terms], np.uint64)
    return found


def _index(arrays: dict[str, NDArray[Any]], size: int) -> Index:
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
        {key: tuple(found.tolist()) for key, found in speakers},
    )


def _open(space: int, generation: int, encoder: str) -> Arena:
    folder = _home(space) / f"{generation:08d}"
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
    arrays = {name: _map(folder / f"{name}.npy", said) for name, said in meta["arrays"].items()}
    arena = Arena(space, _index(arrays, meta["size"]), position, meta["encoder"], generation=generation)
    arena.teach([VoteRow(*row) for row in queries.read_votes(space)])
    arena.attune(queries.read_attunement(space))
    arena.exploring = queries.is_exploring(space)
    if not _complete(arena):
        raise UntrustedFiles("it does not hold as many grains as the database")
    return arena


def _complete(arena: Arena) -> bool:
    """Whether it has a row for each grain. Somebody may be storing right now: looked at before and after the count."""
    for _ in range(2):  # twice: something may be purged in between
        if not coherence.catch_up(arena):
            return arena.sound  # far behind: nothing to compare yet
        before = _shown(arena)
        count = queries.count_grains(arena.space)
        if coherence.catch_up(arena) and before <= count <= _shown(arena):
            return True
    return False


def _shown(arena: Arena) -> int:
    return int(np.count_nonzero(arena.index.column("status") != GONE))


def _write(path: Path, array: NDArray[Any]) -> list[Any]:
    """Write an array for good; what `_map` must find."""
    with new_file(path) as file:  # a renamed folder must not hold files that a power failure left empty
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return [array.dtype.str, list(array.shape), path.stat().st_size, _ends(path)]


def _map(path: Path, said: list[Any]) -> NDArray[Any]:
    dtype, shape, size, ends = said
    if path.stat().st_size != size or _ends(path) != ends:
        raise UntrustedFiles(f"{path.name} is not as it was written")
    empty = 0 in shape  # nothing to map
    array: NDArray[Any] = np.load(path, mmap_mode=None if empty else "c", allow_pickle=False)
    if array.dtype.str != dtype or list(array.shape) != shape:
        raise UntrustedFiles(f"{path.name} is another array")
    return array.view(np.ndarray)  # numpy's own class for mapped arrays makes every slice dearer


def _ends(path: Path) -> int:
    with path.open("rb") as file:
        seen = zlib.crc32(file.read(_ENDS))
        file.seek(max(path.stat().st_size - _ENDS, 0))
        return zlib.crc32(file.read(_ENDS), seen)


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
