"""Messages, digests and capabilities for tests of MemoryStore."""

from __future__ import annotations

import hashlib

ALL = ("artifacts.read", "artifacts.write", "transcript.read", "transcript.write")


def sha(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def said(store: object) -> list[str]:
    return [message["content"] for message in store.messages]  # type: ignore[attr-defined]
