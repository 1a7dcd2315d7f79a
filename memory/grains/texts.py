"""What counts as a storable text, and when two texts say the same."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from itertools import groupby

from fluxcore import config
from fluxcore.canonical_json import refuse_surrogates
from fluxcore.errors import Invalid

# White space, controls and zero-width characters: a text of nothing else says nothing. Also in the OpenAPI document.
BLANK = r"\u0000-\u0020\u007f-\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_VISIBLE = re.compile(f"[^{BLANK}]")
# Controls and half characters, and what hides or reorders the words beside it: in no session, speaker or tag.
HIDDEN = r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_HIDDEN = re.compile(rf"[{HIDDEN}\ud800-\udfff]")


def check_text(text: object, *, name: str = "content") -> str:
    """The text as given, or a refusal. It is stored and returned byte for byte."""
    text = check_readable(text, name=name)
    limit = config.current().MAX_GRAIN_BYTES
    if len(text.encode()) > limit:
        raise Invalid(f"{name} is longer than {limit} bytes. Split it into several memories.", field=name, limit=limit)
    return text


def check_readable(text: object, *, name: str) -> str:
    """A text of any length that says something and that every database can hold, or a refusal."""
    if not isinstance(text, str):
        raise Invalid(f"{name} must be a text.", field=name)
    if "\0" in text:
        # PostgreSQL cannot hold it and SQLite would cut the text there: the same verdict on both.
        raise Invalid(f"{name} contains a NUL character.", field=name)
    refuse_surrogates(text, name=name)
    if _VISIBLE.search(text) is None:
        raise Invalid(f"{name} is empty.", field=name)
    return text


def is_visible(name: str) -> bool:
    """Whether there is something to read in a name and nothing hidden in it."""
    return _HIDDEN.search(name) is None and _VISIBLE.search(name) is not None


def digest(text: str) -> str:
    """Equal up to Unicode composition and white space; anything else is another statement."""
    if not unicodedata.is_normalized("NFC", text):
        text = _composed(text)
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def new_salt() -> str:
    return secrets.token_hex(16)


def salted(digest: str, salt: str) -> str:
    """A digest for the audit chain, which keeps it for ever: without the salt nobody can find a text by guessing."""
    return hashlib.sha256(f"{salt}{digest}".encode()).hexdigest()


def _composed(text: str) -> str:
    """NFC. Marks are put in order here, because the library orders a run of them by insertion:
    a long run in a bad order would keep it busy for seconds."""
    marks = [
        (unicodedata.combining(character), character)
        for given in text
        for character in unicodedata.normalize("NFD", given)
    ]
    runs = (
        sorted(run, key=lambda mark: mark[0]) if combining else run
        for combining, run in groupby(marks, key=lambda mark: mark[0] > 0)
    )
    return unicodedata.normalize("NFC", "".join(character for run in runs for _, character in run))
