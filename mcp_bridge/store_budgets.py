"""Answers about files and transcripts within max_tokens: whole lines, whole messages, and how to read on."""

from __future__ import annotations

from typing import Any

import orjson

from mcp_bridge import compact

# A file or a conversation is read on purpose, so it may take more of a model's context than what recall volunteers.
USUAL_TOKENS = 5_000
_OVER_REST = "read it over REST"


def fit_file(answer: dict[str, Any], given: dict[str, Any], budget: int) -> dict[str, Any]:
    """A file, or some of its lines: those that fit, and the number of the next line."""
    if "base64" in answer:
        return _fit_bytes(answer, budget)
    first = given.get("first") or 1
    text, count, is_cut = compact.fit_lines(answer["text"], budget)
    following = first + count
    if is_cut:
        hint = f"Line {first} is cut: it is longer than max_tokens allows"
        following = first + 1
    elif not text and answer["truncated"]:  # the next line is larger than an answer of the server
        hint = f"Line {first} is too long for any answer: {_OVER_REST}"
        following = first + 1
    elif len(text) < len(answer["text"]) or answer["truncated"]:
        hint = "There is more"
    else:
        return answer
    return {
        **answer,
        "text": text,
        "truncated": True,
        "next_first": following,
        "hint": f"{hint}. Read on with first={following}.",
    }


def _fit_bytes(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """A file that is no text: whole or not at all, as nobody can use a part of it."""
    if len(answer["base64"]) <= budget and not answer["truncated"]:
        return answer
    tokens = -(-len(answer["base64"]) // compact.BYTES_PER_TOKEN)
    fits = tokens <= compact.MOST_TOKENS and not answer["truncated"]
    advice = f"give max_tokens={tokens}, or {_OVER_REST}" if fits else _OVER_REST
    rest = {name: value for name, value in answer.items() if name != "base64"}
    return {
        **rest,
        "truncated": True,
        "hint": f"The file is no text, and its {answer['bytes']} bytes do not fit: {advice}.",
    }


def fit_messages(answer: dict[str, Any], given: dict[str, Any], budget: int) -> dict[str, Any]:
    """Messages in order: with `after` the oldest that fit, else the newest. There is at least one."""
    forward = given.get("after") is not None
    kept, left = list[dict[str, Any]](), budget
    for message in answer["messages"] if forward else reversed(answer["messages"]):
        size = len(orjson.dumps(message))
        if size > left:
            if not kept:
                kept.append(_cut(message, budget))
            break
        kept.append(message)
        left -= size
    if not kept or (len(kept) == len(answer["messages"]) and not kept[0].get("cut")):
        return answer
    end = kept[-1]["seq"]
    is_more = len(kept) < len(answer["messages"]) or answer["next_after"] is not None
    found = {**answer, "messages": kept if forward else kept[::-1], "count": len(kept)}
    if forward:
        found["next_after"] = end if is_more else None
    elif is_more:
        found["hint"] = f"Older messages were left out to keep max_tokens. Read on with before={end}."
    return found


def _cut(message: dict[str, Any], budget: int) -> dict[str, Any]:
    """A message that alone is too large, with the beginning of its text."""
    body = message["message"]
    content = body.get("content")
    text = content if isinstance(content, str) else orjson.dumps(body).decode()
    role = {"role": body["role"]} if isinstance(body.get("role"), str) else {}
    size = max(len(orjson.dumps(text)), 1)
    shown = compact.shorten_text(text, budget * len(text.encode()) // size)
    return {**message, "message": {**role, "content": shown}, "cut": True}
