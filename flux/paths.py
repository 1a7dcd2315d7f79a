"""Rules of paths and names in stores: which a file may have, which are reserved, which a prefix protects.

Server, client and local stores use the same rules, so this module needs nothing of Django. A path either comes
back byte for byte as it was given or is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote, unquote_to_bytes

from flux import look_alikes
from fluxcore.errors import InvalidPath, ReservedPath
from fluxcore.files import is_temporary

MAX_PATH = 1024  # bytes in UTF-8
MAX_NAME = 255  # bytes of a key in UTF-8
MAX_READINGS = 16  # forms of a name that differ when its escapes are decoded again and again
MESSAGES = "messages.json"
RESERVED = (MESSAGES, "audit", "meta", "versions")  # first names that a store keeps for itself
DEFAULT = "default"  # project and domain of a store that names none
NAMESPACE, LAYOUT = "agents/memory-store", "v0"  # of flyte's address of a store

_ONE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_DRIVE = re.compile(r"[A-Za-z]:")
# Controls, formats, surrogates, unassigned and private characters, separators of lines.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
# Characters without a form of their own that a script or emoji may need: joiners, and selectors of variants.
_JOINERS = frozenset("\u200c\u200d")
_SELECTORS = frozenset(map(chr, (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
_UNSEEN = _JOINERS | _SELECTORS
# Formats that are visible: signs above or around the digits or letters that follow.
_NUMBER_SIGNS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
# Invisible letters of a country's part behind a black flag, up to their end, as in the flag of Scotland.
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
# Places that Unicode keeps for pictures, so that those of later versions than Python's are taken.
_PICTURES = range(0x1F000, 0x1FB00)
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5\u2800")
# Look-alikes of slashes that no compatibility form turns into one.
_SLASHES = frozenset("\u2044\u2215\u29f8\u29f9\u2571\u2572\u2216\u29f5\u27cb\u27cd")
# What NFKC makes of ½ and its like has a look-alike of a slash, the character itself does not.
_FRACTIONS = {
    code: unicodedata.normalize("NFKC", chr(code)).replace("\u2044", "-")
    for code in (0xBC, 0xBD, 0xBE, *range(0x2150, 0x2160), 0x2189)
}
_RESERVED_NAME = look_alikes.pattern(RESERVED)


def checked_path(path: str) -> str:
    """The path, if a file may have it."""
    if not isinstance(path, str) or not path:
        raise InvalidPath("Empty path. Name a file, for example notes/today.md.", field="path")
    _check_characters(path, "path", MAX_PATH)
    if "\\" in path:
        raise InvalidPath("The path contains a backslash. Separate names with '/'.", field="path")
    if path.startswith("/") or _DRIVE.match(path):
        raise InvalidPath("The path must be relative: it may not begin with '/' or a drive.", field="path")
    for name in path.split("/"):
        _check_segment(name)
    return path


def writable_path(path: str) -> str:
    """The path, if a caller may write there: none of the names that a store keeps for itself."""
    first = checked_path(path).partition("/")[0]
    # Folders have files with such names only while they are written: a local store, an exported and an imported tree.
    if any(is_temporary(name) for name in path.split("/")):
        raise InvalidPath(
            "A name of the form .NAME.<16 digits>.part is for temporary files. Choose another.", field="path"
        )
    for form in _readings(first):
        if _looks_reserved(form):
            raise ReservedPath(
                f"{first!r} is reserved: a store keeps {', '.join(RESERVED)} for itself. Choose another name.",
                path=path,
            )
    return path


def tidy_path(path: str) -> str:
    """The path as flyte reads it: empty and `.` segments are dropped; then checked like every other."""
    if not isinstance(path, str) or path.startswith("/"):
        return checked_path(path)
    return checked_path("/".join(name for name in path.split("/") if name not in ("", ".")))


def checked_prefix(prefix: str) -> str:
    """A folder in its one form: without a slash at the end; empty for the whole store."""
    prefix = prefix.removesuffix("/")
    return checked_path(prefix) if prefix else ""


def is_under(path: str, prefix: str) -> bool:
    """Whether a prefix covers a path: `memory` covers `memory` and `memory/a`, never `memory_notes`."""
    prefix = prefix.rstrip("/")
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


def protecting(path: str, prefixes: Iterable[str]) -> str | None:
    """The first prefix that covers the path. Case makes no difference: file systems differ in it."""
    folded = path.casefold()
    return next((prefix for prefix in prefixes if is_under(folded, prefix.casefold())), None)


def checked_key(key: str) -> str:
    """The key of a store: one segment of a path, of any script."""
    if not isinstance(key, str) or key in ("", ".", "..") or "/" in key or "\\" in key:
        raise InvalidPath("The key of a store must be a single path segment, not empty, '.' or '..'.", field="key")
    _check_characters(key, "key", MAX_NAME)
    _check_segment(key, "key")
    return key


def checked_name(name: str, what: str) -> str:
    """The name of an organisation, project or domain."""
    if not isinstance(name, str) or not _ONE_NAME.fullmatch(name) or ".." in name:
        raise InvalidPath(
            f"{what} must be 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', beginning and ending with a letter or digit.",
            field=what,
        )
    return name


def remote_path(root: str, org: str, project: str, domain: str, key: str) -> str:
    """Address of a store below a storage root, as flyte computes it."""
    return joined(root, NAMESPACE, LAYOUT, org, project, domain, key)


def storage_root(address: str) -> str:
    """The part of flyte's raw data address that all runs share: a bucket, or a folder without the part of one run."""
    address = address.rstrip("/")
    scheme, found, rest = address.partition("://")
    if found and (bucket := rest.partition("/")[0]):
        return f"{scheme}://{bucket}"
    parts = address.rsplit("/", 2)
    if len(parts) == 3 and parts[2] and parts[1] in ("rd", "raw_data"):
        return parts[0] if parts[1] == "rd" else f"{parts[0]}/raw_data"
    return address


