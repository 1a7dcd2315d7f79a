"""The administration's pages of people, agents and what they did; importing registers them, in this order."""

from __future__ import annotations

from accounts.pages import people, members, entries, spaces, agents, tokens, grants, work, chain  # isort: skip

__all__ = ["agents", "chain", "entries", "grants", "members", "people", "spaces", "tokens", "work"]
