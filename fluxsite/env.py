"""Typed readers for the environment: a value, or a file named by `NAME_FILE` (container secrets)."""

from __future__ import annotations

import os
import re
from pathlib import Path

# All environment variables that processes of an instance or clients read. A test compares the list with the code.
VARIABLES = frozenset(
    {
        "FLUX_ALLOWED_HOSTS",
        "FLUX_BOOTH",
        "FLUX_CHECKPOINTS",
        "FLUX_DOOR",
        "FLUX_DURABILITY",
        "FLUX_ENCODER",
        "FLUX_HOME",
        "FLUX_HTTPS",
        "FLUX_LEASH",
        "FLUX_LIVE_SOCKETS",
        "FLUX_LIVE_SOCKETS_EACH",
        "FLUX_LOG_FILE",
        "FLUX_LOG_JSON",
        "FLUX_LOG_LEVEL",
        "FLUX_MAX_BODY_BYTES",
        "FLUX_MCP_PORT",
        "FLUX_NAME",
        "FLUX_SECRET_KEY",
        "FLUX_STARTED_AS",
        "FLUX_TOKEN",
        "FLUX_URL",
    }
)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
MIN_SECRET_BYTES = 32
MIN_SECRET_CHARACTERS = 10  # number of different characters: a repeated short word is easy to guess


class EnvError(ValueError):
    """An environment variable has an invalid value; the message names it."""


def unread() -> list[str]:
    """Warnings about variables that look like ours and are not read by anything, most likely misspelt."""
    from difflib import get_close_matches

    found = []
    for name in sorted(os.environ):
        known = VARIABLES | {f"{name}_FILE" for name in VARIABLES}
        if name.startswith("FLUX_") and not name.startswith("FLUX_TEST") and name not in known:
            close = get_close_matches(name, sorted(VARIABLES), n=1)
            hint = f" Did you mean {close[0]}?" if close else " Remove it."
            found.append(f"The environment variable {name} has no effect.{hint}")
    return found


def text(name: str, default: str | None = None) -> str | None:
    """The value of NAME, or the stripped content of the file in NAME_FILE."""
    value, path = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if value is not None and path is not None:
        raise EnvError(f"Set {name} or {name}_FILE, not both.")
    if path is not None:
        try:
            content = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise EnvError(f"{name}_FILE points to {path}, which cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise EnvError(f"{name}_FILE points to {path}, which is not UTF-8 text.") from None
        if not content:
            # A secret that was not mounted must not fall back to a default.
            raise EnvError(f"{name}_FILE points to {path}, which is empty.")
        return content
    return default if value is None else value


def secret(name: str) -> str | None:
    """The value of NAME if it is hard to guess: other secrets are encrypted with it."""
    value = text(name)
    if value and (
        len(value.encode()) < MIN_SECRET_BYTES or len(set(value)) < MIN_SECRET_CHARACTERS or _repeats_itself(value)
    ):
        raise EnvError(
            f"{name} is too easy to guess. It needs at least {MIN_SECRET_BYTES} bytes and {MIN_SECRET_CHARACTERS} "
            "different characters, and must not repeat itself. Make one with: openssl rand -base64 48"
        )
    return value or None


def _repeats_itself(value: str) -> bool:
    """Whether it is one piece again and again, the last time perhaps cut off."""
    return any(value.startswith(value[at:]) for at in range(1, len(value) // 2 + 1))


def switch(name: str, default: bool) -> bool:
    """Read a switch, `on` or `off`; anything else is an error, so that a typo cannot change a setting unnoticed."""
    value = text(name)
    if value is None or value == "":
        return default
    if value not in ("on", "off"):
        raise EnvError(f"{name} must be 'on' or 'off', not {value!r}.")
    return value == "on"


def number(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name)
    if value is None or value == "":
        return default
    if not _WHOLE.fullmatch(value):
        raise EnvError(f"{name} must be a whole number, not {value!r}.")
    parsed = int(value)
    if not low <= parsed <= high:
        raise EnvError(f"{name} must be between {low} and {high}, not {parsed}.")
    return parsed


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = text(name) or default
    if value not in allowed:
        raise EnvError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value


def url(name: str, *, schemes: tuple[str, ...]) -> str | None:
    """Read a URL with one of the schemes; None if it is not set. It may contain a password, so no error quotes it."""
    value = text(name)
    if not value:
        return None
    if value.partition("://")[0] not in schemes or not value.partition("://")[2]:
        raise EnvError(f"{name} must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}.")
    return value


def names(name: str) -> list[str]:
    """Read a comma-separated list."""
    return [part.strip() for part in (text(name) or "").split(",") if part.strip()]


def folder_outside(name: str, value: str | None, *, than: Path) -> Path | None:
    """A folder that must not be inside another one; None if none is named. It need not exist."""
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_absolute():
        raise EnvError(f"{name} must be an absolute path, not {value!r}.")
    if Path(os.path.normpath(folder)).is_relative_to(than):
        raise EnvError(f"{name} must be outside the data home {than}.")
    return folder
