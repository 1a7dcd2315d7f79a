"""Formats of imports: one reader per format, detected from the content of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fluxcore.errors import Invalid
from memory.transfer.formats import flux_export, flux_memory, mcp_memory, notes
from memory.transfer.formats.source import Source

READERS: dict[str, Callable[[Path, int], Source]] = {
    "flux": flux_export.read,
    "flux-memory": flux_memory.read,
    "mcp-memory": mcp_memory.read,
    "markdown": notes.read_markdown,
    "text": notes.read_text,
}
FORMAT_TITLES = {
    "flux": "a Flux Memory export",
    "flux-memory": "a flux-memory database",
    "mcp-memory": "an MCP memory file",
    "markdown": "Markdown notes",
    "text": "plain text",
}
_LOOK = 64 * 1024  # bytes of a file from which its format is detected


def read(path: Path, *, format: str | None = None, chunk: int = notes.CHUNK) -> Source:
    """Source of grains from a file or folder, in the given or detected format."""
    if not path.exists():
        raise Invalid(f"{path} does not exist.", field="path")
    if not (path.is_dir() or path.is_file()):
        raise Invalid(f"{path} is neither a file nor a folder.", field="path")
    if format is not None and format not in READERS:
        raise Invalid(f"format must be one of {', '.join(READERS)}.", field="format")
    try:
        return READERS[format or detect_format(path)](path, chunk)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from None


def detect_format(path: Path) -> str:
    """Detect the format of a file from its first bytes; its name decides only between Markdown and plain text."""
    if path.is_dir():
        return "markdown"
    with path.open("rb") as file:
        head = file.read(_LOOK)
    if flux_memory.looks_like(head):
        return "flux-memory"
    if flux_export.looks_like(head):
        return "flux"
    if mcp_memory.looks_like(head):
        return "mcp-memory"
    return "markdown" if path.suffix.lower() in notes.MARKDOWN else "text"
