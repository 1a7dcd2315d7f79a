"""Content types of files: given by the writer, or by the ending of the path and the first bytes."""

from __future__ import annotations

import codecs
import mimetypes
import re

from fluxcore.errors import Invalid

TEXT, BINARY, JSON = "text/plain", "application/octet-stream", "application/json"
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
_KNOWN = mimetypes.MimeTypes(filenames=())  # Python's own table: the machine's differs from machine to machine
for _ending, _type in (
    (".md", "text/markdown"),
    (".jsonl", "application/jsonl"),
    (".yaml", "application/yaml"),
    (".yml", "application/yaml"),
    (".toml", "application/toml"),
    (".ts", "text/typescript"),
    (".rs", "text/rust"),
    (".go", "text/go"),
    (".sql", "application/sql"),
):
    _KNOWN.add_type(_type, _ending)


def check_type(given: str) -> str:
    """A content type without parameters; texts are always UTF-8."""
    name = given.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(name):
        raise Invalid("content_type must be like text/markdown, without parameters.", field="content_type")
    return name


def type_of(path: str, beginning: bytes) -> str:
    """The type by the ending of a path, if the content can have it; else text or bytes."""
    guessed = _KNOWN.guess_type(path.rpartition("/")[2], strict=False)[0]
    text = is_text(beginning)
    if guessed is not None and (text or not is_text_type(guessed)):
        return guessed
    return TEXT if text else BINARY


def kept_or_guessed(kept: str | None, path: str, beginning: bytes) -> str:
    """The type of new bytes without a given one: that of the file as long as they can have it."""
    if kept and (is_text(beginning) or not is_text_type(kept)):
        return kept
    return type_of(path, beginning)


def is_text(beginning: bytes) -> bool:
    """Whether bytes are UTF-8 without NUL, the last character possibly cut off."""
    if b"\0" in beginning:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return False
    return True


def is_text_type(content_type: str) -> bool:
    return content_type.startswith("text/") or content_type in (JSON, "application/jsonl", "application/yaml")


def may_be_text(content_type: str) -> bool:
    """Whether a search looks into such a file: all but pictures, sound, video and unknown bytes."""
    return is_text_type(content_type) or (content_type.startswith("application/") and content_type != BINARY)
