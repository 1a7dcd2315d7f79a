"""Logging of all processes: one line per record, or JSON, with rotation; never with memory text or tokens.

No code passes content to a logger. As a second protection the formatter masks anything that looks like one of our
tokens and keeps every record on one line.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import re
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="-")

TOKEN = re.compile(r"flux_[A-Za-z0-9]{8}_[A-Za-z0-9_-]{20,}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


# Django logs the path of a request it refuses; the path of an enrolment link is secret.
_LINK = re.compile(r"/enrol/[^\s/?#]+")


def one_line(text: str) -> str:
    masked = _LINK.sub("/enrol/***", TOKEN.sub("flux_***", text))
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match.group()):02x}", masked)


class QuietFormatter(logging.Formatter):
    """Formatter that logs an exception's class and place, not its text, which may quote a memory."""

    def formatException(self, ei: Any) -> str:
        frames = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(ei[2])]
        return f"{ei[0].__name__ if ei[0] else 'no error'} at {' < '.join(reversed(frames)) or '?'}"


class LineFormatter(QuietFormatter):
    """Formatter of lines like `2026-11-16T04:30:00.123Z INFO memory.api [request id] message`."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message = f"{message} | {self.formatException(record.exc_info)}"
        return f"{_moment(record)} {record.levelname} {record.name} [{request_id.get()}] {one_line(message)}"


class JSONFormatter(QuietFormatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": _moment(record),
            "level": record.levelname,
            "logger": record.name,
            "request_id": request_id.get(),
            "message": one_line(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = one_line(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class PrivateFileHandler(logging.handlers.WatchedFileHandler):
    """Handler that creates the log file readable only by its owner."""

    def _open(self) -> Any:
        return open(
            self.baseFilename,
            self.mode,
            encoding=self.encoding,
            errors="backslashreplace",
            opener=lambda path, flags: os.open(path, flags, 0o600),
        )


def configuration(*, file: Path | None, as_json: bool, level: str) -> dict[str, Any]:
    handlers: dict[str, dict[str, Any]] = {"stderr": {"class": "logging.StreamHandler", "formatter": "flux"}}
    if file is not None:
        handlers["file"] = {
            # Several processes write one file. The watched handler reopens it after `rotate`;
            # a rotating handler in each process would lose lines.
            "class": "fluxsite.logs.PrivateFileHandler",
            "filename": str(file),
            "formatter": "flux",
            "encoding": "utf-8",
            "delay": True,
        }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"flux": {"()": "fluxsite.logs.JSONFormatter" if as_json else "fluxsite.logs.LineFormatter"}},
        "handlers": handlers,
        "root": {"handlers": ["file"] if file is not None else ["stderr"], "level": level},
        "loggers": {
            "django.request": {"level": "ERROR"},
            # Messages of the server libraries are of interest only as warnings.
            "uvicorn": {"level": "WARNING"},
            "celery": {"level": "WARNING"},
            "kombu": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
        },
    }


def rotate(file: Path, *, max_bytes: int = 20 * 1024 * 1024, keep: int = 5) -> bool:
    """Rotate a log that has reached `max_bytes` to flux.log.1 … flux.log.N; called once a minute by the sweep."""
    try:
        if file.stat().st_size < max_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(keep - 1, 0, -1):
        older = file.with_name(f"{file.name}.{number}")
        if older.exists():
            older.replace(file.with_name(f"{file.name}.{number + 1}"))
    file.replace(file.with_name(f"{file.name}.1"))
    return True
