"""Field types with their checks. Pairs such as ("pattern", ...) put the same rule into the JSON schema."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from flux.calls.rules import (
    MAX_GLOB,
    MAX_IDEMPOTENCY_KEY,
    MAX_KEY,
    MAX_LOCK_SECONDS,
    MAX_NOTE,
    MAX_REASON,
    MAX_TTL_SECONDS,
    MAX_VERSION,
    normal_key,
)

NAME = r"^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$"
# Control characters are excluded here; `normal_key` also refuses unassigned ones.
KEY_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f]+$"
LINE_PATTERN = r"^[^\u0000-\u001f\u007f]*$"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_STORABLE = re.compile(r"[\x00\ud800-\udfff]")  # PostgreSQL stores no NUL, and no database half a character


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"one line of at most {MAX_NOTE} characters")
    return text


def _storable(text: str) -> str:
    if _NOT_STORABLE.search(text):
        raise ValueError("a text without NUL and halves of characters")
    return text


def _without_controls(text: str) -> str:
    if _CONTROL.search(text) or _NOT_STORABLE.search(text):
        raise ValueError("a text without control characters")
    return text


def matches(pattern: str, words: str) -> AfterValidator:
    """Validator of a text by pattern. `words` complete the sentence "FIELD is ..."."""
    matches = re.compile(pattern).match

    def check(text: str) -> str:
        if matches(text) is None:
            raise ValueError(words)
        return text

    return AfterValidator(check)


def _at_most(most: int) -> AfterValidator:
    """Validator of a number of seconds: above 0 and at most `most`."""

    def check(seconds: float) -> float:
        if not 0 < seconds <= most:
            raise PydanticCustomError("seconds", "more than 0 and at most {limit} seconds", {"limit": most})
        return seconds

    return AfterValidator(check)


STORABLE, ONE_LINE = AfterValidator(_storable), AfterValidator(_without_controls)
Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), ("pattern", KEY_PATTERN), AfterValidator(normal_key)]
Number = Annotated[
    Annotated[float, Field(allow_inf_nan=False)] | int, Field(ge=-MAX_VERSION, le=MAX_VERSION)
]  # an int is not turned into a float
Note = Annotated[str, Field(max_length=MAX_NOTE), ("pattern", r"^[\x20-\x7e]*$"), AfterValidator(_one_line)]
Reason = Annotated[str, Field(max_length=MAX_REASON), ("pattern", r"^[^\u0000]*$"), STORABLE]
IdempotencyKey = Annotated[str, Field(max_length=MAX_IDEMPOTENCY_KEY), ("pattern", r"^[\x20-\x7e]+$")]
TaskId = Annotated[str, ("format", "uuid")]
Glob = Annotated[str, Field(min_length=1, max_length=MAX_GLOB)]
Version = Annotated[int, Field(ge=1, le=MAX_VERSION)]
VersionOrNone = Annotated[int, Field(ge=0, le=MAX_VERSION)]
Seconds = Annotated[float, ("exclusiveMinimum", 0), ("maximum", MAX_TTL_SECONDS), _at_most(MAX_TTL_SECONDS)]
LockSeconds = Annotated[float, ("exclusiveMinimum", 0), ("maximum", MAX_LOCK_SECONDS), _at_most(MAX_LOCK_SECONDS)]
Name = Annotated[
    str,
    ("pattern", NAME),
    matches(NAME, "a name of 1-64 of a-z, 0-9, '_' and '-', beginning and ending with a letter or digit"),
]
_PLACE = NAME.replace("^", "^(?:agents|boards)/", 1)
Place = Annotated[str, ("pattern", _PLACE), matches(_PLACE, "agents/NAME or boards/NAME")]
_DIGITS = "^[0-9]{1,18}$"
Cursor = Annotated[str, ("pattern", _DIGITS), matches(_DIGITS, "next_cursor of the previous page")]
# The number of a file, and if the page ended inside of it also version, byte, line, and whether the line was found.
_PLACE_IN_FILE = r"^[0-9]{1,18}(\.[0-9]{1,18}){0,4}$"
SearchCursor = Annotated[str, ("pattern", _PLACE_IN_FILE), matches(_PLACE_IN_FILE, "next_cursor of the previous page")]
_SHA256 = "^([0-9a-f]{64})?$"
Sha256 = Annotated[str, ("pattern", _SHA256), matches(_SHA256, "a SHA-256 in hex, or empty for no such key")]
