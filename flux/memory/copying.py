"""Copies of a local store, to a folder or to any address that fsspec knows (`s3://bucket/prefix`).

The copy is a mirror: of the files that a store wrote there before, those that are gone here are removed. Files without
facts in `meta/` were written by somebody else and stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flux import paths
from flux.memory import tree
from flux.memory.errors import MemoryStoreError
from fluxcore import files


@dataclass(frozen=True)
class Dir:
    """A folder or address that has a store."""

    path: str

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def __fspath__(self) -> str:
        return self.path


class _Destination(Protocol):
    def put(self, source: Path, path: str) -> None: ...
    def names(self, folder: str) -> list[str]: ...
    def remove(self, path: str) -> None: ...


class _LocalDestination:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, source: Path, path: str) -> None:
        place = self._below_no_link(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as content, files.replacing_file(place) as copy:
            shutil.copyfileobj(content, copy)

    def names(self, folder: str) -> list[str]:
        place = self.folder / folder
        return sorted(one.name for one in place.iterdir()) if place.is_dir() else []

    def remove(self, path: str) -> None:
        self._below_no_link(path).unlink(missing_ok=True)

    def _below_no_link(self, path: str) -> Path:
        place = self.folder
        for name in path.split("/")[:-1]:
            place = place / name
            if place.is_symlink():
                raise MemoryStoreError(f"{place} is a symbolic link. Nothing is copied through it; remove it first.")
        return self.folder / path


class _RemoteDestination:
    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MemoryStoreError(f"Copies to {address} need fsspec: pip install fsspec.") from None
        self.system, root = url_to_fs(address)
        self.root = root.rstrip("/")

    def put(self, source: Path, path: str) -> None:
        place = f"{self.root}/{path}"
        self.system.makedirs(place.rpartition("/")[0], exist_ok=True)
        self.system.put_file(str(source), place)

    def names(self, folder: str) -> list[str]:
        self.system.invalidate_cache()
        try:
            found: list[Any] = self.system.ls(f"{self.root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(str(name).rpartition("/")[2] for name in found)

    def remove(self, path: str) -> None:
        if self.system.exists(f"{self.root}/{path}"):
            self.system.rm_file(f"{self.root}/{path}")


def copy_tree(root: Path, destination: str) -> Dir:
    """Copy a store. The transcript comes last: a copy that has it is whole."""
    if "://" in destination:
        target: _Destination = _RemoteDestination(destination)
    else:
        folder = Path(destination).expanduser().resolve()
        if folder == root:
            return Dir(str(root))
        if root in folder.parents or folder in root.parents:
            raise MemoryStoreError(f"{folder} and the store's folder {root} contain each other. Choose another folder.")
        target, destination = _LocalDestination(folder), str(folder)
    here = sorted(_files(root), key=lambda path: path == paths.MESSAGES)
    for path in here:
        target.put(root / path, path)
    present = set(here)
    for name in target.names(tree.META):
        path = tree.path_of_meta(name)
        if path and path not in present and not tree.is_reserved(path):
            target.remove(path)
            target.remove(f"{tree.META}/{name}")
    return Dir(destination)


def _files(root: Path) -> Iterator[str]:
    """Paths of all files of a store, its own ones included; without symbolic links and what killed writers left."""
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            place = Path(folder, name)
            leftover = name[0] == "." and name.endswith(files.LEFTOVER)
            if place.is_file() and not place.is_symlink() and not leftover:
                yield place.relative_to(root).as_posix()
