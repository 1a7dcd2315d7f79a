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


def lowest(*lineage: str | int) -> str:
    """Authority of anything derived: the minimum over all it comes from, each an origin or its position in AUTHORITY.

    Every room that makes a memory out of others, or takes one over from elsewhere, asks here.
    """
    return AUTHORITY[max(RANK[one] if isinstance(one, str) else one for one in lineage)]


def capped(claimed: str | None, *, ceiling: str) -> str:
    """The origin an import gets: as claimed, lowered to the ceiling, and `unknown` where nobody claims anything."""
    if claimed is None:
        return "unknown"
    if claimed not in RANK:
        raise Invalid(f"provenance must be one of {', '.join(AUTHORITY)}.", field="provenance")
    return lowest(claimed, ceiling)


def bind(claimed: str | None, *, ceiling: str) -> str:
    """The origin a statement gets: as claimed, never above the token's ceiling."""
    if claimed is None:
        return lowest(DEFAULT, ceiling)
    if claimed not in CLAIMABLE:
        raise Invalid(f"provenance must be one of {', '.join(CLAIMABLE)}.", field="provenance")
    if RANK[claimed] < RANK[ceiling]:
        raise OriginAboveCeiling(
            f"The maximum provenance of this token is {ceiling}; the memory claims {claimed}. Nothing was stored.",
            ceiling=ceiling,
        )
    return claimed
