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
from flux.memory.journal import remove_leftovers
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
    def __init__(self, system: Any, root: str) -> None:
        self.system, self.root = system, root.rstrip("/")

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
    if "://" not in destination:
        folder = Path(destination).expanduser().resolve()
        _copy_to_folder(root, folder)
        return Dir(str(folder))
    try:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem
    except ImportError:
        raise MemoryStoreError(f"Copies to {destination} need fsspec: pip install fsspec.") from None
    try:
        system, place = url_to_fs(destination)
        if not isinstance(system, LocalFileSystem):
            _mirror(root, _RemoteDestination(system, place))
            return Dir(destination)
    except Exception as error:  # each kind of storage has errors of its own
        raise MemoryStoreError(
            f"The store cannot be copied to {destination}: {str(error).rstrip('.') or type(error).__name__}. Check the "
            "address and its credentials, and copy again."
        ) from error
    _copy_to_folder(root, Path(place).resolve())
    return Dir(destination)


def _copy_to_folder(root: Path, folder: Path) -> None:
    if folder == root:
        return
    if root in folder.parents or folder in root.parents:
        raise MemoryStoreError(f"{folder} and the store's folder {root} contain each other. Choose another folder.")
    if folder.is_dir():
        remove_leftovers(folder)
    _mirror(root, _LocalDestination(folder))


def _mirror(root: Path, target: _Destination) -> None:
    found = sorted(_files(root), key=lambda path: path == paths.MESSAGES)
    for path in found:
        target.put(root / path, path)
    present = set(found)
    for name in target.names(tree.META):
        path = tree.path_of_meta(name)
        if path not in present and tree.is_file_path(path):
            target.remove(path)
            target.remove(f"{tree.META}/{name}")


def _files(root: Path) -> Iterator[str]:
    """Paths of all files of a store, its own ones included; without symbolic links and temporary files."""
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            place = Path(folder, name)
            if place.is_file() and not place.is_symlink() and not files.is_temporary(name):
                yield place.relative_to(root).as_posix()
