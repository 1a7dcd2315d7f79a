"""Markdown of agents as HTML that cannot run anything, load anything or look like a part of the page.

Raw HTML stays text. Links lead to http, https and mail addresses, or to files of the same store; links of any other
kind stay as they were written. Pictures are shown only from the same store; of others the address is a link.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import unquote

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from dashboard import code_lines
from fluxcore.visible_text import visible_lines

MAX_RENDERED = 128 * 1024  # characters; a longer text is shown as source
_BRACKETS, _CHARACTERS_EACH = 200, 16  # brackets that a text may have, and characters for each one more
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_OUTSIDE = ("http://", "https://", "mailto:")
_BLOCKS = ("paragraph_open", "heading_open", "fence", "code_block", "tr_open")
# Address of a file or picture of the same store, by the path as the Markdown has it; None if there can be none.
Resolve = Callable[[str], str | None]


def render(
    text: str, *, link: Resolve | None = None, picture: Resolve | None = None, marked: tuple[int, int] | None = None
) -> SafeString:
    """A text as HTML; `marked` are lines, from 1, whose blocks get a mark."""
    env: MutableMapping[str, Any] = {"link": link or _nowhere, "picture": picture or _nowhere}
    tokens = _parser().parse(visible_lines(text), env)
    if marked is not None:
        _mark(tokens, *marked)
    html = str(_parser().renderer.render(tokens, _parser().options, env))
    return mark_safe(visible_lines(html))  # noqa: S308  as said above; entities may have hidden characters, too


def is_renderable(text: str) -> bool:
    """Whether a text is rendered in moderate time: every bracket may begin a link, and is tried as one."""
    return len(text) <= MAX_RENDERED and text.count("[") <= _BRACKETS + len(text) // _CHARACTERS_EACH


def resolved(base: str, target: str) -> str | None:
    """The path of a file that a file refers to; None if it is outside of the store, or no path."""
    path = unquote(target.partition("#")[0].partition("?")[0])
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(base), path.lstrip("/") if path[:1] == "/" else path))
    return None if not path or joined.startswith("..") or "\0" in joined else joined


class SafeRenderer(RendererHTML):
    """Renderer with links, pictures, code and tables of our own."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        href = str(tokens[idx].attrs.get("href", ""))
        if href.lower().startswith(_OUTSIDE):
            return format_html('<a href="{}" rel="noopener noreferrer nofollow" class="outside">', href)
        address = env["link"](href) if not href.startswith("#") else None
        return format_html('<a href="{}">', address) if address else "<a>"

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        source = str(tokens[idx].attrs.get("src", ""))
        alt = self.renderInlineAsText(tokens[idx].children or [], options, env)
        address = None if _SCHEME.match(source) or source.startswith("//") else env["picture"](source)
        if address:
            return format_html('<img src="{}" alt="{}" loading="lazy">', address, alt)
        return format_html('<span class="picture">{}{}</span>', f"Picture: {alt} " if alt else "Picture ", source)

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        language = code_lines.language_of(words[0]) if words else ""
        return self._block(tokens[idx], language)

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        return self._block(tokens[idx], "")

    def _block(self, token: Token, language: str) -> str:
        marks = self.renderAttrs(token)
        return f'<pre tabindex="0"{marks}><code>{code_lines.html_block(token.content, language)}</code></pre>\n'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        return f'<div class="scrolls" tabindex="0"><table{self.renderAttrs(tokens[idx])}>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        return "</table></div>\n"


def _nowhere(path: str) -> None:
    return None


def _is_allowed(address: str) -> bool:
    """Whether a link may be one. The parser has decoded entities and escapes, so this sees what a browser would."""
    return not address.startswith("//") and (
        _SCHEME.match(address) is None or address.strip().lower().startswith(_OUTSIDE)
    )


def _aligned(state: Any) -> None:
    """Alignment of table cells as a class: the page allows no style attributes."""
    for token in state.tokens:
        style = str(token.attrs.pop("style", ""))
        if style.startswith("text-align:"):
            token.attrs["class"] = f"align-{style.removeprefix('text-align:')}"


def _mark(tokens: Sequence[Token], first: int, last: int) -> None:
    """Mark the smallest blocks that have some of these lines; the first one is the place a link can jump to."""
    found, item = list[Token](), None
    for token in tokens:
        item = token if token.type == "list_item_open" else item
        if token.type in _BLOCKS and token.map is not None and token.map[0] < last and token.map[1] >= first:
            # The paragraph of a list without empty lines has no element of its own.
            found.append(item if token.hidden and item is not None else token)
    for number, token in enumerate(found):
        token.attrs["class"] = "marked"
        if number == 0:
            token.attrs["id"] = f"L{first}"


_made: list[MarkdownIt] = []


def _parser() -> MarkdownIt:
    if not _made:
        parser = MarkdownIt("commonmark", {"html": False, "linkify": False}, renderer_cls=SafeRenderer)
        parser.enable(["table", "strikethrough"])
        parser.validateLink = _is_allowed  # type: ignore[method-assign,assignment]
        parser.core.ruler.push("aligned", _aligned)
        _made.append(parser)
    return _made[0]
