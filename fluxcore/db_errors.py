"""Database errors translated to our errors, and the parts of an error that may be logged."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError

from fluxcore.errors import DiskFull, FluxError, StorageUnavailable

log = logging.getLogger(__name__)


def is_connection_lost(line: Any) -> bool:
    """Whether a database connection is lost. SQLite's never is; psycopg knows when the server closed it."""
    return bool(getattr(line, "closed", False))


def error_place(error: BaseException) -> str:
    """The class of an error and the function that raised it; never its text, which may quote a memory."""
    where = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {where[-1].name}" if where else type(error).__name__


def translate(error: BaseException) -> BaseException:
    """Our error for a database error; other errors are returned unchanged."""
    if isinstance(error, FluxError) or not isinstance(error, DatabaseError | InterfaceError):
        return error
    words = str(error).lower()
    if "disk is full" in words or "no space left" in words:
        return DiskFull()
    if isinstance(error, OperationalError | InterfaceError):
        log.error("the database refused a write: %s", type(error).__name__)
        return StorageUnavailable(retry_after=2)
    return error
