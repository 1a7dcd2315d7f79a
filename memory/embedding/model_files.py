"""Model files, built once into the models folder by one process at a time, and verified by their digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fluxcore import files
from memory.embedding.encoder import EncoderProblem

try:
    import fcntl
except ImportError:  # Windows: two builders may both build; the last whole file stays
    fcntl = None  # type: ignore[assignment]

_DIGITS = 16  # hex digits of the digest in a file name
_ABANDONED_SECONDS = 3600.0  # no build takes as long


def build_once(folder: Path, stem: str, build: Callable[[], bytes]) -> Path:
    """Path of the file, built now if it does not exist. Its name ends with a digest of its content."""
    path = _find_valid(folder, stem)
    if path is not None:
        return path
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _folder_lock(folder):
            path = _find_valid(folder, stem)  # another process may have built it meanwhile
            if path is not None:
                return path
            _remove_invalid(folder, stem)
            content = build()
            path = folder / f"{stem}.{hashlib.sha256(content).hexdigest()[:_DIGITS]}"
            files.replace_file(path, content)
            return path
    except OSError as error:
        raise EncoderProblem(
            f"{folder} cannot be written ({error.strerror}). Give it to the user that runs the server, or free space."
        ) from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_file(path: Path, digest: str) -> Path:
    """The path, if the file has this digest; raises EncoderProblem otherwise."""
    try:
        found = digest_of(path)
    except OSError as error:
        raise EncoderProblem(f"{path} cannot be read ({error.strerror}). Install its package again.") from error
    if found != digest:
        raise EncoderProblem(f"{path} is not the file its package brought. Install the package again.")
    return path


def _find_valid(folder: Path, stem: str) -> Path | None:
    for path in sorted(folder.glob(f"{stem}.*")):
        try:
            if digest_of(path)[:_DIGITS] == path.suffix[1:]:
                return path
        except OSError:
            continue  # deleted meanwhile, or not readable
    return None


def _remove_invalid(folder: Path, stem: str) -> None:
    """Remove incomplete or corrupt files of this stem."""
    for path in folder.glob(f"{stem}.*"):
        path.unlink(missing_ok=True)
    files.remove_leftovers(folder, older_than_seconds=_ABANDONED_SECONDS)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Lock of the folder between processes, released when the process ends."""
    with os.fdopen(os.open(folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
