"""What counts as a storable text, and when two texts say the same."""

from __future__ import annotations

import hashlib
import unicodedata

from fluxcore import config
from fluxcore.canonical import refuse_surrogates
from fluxcore.errors import Invalid


def check_text(text: object, *, name: str = "content") -> str:
    """The text as given, or a refusal. It is stored and returned byte for byte."""
    if not isinstance(text, str):
        raise Invalid(f"{name} must be a text.", field=name)
    if "\0" in text:
        # PostgreSQL cannot hold it and SQLite would cut the text there: the same verdict on both.
        raise Invalid(f"{name} holds a NUL character.", field=name)
    refuse_surrogates(text, name=name)
    if not text.strip():
        raise Invalid(f"{name} is empty.", field=name)
    limit = config.current().MAX_GRAIN_BYTES
    if len(text.encode()) > limit:
        raise Invalid(f"{name} is longer than {limit} bytes. Split it into several grains.", field=name, limit=limit)
    return text


def digest(text: str) -> str:
    """Equal up to Unicode composition and white space; anything else is another statement."""
    return hashlib.sha256(" ".join(unicodedata.normalize("NFC", text).split()).encode()).hexdigest()
