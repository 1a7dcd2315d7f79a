"""A database's troubles in our words, and what a log may say of an error."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError

from fluxcore.errors import DiskFull, FluxError, StorageUnavailable

log = logging.getLogger(__name__)


def is_connection_lost(line: Any) -> bool:
    """Whether a database connection is lost. A file cannot be; psycopg knows when the server hung up."""
    return bool(getattr(line, "closed", False))


def error_place(error: BaseException) -> str:
    """The class of an error and where it arose; never its text, which may quote a memory."""
    where = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {where[-1].name}" if where else type(error).__name__


def translate(error: BaseException) -> BaseException:
    """A database's words into our table; anything that is not the database's is passed on."""
    if isinstance(error, FluxError) or not isinstance(error, DatabaseError | InterfaceError):
        return error
    words = str(error).lower()
    if "disk is full" in words or "no space left" in words:
        return DiskFull()
    if isinstance(error, OperationalError | InterfaceError):
        log.error("the database refused a write: %s", type(error).__name__)
        return StorageUnavailable(retry_after=2)
    return error
