"""Validation of texts, and digests by which equal texts are found."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from itertools import groupby

from fluxcore import config
from fluxcore.canonical_json import refuse_surrogates
from fluxcore.errors import Invalid

# White space, controls and zero-width characters: a text of these alone is empty. Also in the OpenAPI document.
BLANK = r"\u0000-\u0020\u007f-\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_VISIBLE = re.compile(f"[^{BLANK}]")
# Controls, lone surrogates, and characters that hide or reorder others: not allowed in sessions, speakers or tags.
HIDDEN = r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_HIDDEN = re.compile(rf"[{HIDDEN}\ud800-\udfff]")


def check_text(text: object, *, name: str = "content") -> str:
    """Validate a text, which is stored and returned byte for byte; raises Invalid."""
    text = check_readable(text, name=name)
    limit = config.current().MAX_GRAIN_BYTES
    if len(text.encode()) > limit:
        raise Invalid(f"{name} is longer than {limit} bytes. Split it into several memories.", field=name, limit=limit)
    return text


def check_readable(text: object, *, name: str) -> str:
    """Validate a text of any length: not empty, and such that every database can store it; raises Invalid."""
    if not isinstance(text, str):
        raise Invalid(f"{name} must be a text.", field=name)
    if "\0" in text:
        # PostgreSQL cannot store NUL and SQLite would cut the text there: refused on both.
        raise Invalid(f"{name} contains a NUL character.", field=name)
    refuse_surrogates(text, name=name)
    if _VISIBLE.search(text) is None:
        raise Invalid(f"{name} is empty.", field=name)
    return text


def is_visible(name: str) -> bool:
    """Whether a name has visible characters and no hidden ones."""
    return _HIDDEN.search(name) is None and _VISIBLE.search(name) is not None


def digest(text: str) -> str:
    """Digest of a text, the same for texts that differ only in Unicode composition and white space."""
    if not unicodedata.is_normalized("NFC", text):
        text = _composed(text)
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def new_salt() -> str:
    return secrets.token_hex(16)


def salted(digest: str, salt: str) -> str:
    """Salted digest for the audit chain, which is permanent: without the salt nobody can guess the text."""
    return hashlib.sha256(f"{salt}{digest}".encode()).hexdigest()


def _composed(text: str) -> str:
    """Text in NFC. Combining marks are sorted here, because the library sorts a run of them by insertion:
    a long unsorted run would take seconds."""
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
