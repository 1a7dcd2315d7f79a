"""Client methods about the calling agent: its identity, capabilities and grant requests."""

from __future__ import annotations

from flux.answers import AskedGrant, AskedGrants, Me
from flux.core import CallArguments, call


class OwnCalls:
    @call("GET", "me")
    def me(self) -> CallArguments[Me]:
        """The token's agent, its trust level, maximum provenance and present capabilities."""
        return CallArguments()

    @call("GET", "grant-requests")
    def list_grant_requests(self, state: str | None = None, limit: int | None = None) -> CallArguments[AskedGrants]:
        """List this agent's grant requests and their answers, newest first."""
        return CallArguments(query={"state": state, "limit": limit})

    @call("POST", "grant-requests")
    def ask_for_grant(
        self, capability: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[AskedGrant]:
        """Ask a person for a capability."""
        return CallArguments({"capability": capability, "reason": reason, "idempotency_key": idempotency_key})
