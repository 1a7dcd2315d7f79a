"""Exceptions of MemoryStore, and the translation of the server's refusals into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fluxcore.errors import Conflict, FluxError, Forbidden


class MemoryStoreError(RuntimeError):
    """A store refused a call, or could not be reached. The first error is its `__cause__`."""


class AccessDenied(MemoryStoreError):
    """The path is reserved or read-only, or the token may not do this."""


class ConcurrencyError(MemoryStoreError):
    """The file is not as `expected_sha` says: somebody wrote it meanwhile."""

    def __init__(self, path: str, expected_sha: str, actual_sha: str) -> None:
        super().__init__(
            f"{path!r} was changed by somebody else: expected sha {expected_sha!r}, actual sha {actual_sha!r}. Read it "
            "again, then write with the actual sha."
        )
        self.path, self.expected_sha, self.actual_sha = path, expected_sha, actual_sha

    def __reduce__(self) -> tuple[type[ConcurrencyError], tuple[str, str, str]]:
        return type(self), (self.path, self.expected_sha, self.actual_sha)


@contextmanager
def translated() -> Iterator[None]:
    """Raise refusals of the block, and failures of a folder, as exceptions of MemoryStore."""
    try:
        yield
    except FluxError as error:
        raise _translation(error) from error
    except IsADirectoryError:
        raise  # as flyte: somebody reads a folder
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise MemoryStoreError(f"The folder of the store failed:{where}: {error.strerror or error}.") from error


def _translation(error: FluxError) -> MemoryStoreError:
    details = error.details
    if type(error) is Conflict and "expected_sha" in details:
        # The server names the digest only to those who may read the file.
        return ConcurrencyError(details["path"], details["expected_sha"], details.get("current_sha", "unknown"))
    return (AccessDenied if isinstance(error, Forbidden) else MemoryStoreError)(error.message)
