"""Atomic file writing: files are written under a temporary name, synced to the disk, then renamed. Without Django.

A kill leaves only files with names of `temporary_path`, which are never read and which `remove_leftovers` deletes. New
files are readable only by their owner unless the caller sets another mode.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fluxcore import clock

FILE_MODE = 0o600
FOLDER_MODE = 0o700
LEFTOVER = ".part"
_TEMPORARY = re.compile(rf"\..{{1,32}}\.[0-9a-f]{{16}}{re.escape(LEFTOVER)}", re.DOTALL)


def replace_file(path: Path, content: bytes | str, *, mode: int = FILE_MODE, durable: bool = True) -> None:
    """Replace the content of a file. Text is written as UTF-8 with its line ends unchanged.

    Without `durable` the disk is not waited for: other processes see all or nothing, a power failure may lose it.
    """
    with replacing_file(path, mode=mode, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing_file(path: Path, *, mode: int = FILE_MODE, durable: bool = True) -> Iterator[IO[bytes]]:
    """Temporary file that is renamed to `path` when the block ends, and deleted after an exception."""
    temporary = temporary_path(path)
    try:
        with new_file(temporary, mode=mode, durable=durable) as file:
            yield file
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def create_file(path: Path, content: bytes | str) -> bool:
    """Create a file; False if it exists already. Of several concurrent writers one succeeds."""
    temporary = temporary_path(path)
    try:
        with new_file(temporary) as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.link(temporary, path)  # atomic as a rename, but does not replace a file
        sync_folder(path.parent)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Temporary folder, to be filled with `new_file`, that is renamed to `path` when the block ends, and synced.

    Raises OSError if a folder of that name exists and is not empty.
    """
    temporary = temporary_path(path)
    make_folder(temporary)
    try:
        yield temporary
        sync_folder(temporary)
        temporary.rename(path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path, *, mode: int = FILE_MODE, durable: bool = True) -> Iterator[IO[bytes]]:
    """Create a file that must not exist yet and sync it to the disk when the block ends. For temporary names."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE), "w+b") as file:
        yield file
        file.flush()
        if mode != FILE_MODE:
            path.chmod(mode)
        if durable:
            os.fsync(file.fileno())


def private(name: str, flags: int) -> int:
    """Opener for `open` that creates files readable only by their owner."""
    return os.open(name, flags, FILE_MODE)


def temporary_path(path: Path) -> Path:
    """A new hidden name in the folder of the file."""
    return path.with_name(f".{path.name[:32]}.{secrets.token_hex(8)}{LEFTOVER}")


def is_temporary(name: str) -> bool:
    """Whether a name is one of `temporary_path`. Others that end in `.part` are files of somebody."""
    return _TEMPORARY.fullmatch(name) is not None


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, readable only by their owner."""
    missing = [path, *path.parents]
    for folder in reversed([folder for folder in missing if not folder.exists()]):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, without which a new name in it can be lost in a power failure."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows cannot open folders and does not need this
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, *, older_than_seconds: float) -> int:
    """Remove temporary files of killed writers in this folder; younger ones may be in use. Returns their number."""
    removed, newest = 0, clock.seconds() - older_than_seconds
    for path in folder.glob(f".*{LEFTOVER}"):
        try:
            if is_temporary(path.name) and path.stat().st_mtime <= newest:
                path.unlink()
                removed += 1
        except FileNotFoundError:
            continue  # its writer has finished, or another process removed it
    return removed
