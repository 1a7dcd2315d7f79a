"""Messages of a transcript as cards: who said it, its text as Markdown, and its other parts folded."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from dashboard import code_lines, markdown_html
from dashboard.store_pages import moment
from fluxcore.visible_text import visible_lines

MAX_TEXT = 8_000  # characters of a message on a page of many
MAX_PART = 4_000  # characters of a folded part
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system"}
_SAID = ("role", "content", "name", "speaker", "session", "session_id", "timestamp", "created_at", "at", "time")
_TEXTS = ("text", "input_text", "output_text", "content")


@dataclass(frozen=True)
class MessagePart:
    """A folded part of a message, such as a tool call or an attachment."""

    title: str
    shown: SafeString


@dataclass
class MessageCard:
    seq: int
    role: str
    side: str  # user, assistant, system or tool: how the card looks
    speaker: str
    session: str
    said_at: Any
    by: str
    actor: str
    marked: bool = False
    text: SafeString | None = None
    cut: bool = False
    folded: str = ""  # title of the text, if it is folded too
    parts: list[MessagePart] = field(default_factory=list)


def card(one: dict[str, Any], *, marked: bool = False, whole: bool = False) -> MessageCard:
    """A message as `transcripts.stored_message` returns it; with `whole` nothing of it is left out."""
    message, role = one["message"], one["role"] or ""
    found = MessageCard(
        one["seq"],
        role or "message",
        _ROLES.get(role.casefold(), "tool"),
        one["speaker"],
        one["session"],
        moment(one["said_at"] or one["at"]),
        one["by"],
        one["actor"],
        marked,
    )
    texts, found.parts = _parts(message, whole)
    text = "\n\n".join(texts)
    found.cut = not whole and len(text) > MAX_TEXT
    if text:
        shown = text if whole else text[:MAX_TEXT]
        is_plain = not markdown_html.is_renderable(shown)
        found.text = code_lines.html_block(shown, "") if is_plain else markdown_html.render(shown)
    if role in ("tool", "function") and text:
        found.folded = visible_lines(f"Answer of {message.get('name') or 'a tool'}")
    return found


def _parts(message: dict[str, Any], whole: bool) -> tuple[list[str], list[MessagePart]]:
    """What a message says, and everything else it has."""
    texts, parts = list[str](), list[MessagePart]()
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        text = part if isinstance(part, str) else _text_of(part)
        if text is not None:
            texts.append(text)
        elif part is not None:
            kind = part.get("type") if isinstance(part, dict) else None
            parts.append(_part(_title(kind, part), part, whole))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function", call) if isinstance(call, dict) else call
        name = function.get("name") if isinstance(function, dict) else None
        parts.append(_part(f"Tool call: {name}" if isinstance(name, str) else "Tool call", function, whole))
    listed = ("tool_calls",) if isinstance(calls, list) else ()
    other = {name: value for name, value in message.items() if name not in (*_SAID, *listed)}
    if other:
        parts.append(_part("Other fields", other, whole))
    return texts, parts


def _text_of(part: Any) -> str | None:
    """The text of a part that is nothing but text."""
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "input_text", "output_text"):
        return None
    return next((part[name] for name in _TEXTS if isinstance(part.get(name), str)), None)


def _title(kind: Any, part: Any) -> str:
    if kind == "tool_use":
        return f"Tool call: {str(part.get('name', ''))[:80]}"
    if kind == "tool_result":
        return "Answer of a tool"
    return f"Attachment: {kind[:40]}" if isinstance(kind, str) else "Attachment"


def _part(title: str, value: Any, whole: bool) -> MessagePart:
    text = _readable(value)
    if not whole and len(text) > MAX_PART:
        text = f"{text[:MAX_PART]} …"
    return MessagePart(visible_lines(title[:120]), code_lines.html_block(text, "JSON"))


def _readable(value: Any) -> str:
    """A value as indented JSON; arguments of a call, which are JSON in a string, are read first."""
    if isinstance(value, dict) and isinstance(value.get("arguments"), str):
        try:
            value = {**value, "arguments": json.loads(value["arguments"])}
        except (ValueError, RecursionError):
            pass
    return _indented(value)


def source(message: dict[str, Any]) -> SafeString:
    """A message as JSON, as it was stored."""
    return code_lines.html_block(_indented(message), "JSON")


def _indented(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return code_lines.pretty_json(text) or text
