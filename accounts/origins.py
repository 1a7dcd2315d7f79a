"""Who stands behind a statement. Bound at write from the authenticated channel and never raised later."""

from __future__ import annotations

from fluxcore.errors import Invalid, OriginAboveCeiling

# High to low: the later a name, the less may be believed on its word.
AUTHORITY = ("user_confirmed", "user_stated", "ai_stated", "ai_inferred", "external_source", "unknown")
RANK = {name: position for position, name in enumerate(AUTHORITY)}

# What a request body may claim. `user_confirmed` is a human act in the admin, `unknown` marks imports.
CLAIMABLE = ("user_stated", "ai_stated", "ai_inferred", "external_source")
CEILINGS = CLAIMABLE
DEFAULT = "ai_stated"


def capped(claimed: str | None, *, ceiling: str) -> str:
    """The origin an import gets: as claimed, lowered to the ceiling, and `unknown` where nobody claims anything."""
    if claimed is None:
        return "unknown"
    if claimed not in RANK:
        raise Invalid(f"provenance must be one of {', '.join(AUTHORITY)}.", field="provenance")
    return claimed if RANK[claimed] >= RANK[ceiling] else ceiling


def bind(claimed: str | None, *, ceiling: str) -> str:
    """The origin a statement gets: as claimed, never above the token's ceiling."""
    if claimed is None:
        return DEFAULT if RANK[DEFAULT] >= RANK[ceiling] else ceiling
    if claimed not in CLAIMABLE:
        raise Invalid(f"provenance must be one of {', '.join(CLAIMABLE)}.", field="provenance")
    if RANK[claimed] < RANK[ceiling]:
        raise OriginAboveCeiling(
            f"The maximum provenance of this token is {ceiling}; the memory claims {claimed}. Nothing was stored.",
            ceiling=ceiling,
        )
    return claimed
