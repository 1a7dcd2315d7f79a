"""Origins (provenance) of memories: set at write from the authenticated token and never raised later."""

from __future__ import annotations

from fluxcore.errors import Invalid, OriginAboveCeiling

# All origins, from highest to lowest authority.
AUTHORITY = ("user_confirmed", "user_stated", "ai_stated", "ai_inferred", "external_source", "unknown")
RANK = {name: position for position, name in enumerate(AUTHORITY)}

# Origins a request may claim. `user_confirmed` is set by people in the admin, `unknown` by imports.
CLAIMABLE = ("user_stated", "ai_stated", "ai_inferred", "external_source")
CEILINGS = CLAIMABLE
DEFAULT = "ai_stated"


def lowest(*lineage: str | int) -> str:
    """Lowest of several origins, each a name or its position in AUTHORITY.

    Used wherever a memory is derived from others or imported.
    """
    return AUTHORITY[max(RANK[origin] if isinstance(origin, str) else origin for origin in lineage)]


def capped(claimed: str | None, *, ceiling: str) -> str:
    """Origin of an imported memory: as claimed, limited to the ceiling; `unknown` without a claim."""
    if claimed is None:
        return "unknown"
    if claimed not in RANK:
        raise Invalid(f"provenance must be one of {', '.join(AUTHORITY)}.", field="provenance")
    return lowest(claimed, ceiling)


def bind(claimed: str | None, *, ceiling: str) -> str:
    """Origin of a new memory: as claimed; refused above the token's ceiling."""
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


def of_person_or(claimed: str | None, *, person: bool, ceiling: str) -> str:
    """Origin of a content: what a person writes without a claim is stated by a user; an agent's as `bind` decides."""
    if claimed is None and person:
        return lowest("user_stated", ceiling)
    return bind(claimed, ceiling=ceiling)
