"""Source text as lines of HTML: escaped, with classes for syntax where the language is known.

The text is of agents and of anybody they read. Nothing of it becomes HTML, and characters that hide or reorder others
are shown by their code points.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class
from pygments.token import Token

from fluxcore.visible_text import visible_lines

MAX_HIGHLIGHTED = 128 * 1024  # characters of a text with syntax classes; a longer one is shown without
MAX_LINE = 1_000  # characters of a line, with whose square the time of some lexers grows; longer ones have no classes
MAX_PRETTY = 1024 * 1024  # characters of JSON with its indentation, which deep nesting multiplies
# Languages by the ending of a path and by their name in Markdown. Few: each is code that reads hostile text.
_LANGUAGES = {
    "Python": ("py", "pyi", "python"),
    "JSON": ("json", "jsonl", "ipynb"),
    "YAML": ("yaml", "yml"),
    "TOML": ("toml",),
    "INI": ("ini", "cfg", "conf", "properties"),
    "JavaScript": ("js", "mjs", "cjs", "jsx", "javascript"),
    "TypeScript": ("ts", "tsx", "typescript"),
    "HTML": ("html", "htm", "xhtml"),
    "XML": ("xml", "svg"),
    "CSS": ("css",),
    "Bash": ("sh", "bash", "zsh", "shell"),
    "SQL": ("sql",),
    "Go": ("go",),
    "Rust": ("rs", "rust"),
    "C": ("c", "h"),
    "C++": ("cpp", "cc", "hpp", "c++"),
    "Java": ("java",),
    "Ruby": ("rb", "ruby"),
    "Diff": ("diff", "patch"),
    "Markdown": ("md", "markdown"),
    "Docker": ("dockerfile",),
}
_BY_NAME = {name: language for language, names in _LANGUAGES.items() for name in names}
# Classes of flux's style sheet, by kind of token; a kind without one takes that of the kind above it.
_CLASSES: dict[Any, str] = {
    Token.Comment: "tok-comment",
    Token.Keyword: "tok-keyword",
    Token.Name.Tag: "tok-keyword",
    Token.Name.Attribute: "tok-name",
    Token.Name.Function: "tok-name",
    Token.Name.Class: "tok-name",
    Token.Name.Decorator: "tok-name",
    Token.Name.Builtin: "tok-builtin",
    Token.Literal.String: "tok-string",
    Token.Literal.Number: "tok-number",
    Token.Generic.Heading: "tok-keyword",
    Token.Generic.Subheading: "tok-keyword",
    Token.Generic.Inserted: "tok-added",
    Token.Generic.Deleted: "tok-removed",
    Token.Generic.Emph: "tok-string",
    Token.Generic.Strong: "tok-name",
}


def language_of(name: str) -> str:
    """The language of a file or of a code block; empty if it is none that is highlighted."""
    last = name.rpartition("/")[2].lower()
    return _BY_NAME.get(last.rpartition(".")[2], "")


def html_lines(text: str, language: str) -> list[SafeString]:
    """Each line of a text as HTML."""
    lines = visible_lines(text).removesuffix("\n").split("\n")
    if not language or len(text) > MAX_HIGHLIGHTED or max(map(len, lines)) > MAX_LINE:
        return [escape(line) for line in lines]
    found = [mark_safe("".join(parts)) for parts in _lines_of_tokens(lines, language)]  # noqa: S308  parts are escaped
    # A lexer that drops or adds lines would move the numbers of all lines below.
    return found if len(found) == len(lines) else [escape(line) for line in lines]


def html_block(text: str, language: str) -> SafeString:
    """A code block as HTML, without line numbers."""
    return mark_safe("\n".join(html_lines(text, language)))  # noqa: S308  every line is escaped


def pretty_json(text: str) -> str | None:
    """A JSON text with one value in a line; None if it is not JSON, or too large with its indentation."""
    parts, size = list[str](), 0
    try:
        for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text)):
            parts.append(part)
            size += len(part)
            if size > MAX_PRETTY:
                return None
    except (ValueError, RecursionError):
        return None
    return "".join(parts)


def _lines_of_tokens(lines: list[str], language: str) -> Iterator[list[str]]:
    parts = list[str]()
    for kind, text in _lexer(language).get_tokens("\n".join(lines)):
        css = _class_of(kind)
        first, *others = text.split("\n")
        if first:
            parts.append(_part(first, css))
        for part in others:
            yield parts
            parts = [_part(part, css)] if part else []
    yield parts


def _part(text: str, css: str) -> str:
    return f'<span class="{css}">{html.escape(text)}</span>' if css else html.escape(text)


@cache
def _lexer(language: str) -> Lexer:
    found = find_lexer_class(language)
    if found is None:
        raise ValueError(f"unknown language: {language}")
    return found(stripnl=False, ensurenl=False)


@cache
def _class_of(kind: Any) -> str:
    while kind is not None:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""
