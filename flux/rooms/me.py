"""An agent's own affairs: what it is and holds, and asking a person for more."""

from __future__ import annotations

from flux.answers import AskedGrant, AskedGrants, Me
from flux.core import CallArguments, call


class OwnCalls:
    @call("GET", "me")
    def me(self) -> CallArguments[Me]:
        """Who this token is, how far it is trusted, what it holds at this moment."""
        return CallArguments()

    @call("GET", "grant-requests")
    def list_grant_requests(self, state: str | None = None, limit: int | None = None) -> CallArguments[AskedGrants]:
        """What this agent asked for, newest first, with the answers."""
        return CallArguments(query={"state": state, "limit": limit})

    @call("POST", "grant-requests")
    def ask_for_grant(
        self, capability: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[AskedGrant]:
        """Ask a person for a capability."""
        return CallArguments({"capability": capability, "reason": reason, "idempotency_key": idempotency_key})