def version_file(path: str, at: datetime, sha: str) -> str:
    """Name of a version of a file in flyte's layout, by path, time to the second and digest."""
    stamp = at.astimezone(UTC).isoformat(timespec="seconds").replace(":", "-")
    return f"versions/{encoded(path)}/{stamp}_{sha}.txt"


def encoded(path: str) -> str:
    """A path as one name: percent-encoded, the slashes too."""
    return quote(path, safe="")


def joined(*parts: str) -> str:
    """Parts of an address joined by single slashes; empty ones are left out, the scheme of the first is kept."""
    present = [part for part in parts if part.strip("/")]
    if not present:
        return ""
    first, *rest = present
    return "/".join([first.rstrip("/"), *(part.strip("/") for part in rest)])


def _check_characters(text: str, what: str, most: int) -> str:
    refused = _refused_in(text)
    if refused is not None:
        raise InvalidPath(
            f"The {what} contains the character U+{ord(refused):04X}, which is invisible or not allowed. Remove it.",
            field=what,
        )
    size = len(text.encode())
    if size > most:
        raise InvalidPath(f"The {what} is too long: {size} bytes, at most {most}.", field=what, limit=most)
    if unicodedata.normalize("NFC", text) != text:
        raise InvalidPath(f"The {what} must be in the Unicode form NFC. Normalize it before sending.", field=what)
    return text


def _refused_in(text: str) -> str | None:
    """The first character of a text that no name may have."""
    return next((char for char in _FLAG.sub("", text) if _is_refused(char)), None)


def _is_refused(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    if char in _UNSEEN or char in _NUMBER_SIGNS or ord(char) in _PICTURES:
        return False
    return unicodedata.category(char) in _REFUSED or char in _INVISIBLE


def _check_segment(name: str, what: str = "path") -> None:
    if not name:
        raise InvalidPath(
            "The path has an empty segment. Use single slashes, none at the beginning or end.", field=what
        )
    if name != name.strip():
        raise InvalidPath(f"The name {name!r} begins or ends with white space. Remove it.", field=what)
    for form in _readings(name):
        if _is_dots(form):
            raise InvalidPath(f"Path traversal is not allowed: {name!r} means another folder.", field=what)
        if "/" in form or "\\" in form or _SLASHES & set(form) or _refused_in(form) is not None:
            raise InvalidPath(f"The name {name!r} contains or looks like a separator of folders.", field=what)


def _is_dots(name: str) -> bool:
    """Whether a name has nothing but dots, as `.`, `..` and their look-alikes."""
    seen = "".join(char for char in name if char not in _UNSEEN)
    return not seen.strip(". \u00b7\u0323\u2027\u30fb\u0701\u0702\u06d4\ua4f8")


def _readings(name: str) -> list[str]:
    """The name as programs may read it: as it is, in its compatibility form, with its escapes decoded, and in turn."""
    found = [name]
    for form in found:  # which grows meanwhile
        for other in (_unescaped(form), unicodedata.normalize("NFKC", form.translate(_FRACTIONS))):
            if other not in found:
                found.append(other)
        if len(found) > MAX_READINGS:
            raise InvalidPath("The path is escaped too many times. Send it without percent escapes.", field="path")
    return found


def _unescaped(name: str) -> str:
    """The name with percent escapes decoded. Bytes that are no UTF-8 read as a separator, so that they are refused."""
    if "%" not in name:
        return name
    try:
        return unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return "/"


def _looks_reserved(name: str) -> bool:
    """Whether a name is a reserved one, in any case, with invisible characters, look-alikes, or dots at its end."""
    visible = "".join(char for char in name if char not in _UNSEEN)
    return _RESERVED_NAME.fullmatch(look_alikes.folded(visible).rstrip(". ")) is not None
