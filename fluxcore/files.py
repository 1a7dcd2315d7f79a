"""Files that are whole or absent: written aside, brought to the disk, then renamed. Without Django.

Whatever a kill leaves behind is a hidden file that ends in `.part`; nobody reads those, and `remove_leftovers` takes
them away. New files are readable by their owner alone unless the caller says otherwise.
"""

from __future__ import annotations

import os
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


def replace_file(path: Path, content: bytes | str, *, mode: int = FILE_MODE, durable: bool = True) -> None:
    """Put the content in the place of whatever the file held. A text is written as UTF-8, its line ends as they are.

    Without `durable` nobody waits for the disk: other processes see all or nothing, a power failure may take it away.
    """
    with replacing_file(path, mode=mode, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing_file(path: Path, *, mode: int = FILE_MODE, durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which gets its name when the block ends well; after an exception there is nothing new."""
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
    """The file with that content if there is none of its name yet, else False. Of several writers one wins."""
    temporary = temporary_path(path)
    try:
        with new_file(temporary) as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.link(temporary, path)  # unlike a rename it does not replace, and like one it shows all or nothing
        sync_folder(path.parent)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill with `new_file`, which gets its name when the block ends well, and is then on the disk.

    A folder of that name that has anything in it stays, and the new one is refused with an OSError.
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
    """A file that must not exist yet, on the disk when the block ends. For names nobody else looks at."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE), "w+b") as file:
        yield file
        file.flush()
        if mode != FILE_MODE:
            path.chmod(mode)
        if durable:
            os.fsync(file.fileno())


def private(name: str, flags: int) -> int:
    """An opener for `open`: what it makes is its owner's alone."""
    return os.open(name, flags, FILE_MODE)


def temporary_path(path: Path) -> Path:
    """A hidden name beside the file that nothing else has."""
    return path.with_name(f".{path.name[:32]}.{secrets.token_hex(8)}{LEFTOVER}")


def make_folder(path: Path) -> None:
    """The folder and those above it that are missing, each for its owner alone."""
    missing = [path, *path.parents]
    for folder in reversed([folder for folder in missing if not folder.exists()]):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """A new name is only there for good when its folder has been written to the disk too."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows does not open folders, and does not need this
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, *, older_than_seconds: float) -> int:
    """Remove what killed writers left in this folder; younger files may still be written to. How many there were."""
    removed, newest = 0, clock.seconds() - older_than_seconds
    for path in folder.glob(f".*{LEFTOVER}"):
        try:
            if path.stat().st_mtime <= newest:
                path.unlink()
                removed += 1
        except FileNotFoundError:
            continue  # its writer has finished, or another sweep was here
    return removed
