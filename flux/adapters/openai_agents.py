"""`Session` of the OpenAI Agents SDK on the transcript of a store.

Each session is a store whose key is the session's id; it is created with the first item. Items come back as they were
added, and removed ones can be restored (`AsyncFluxClient.restore_messages`). It needs no import of the SDK, which asks
for the methods alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import uuid4

from flux import errors
from flux.client import AsyncFluxClient

PAGE = 1000  # messages that one call reads or adds


class OpenAISession:
    """Conversation of an agent of the OpenAI Agents SDK; the same methods and results as its `SQLiteSession`."""

    def __init__(self, session_id: str, client: AsyncFluxClient, session_settings: Any = None) -> None:
        """`session_settings` are the SDK's `SessionSettings`: their limit is the default of `get_items`."""
        self.session_id, self.client, self.session_settings = session_id, client, session_settings

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The newest items, oldest first; all of them without a limit."""
        wanted = limit if limit is not None else getattr(self.session_settings, "limit", None)
        found, before, total = list[Any](), None, 1
        # Pages from the end: what others add meanwhile moves none of them.
        while len(found) < (total if wanted is None or wanted < 0 else min(total, wanted)):
            asked = PAGE if wanted is None or wanted < 0 else min(PAGE, wanted - len(found))
            try:
                page = await self.client.read_messages(self.session_id, before=before, limit=asked)
            except errors.NotFound:
                break
            if not page["messages"]:
                break
            found[:0] = [one["message"] for one in page["messages"]]
            before, total = page["messages"][0]["seq"], page["total"]
        return found

    async def add_items(self, items: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> None:
        """Add items. Adding them again with the same key adds nothing; without one each call adds."""
        # A key of the server is one of the agent, so that the session is part of it.
        key = sha256(f"{self.session_id}\n{idempotency_key or uuid4()}".encode()).hexdigest()
        for first in range(0, len(items), PAGE):
            part = [dict(item) for item in items[first : first + PAGE]]
            await self.client.append_messages(self.session_id, part, create=True, idempotency_key=f"{key}-{first}")

    async def pop_item(self) -> Any:
        """Remove the newest item and return it; None if there is none."""
        try:
            removed = await self.client.pop_messages(self.session_id)
        except errors.NotFound:
            return None
        return removed["messages"][0]["message"] if removed["messages"] else None

    async def clear_session(self) -> None:
        """Remove all items."""
        try:
            await self.client.clear_messages(self.session_id)
        except errors.NotFound:
            return
