"""Arguments and answer fields that several of these tools share."""

from __future__ import annotations

from typing import Any

from accounts.verbs import MAX_REASON
from fluxcore.errors import Invalid
from fluxcore.writes.idempotency import MAX_KEY
from mcp_bridge import compact, schemas
from mcp_bridge.schemas import record, text, whole
from memory.grains.models import Grain

STATUS = Grain.Status.values
BUDGET = whole(
    f"Approximate maximum size of the answer in tokens. Default {compact.USUAL_TOKENS}.",
    low=compact.FEWEST_TOKENS,
    high=compact.MOST_TOKENS,
)
REASON = text("Reason, recorded in the audit chain.", longest=MAX_REASON)
KEY = text("Calls repeated with the same key take effect once.", longest=MAX_KEY)
ERROR = record(("code", "message"), code=text(), message=text(), details=schemas.anything())


def pick_given(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """The arguments of these names that were given."""
    return {name: given[name] for name in names if name in given}


def write_options(given: dict[str, Any]) -> dict[str, Any]:
    """Reason and idempotency key of a write."""
    for name in ("reason", "idempotency_key"):
        if "\0" in given.get(name, ""):
            raise Invalid(f"{name} must be a text without NUL.", field=name)
    return {"reason": given.get("reason") or "", "idempotency_key": given.get("idempotency_key")}
