"""Storage backends of blobs: a folder of the data home, or any address fsspec knows (`s3://bucket/prefix`, ...).

A backend stores bytes under names and knows nothing of digests. A file is visible only after `take` has finished.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fluxcore import files
from fluxcore.errors import BadConfiguration, DiskFull, FluxError, StorageUnavailable

# Bytes of one upload or download that are in memory at a time, whatever the size of the blob.
BLOCK_BYTES = 5 * 1024 * 1024  # the smallest part that S3 takes
_FULL = (errno.ENOSPC, errno.EDQUOT)


class StoredFile(NamedTuple):
    """Name, size and time of writing of a file in a backend."""

    name: str
    size: int
    at: datetime


class Readable(Protocol):
    """An open file with the methods that readers of blobs use."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class BlobBackend(Protocol):
    """What stores the files of blobs."""

    # Whether `take` writes to a temporary name beside the final one and renames it. A kill leaves NAME.STAGED.part.
    moves: bool

    def info(self, name: str) -> StoredFile | None: ...

    def take(self, staged: Path, name: str) -> None:
        """Store the staged file under that name in one step, replacing an older file. May move `staged` away."""
        ...

    def open(self, name: str, start: int) -> Readable | None: ...

    def remove(self, name: str) -> None: ...

    def folders(self) -> Sequence[str]:
        """Names of the folders at the top."""
        ...

    def list(self, folder: str) -> Iterator[StoredFile]: ...


class FolderBackend:
    """Backend in a local folder: files 0600, folders 0700, everything synced to the disk before it is visible."""

    moves = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def __str__(self) -> str:
        return str(self.root)

    def info(self, name: str) -> StoredFile | None:
        with storage_errors(self):
            try:
                return _stored_file(name, (self.root / name).stat())
            except FileNotFoundError:
                return None

    def take(self, staged: Path, name: str) -> None:
        target = self.root / name
        with storage_errors(self):
            files.make_folder(target.parent)
            os.utime(staged)  # the age of the blob counts from its storing
            staged.replace(target)
            files.sync_folder(target.parent)

    def open(self, name: str, start: int) -> Readable | None:
        with storage_errors(self):
            try:
                file = (self.root / name).open("rb")
            except FileNotFoundError:
                return None
            file.seek(start)
            return file

    def remove(self, name: str) -> None:
        with storage_errors(self):
            (self.root / name).unlink(missing_ok=True)

    def folders(self) -> Sequence[str]:
        with storage_errors(self):
            try:
                return [path.name for path in self.root.iterdir() if path.is_dir()]
            except FileNotFoundError:
                return []

    def list(self, folder: str) -> Iterator[StoredFile]:
        with storage_errors(self):
            for path in (self.root / folder).rglob("*"):
                try:
                    if path.is_file() and not path.name.startswith("."):
                        yield _stored_file(path.relative_to(self.root).as_posix(), path.stat())
                except FileNotFoundError:
                    continue  # removed since it was listed


