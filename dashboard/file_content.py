"""What the page of a file shows of its content: text in lines, Markdown, JSON, a picture, or nothing."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from accounts.principals import Principal
from dashboard import code_lines, markdown_html
from dashboard.store_pages import address
from memory.artifacts import content_types, reading

LINES = 2_000  # of a text on one page
RENDERED, SOURCE = "rendered", "source"
MAX_PICTURE = 16 * 1024 * 1024
# Pictures that browsers show and that cannot hold a program, by the bytes they begin with.
_PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


@dataclass(frozen=True)
class ShownLine:
    number: int
    html: SafeString
    marked: bool


@dataclass
class ShownContent:
    """A content as a page shows it. Exactly one of lines, rendered and picture is there, or none of them."""

    kind: str  # text, markdown, json, picture or binary
    view: str = SOURCE
    lines: list[ShownLine] = field(default_factory=list)
    rendered: SafeString | None = None
    picture: bool = False
    total: int | None = None  # lines of the whole text, if known
    more: bool = False  # whether lines follow those shown
    cut: str = ""  # sentence about what is not shown
    notes: list[str] = field(default_factory=list)

    @property
    def first(self) -> int:
        return self.lines[0].number if self.lines else 0

    @property
    def last(self) -> int:
        return self.lines[-1].number if self.lines else 0


def shown(
    me: Principal,
    found: dict[str, Any],
    *,
    store: str,
    version: int | None = None,
    view: str = "",
    first: int | None = None,
    last: int | None = None,
    start: int | None = None,
) -> ShownContent:
    """The content of a file that was read, as its page shows it, with the lines `first` to `last` marked."""
    path, kind = found["path"], found["content_type"]
    if "base64" in found:
        data = base64.b64decode(found["base64"])
        if found["bytes"] <= MAX_PICTURE and picture_type(data) == kind:
            return ShownContent("picture", picture=True)
        if not content_types.is_text_type(kind):
            return ShownContent("binary")
    elif "\0" in found["text"] and not content_types.is_text_type(kind):
        return ShownContent("binary")
    marks = (first, max(first, last or first)) if first is not None else None
    whole = found["text"] if "text" in found and not found["truncated"] else None
    if whole is not None and view != SOURCE:
        rendered = _rendered(found, whole, store, marks, view)
        if rendered is not None:
            return rendered
    content = ShownContent(_kind(found))
    begin = start or (max(1, first - first % LINES) if first is not None and first > LINES else 1)
    if whole is not None:
        lines = code_lines.html_lines(whole, code_lines.language_of(path)) if whole else []
        content.total, numbered = len(lines), lines[begin - 1 : begin - 1 + LINES]
    else:
        numbered = _window(me, content, found, store=store, version=version, begin=begin)
        if "base64" in found:
            content.notes.append("This file is not valid UTF-8. Bytes that are not text are shown as �.")
    content.lines = [
        ShownLine(number, html, marks is not None and marks[0] <= number <= marks[1])
        for number, html in enumerate(numbered, begin)
    ]
    content.more = content.total is None or content.last < content.total
    if content.kind == "markdown" and view != SOURCE:
        content.notes.append("This file is too large or too involved to be rendered, so its source is shown.")
    return content


def _kind(found: dict[str, Any]) -> str:
    kind = found["content_type"]
    return "markdown" if kind == "text/markdown" else "json" if kind == content_types.JSON else "text"


def _rendered(
    found: dict[str, Any], text: str, store: str, marks: tuple[int, int] | None, view: str
) -> ShownContent | None:
    kind = _kind(found)
    if kind == "markdown" and markdown_html.is_renderable(text):
        path = found["path"]

        def leads(page: str, target: str) -> str | None:
            where = markdown_html.resolved(path, target)
            return address(page, store, where) if where else None

        html = markdown_html.render(
            text,
            link=lambda target: leads("file", target),
            picture=lambda target: leads("file-picture", target),
            marked=marks,
        )
        return ShownContent(kind, RENDERED, rendered=html)
    # Lines are those of the source, so a citation of JSON shows the source.
    pretty = code_lines.pretty_json(text) if kind == "json" and (marks is None or view == RENDERED) else None
    if pretty is None:
        return None
    return ShownContent(kind, RENDERED, rendered=code_lines.html_block(pretty, "JSON"))


def _window(
    me: Principal, content: ShownContent, found: dict[str, Any], *, store: str, version: int | None, begin: int
) -> list[SafeString]:
    """Some lines of a text that is too large for one answer, or is not valid UTF-8."""
    path = found["path"]
    part = reading.read_file(
        me, store=store, path=path, first=begin, last=begin + LINES - 1, **({"version": version} if version else {})
    )
    content.total = part.get("lines")
    text = part["text"]
    if not text and begin == 1:
        text = found.get("text", "")
        content.cut = "Only the beginning of this file is shown: its first line is very long."
    return code_lines.html_lines(text, code_lines.language_of(path)) if text else []


def picture_type(data: bytes) -> str:
    """The type of a picture by its first bytes; empty if it is none that pages show."""
    for kind, beginnings in _PICTURES.items():
        if data.startswith(beginnings) and (kind != "image/webp" or data[8:12] == b"WEBP"):
            return kind
    return ""
