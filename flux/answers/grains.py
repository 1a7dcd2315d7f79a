"""Types of answers about grains."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class GrainFields(TypedDict):
    id: str
    content: str
    provenance: str
    decay_class: str
    confidence: float
    origin: str
    authority: str
    status: str
    valid_from: str | None
    valid_to: str | None
    time: str | None
    session: str | None
    speaker: str | None
    tags: list[str]
    pinned: bool
    recorded_at: str


class Stored(TypedDict):
    grain_id: str
    status: str  # stored, corroborated, or (for a text that was removed before) quarantined, pending_deletion
    action: str  # the status by its name in flux-memory: stored_wired or duplicate if it is recalled
    provenance: str
    provenance_claimed: NotRequired[str]  # claim of a caller without a token, if it was lowered
    reason: NotRequired[str]  # why the text is not recalled


class Extracted(Stored):
    extraction: str  # waiting, done, given_up or off


class RestsOn(TypedDict):
    grain_id: str
    begins: int
    ends: int
    quote: str | None
    model: str
    at: str


class ExtractionResult(TypedDict):
    grain_id: str
    extraction: str | None
    problem: str | None
    statements: list[RestsOn]
    rests_on: list[RestsOn]


class ItemError(TypedDict):
    code: str
    message: str
    details: dict[str, Any]


class ItemResult(TypedDict):
    index: int
    grain_id: str | None
    status: str
    action: NotRequired[str]
    provenance: NotRequired[str]
    provenance_claimed: NotRequired[str]
    reason: NotRequired[str]
    error: ItemError | None


class StoredBatch(TypedDict):
    results: list[ItemResult]
    grain_ids: list[str | None]
    count: int
    refused: int


class Grain(GrainFields):
    ordinal: int | None
    writer: str
    label: str
    corroborations: int
    digest: str
    enriched: bool
    content_snippet: str
    created_at: str


class GrainPage(TypedDict):
    grains: list[Grain]
    count: int
    next_cursor: str | None


class Feature(TypedDict):
    kind: str
    feature: str


class OtherGrain(TypedDict):
    id: str
    status: str
    snippet: str | None


class Conduit(TypedDict):
    entry: Feature | None
    grain: OtherGrain | None
    relation: str
    weight: float
    affinity: float
    last_used: str
    use_count: int


Conduits = TypedDict(
    "Conduits",
    {"in": "list[Conduit]", "out": "list[Conduit]"},
)


class EntryLink(Feature):
    weight: float | None
    idf: float | None


class GrainRecall(TypedDict):
    at: str
    place: int
    trace_id: str | None
    query: str | None
    asked_by: str | None
    confidence: float | None


Transition = TypedDict(
    "Transition",
    {
        "at": "str",
        "from": "str",
        "to": "str",
        "why": "str",
        "numbers": "dict[str, float]",
        "by": "str",
        "reason": "str",
    },
)


class Vote(TypedDict):
    at: str
    by: str | None
    vote: float
    implied: bool
    missed: bool
    trace_id: str | None
    query: str | None


class ClusterReference(TypedDict):
    id: str
    name: str


Link = TypedDict(
    "Link",
    {"from": "str", "relation": "str", "to": "str", "depth": "int"},
)


class Lineage(TypedDict):
    chain: list[Link]
    supersedes: list[str]
    superseded_by: list[str]
    same_text: list[str]


class Citation(TypedDict):
    """Where a passage (`path`), a message (`message`) or a value (`place`) is from."""

    store: NotRequired[str]
    reference: NotRequired[str]  # how calls name the store: its key, or its id if its key alone does not name it
    place: NotRequired[str]
    key: str
    path: NotRequired[str]
    version: NotRequired[int]
    first_line: NotRequired[int]
    last_line: NotRequired[int]
    heading: NotRequired[str]
    message: NotRequired[int]
    session: NotRequired[str]
    address: NotRequired[str]  # of a single grain: where REST answers it


class Dossier(Grain):
    kind: str
    citation: NotRequired[Citation]
    conduits: Conduits
    found_by: list[EntryLink]
    recalls: list[GrainRecall]
    transitions: list[Transition]
    votes: list[Vote]
    cluster: ClusterReference | None
    lineage: Lineage


class Pinned(TypedDict):
    grain_id: str
    pinned: bool
    changed: bool


class Closed(TypedDict):
    grain_id: str
    valid_to: str
    changed: bool


class StatusChanged(TypedDict):
    grain_id: str
    before: str
    status: str
    changed: bool
    purged_after: NotRequired[str | None]
    same_text: NotRequired[int]  # number of other grains with the same text that got the status too
