"""Keys of the items of LangGraph's store: a folder, the labels of the namespace and the name, with slashes between."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote, unquote

from flux.calls.rules import MAX_KEY

_PLAIN = re.compile(r"[\w .~-]", re.ASCII)


def key_of(folder: str, names: Iterable[str]) -> str:
    """The key of an item, or of a namespace with an empty last name."""
    key = "/".join([folder, *map(_escaped, names)])
    if len(key) > MAX_KEY:
        raise ValueError(
            f"Namespace and key take {len(key)} characters as a key of the server. At most {MAX_KEY} are allowed, with "
            f"the folder, slashes and escapes. Shorten them, for example by a digest of the longest."
        )
    return key


def names_of(folder: str, key: str) -> tuple[str, ...]:
    return tuple(map(unquote, key.removeprefix(f"{folder}/").split("/")))


def pattern_below(key: str) -> str:
    """The pattern of all keys that begin with this one."""
    return re.sub(r"([*\\])", r"\\\1", key) + "**"


def _escaped(name: str) -> str:
    """The name with what a key cannot have percent-encoded; letters of any script take one character each.

    The server keeps keys in Unicode's form NFC, so that a name in another form is escaped as a whole.
    """
    kept = "".join(char if _is_kept(char) else quote(char, safe="") for char in name)
    return kept if unicodedata.is_normalized("NFC", kept) else quote(name, safe=" ")


def _is_kept(char: str) -> bool:
    """Whether a key has it as it is: visible characters, of ASCII some."""
    if char.isascii():
        return _PLAIN.match(char) is not None
    return unicodedata.category(char)[0] not in "CZ"