class FsspecBackend:
    """Backend in an object store or file system behind fsspec, whose library reads credentials from the environment."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            import fsspec

            protocol = fsspec.core.split_protocol(self.url)[0] or "file"
            self._fs, self._root = fsspec.core.url_to_fs(self.url, **_OPTIONS.get(protocol, {}))
        except ImportError as error:
            raise BadConfiguration(
                f"{self.url} needs a package that is not installed ({error.name or error}). "
                "For S3: pip install 'flux-memory[s3]'."
            ) from None
        except ValueError as error:
            raise BadConfiguration(f"{self.url} is not a supported storage address: {error}.") from None
        self.moves = protocol not in _WHOLE_OR_ABSENT
        self._uploading = _UPLOADING.get(protocol, {})

    def __str__(self) -> str:
        return self.url

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _fresh(self) -> Any:
        """A listing that is remembered would hide what another process has stored or removed."""
        self._fs.invalidate_cache()
        return self._fs

    def info(self, name: str) -> StoredFile | None:
        with storage_errors(self):
            try:
                found = self._fresh().info(self._path(name))
            except FileNotFoundError:
                return None
            return StoredFile(name, int(found["size"] or 0), _written_at(self._fs, found))

    def take(self, staged: Path, name: str) -> None:
        with storage_errors(self):
            path = self._path(name)
            if self.moves:
                self._move_in(staged, path)
            else:
                self._fs.put_file(str(staged), path, **self._uploading)
        stored = self.info(name)
        if stored is None or stored.size != staged.stat().st_size:
            raise StorageUnavailable(f"{self} did not store the whole file. Nothing was stored; try again.")

    def _move_in(self, staged: Path, path: str) -> None:
        temporary = f"{path}.{staged.name}"
        self._fs.makedirs(self._fs._parent(path), exist_ok=True)
        try:
            self._fs.put_file(str(staged), temporary)
            self._fs.mv(temporary, path)
        except BaseException:
            with suppress(Exception):  # the storage failed, which is told; what is left is swept
                self._fs.rm_file(temporary)
            raise

    def open(self, name: str, start: int) -> Readable | None:
        with storage_errors(self):
            try:
                file: Any = self._fs.open(self._path(name), "rb", block_size=BLOCK_BYTES)
                file.seek(start)
            except FileNotFoundError:
                return None
        return _RemoteFile(file, self)

    def remove(self, name: str) -> None:
        with storage_errors(self):
            try:
                self._fs.rm_file(self._path(name))
            except FileNotFoundError:
                pass

    def folders(self) -> Sequence[str]:
        with storage_errors(self):
            try:
                found = self._fresh().ls(self._root, detail=True)
            except FileNotFoundError:
                return []
        return [one["name"].rstrip("/").rpartition("/")[2] for one in found if one["type"] == "directory"]

    def list(self, folder: str) -> Iterator[StoredFile]:
        with storage_errors(self):
            try:
                found = self._fresh().find(self._path(folder), detail=True)
            except FileNotFoundError:
                return
        skip = len(self._root) + 1
        for path, info in found.items():
            yield StoredFile(path[skip:], int(info["size"] or 0), _written_at(self._fs, info))


class _RemoteFile:
    """A remote file whose failures are raised as our errors."""

    def __init__(self, file: Readable, backend: FsspecBackend) -> None:
        self._file, self._backend = file, backend

    def read(self, size: int) -> bytes:
        with storage_errors(self._backend):
            return self._file.read(size)

    def close(self) -> None:
        self._file.close()


# No retries inside one call.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "use_listings_cache": False,
        "config_kwargs": {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 1}},
    },
}
_UPLOADING: dict[str, dict[str, Any]] = {"s3": {"chunksize": BLOCK_BYTES, "max_concurrency": 1}}
# Protocols of stores that show an upload only when it is complete. In others an upload is moved to its name.
_WHOLE_OR_ABSENT = ("s3", "gs", "gcs", "abfs", "az", "memory")


def backend_at(url: str, folder: Path) -> BlobBackend:
    """The backend of that address; the folder where the address is empty."""
    if not url:
        return FolderBackend(folder)
    local = local_folder(url)
    return FsspecBackend(url) if local is None else FolderBackend(local)


def local_folder(url: str) -> Path | None:
    """The folder that a file:// or local:// address names; None for any other address."""
    protocol, separator, path = url.partition("://")
    return Path(path) if separator and protocol in ("file", "local") else None


def _stored_file(name: str, stat: os.stat_result) -> StoredFile:
    return StoredFile(name, stat.st_size, datetime.fromtimestamp(stat.st_mtime, UTC))


def _written_at(fs: Any, info: dict[str, Any]) -> datetime:
    """Time a file was written, by the clock of its store."""
    at = info.get("LastModified") or info.get("last_modified") or info.get("created")
    if at is None:
        modified: Callable[[str], datetime] = fs.modified
        at = modified(info["name"])
    if not isinstance(at, datetime):
        at = datetime.fromtimestamp(float(at), UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


@contextmanager
def storage_errors(backend: BlobBackend) -> Iterator[None]:
    """What a disk raises, or the library of an object store, as one of our errors. A mistake in code stays one."""
    try:
        yield
    except FluxError:
        raise
    except Exception as error:
        if isinstance(error, OSError) or _of_library(error):
            raise storage_error(error, backend) from error
        raise


def _of_library(error: Exception) -> bool:
    """Libraries of object stores raise errors of their own classes (botocore, aiohttp, gcsfs, azure, paramiko)."""
    return type(error).__module__ != "builtins"


def storage_error(error: Exception, backend: BlobBackend) -> FluxError:
    """Our error for a failed storage, without the text of the library, which may contain addresses."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return DiskFull()
    return StorageUnavailable(
        f"The storage at {backend} failed ({type(error).__name__}). Nothing was stored; try again.", retry_after=2
    )
