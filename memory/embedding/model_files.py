"""Files built once into the models folder: whole or absent, by one process at a time, checked when they are taken."""

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

_DIGITS = 16
_ABANDONED_SECONDS = 3600.0  # no build takes as long


def build_once(folder: Path, stem: str, build: Callable[[], bytes]) -> Path:
    """The file of that name, built now if it is not there. Its name ends with a digest of what must be in it."""
    found = _sound(folder, stem)
    if found is not None:
        return found
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder):
            found = _sound(folder, stem)  # somebody may have built it while this process waited
            if found is not None:
                return found
            _clear(folder, stem)
            content = build()
            path = folder / f"{stem}.{hashlib.sha256(content).hexdigest()[:_DIGITS]}"
            files.replace_file(path, content)
            return path
    except OSError as error:
        raise EncoderProblem(
            f"{folder} cannot be written ({error.strerror}). Give it to the user that runs the server, or free space."
        ) from error


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_file(path: Path, digest: str) -> Path:
    """The file, once it is known to be the one this code was written for."""
    try:
        found = digest_of(path)
    except OSError as error:
        raise EncoderProblem(f"{path} cannot be read ({error.strerror}). Install its package again.") from error
    if found != digest:
        raise EncoderProblem(f"{path} is not the file its package brought. Install the package again.")
    return path


def _sound(folder: Path, stem: str) -> Path | None:
    for path in sorted(folder.glob(f"{stem}.*")):
        try:
            if digest_of(path)[:_DIGITS] == path.suffix[1:]:
                return path
        except OSError:
            continue  # gone again, or not ours to read
    return None


def _clear(folder: Path, stem: str) -> None:
    """What a killed builder or a bad disk left behind."""
    for path in folder.glob(f"{stem}.*"):
        path.unlink(missing_ok=True)
    files.remove_leftovers(folder, older_than_seconds=_ABANDONED_SECONDS)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """A kill lets go of it."""
    with os.fdopen(os.open(folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
