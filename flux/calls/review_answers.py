"""Answer types of calls on the review queue. Without pydantic, as `flux/calls/answers.py`."""

from typing import Annotated, Literal, NotRequired, TypedDict

from flux.calls.answers import Identifier, Moment
from flux.calls.store_answers import ChangedValue


class ReviewFacts(TypedDict):
    item: Identifier
    kind: Annotated[str, "proposal: a proposed change of a file."]
    title: str
    state: Literal["open", "accepted", "denied", "withdrawn"]
    provenance: Annotated[str, "Provenance of what is proposed."]
    authors: Annotated[list[str], "Everybody who wrote it, oldest first."]
    label: Annotated[str, "Label the newest author gave itself."]
    reason: Annotated[str, "Reason of the newest author."]
    created_at: Moment
    created_by: str
    updated_at: Moment
    updated_by: str
    decided_at: Moment | None
    decided_by: str
    decision_reason: str


class ReviewList(TypedDict):
    items: list[ReviewFacts]
    count: int
    next_cursor: str | None


class ProposedSide(TypedDict):
    sha: Annotated[str, "SHA-256 of the bytes; empty: there is no such file."]
    bytes: int
    content_type: str


class ProposedChange(TypedDict):
    store: Identifier
    store_key: str
    path: Annotated[str, "The path that the change is for."]
    staged: Annotated[str, "The path it is written to until it is decided."]
    old: Annotated[ProposedSide, "The file before: as it is now, or as it was when it was decided."]
    new: Annotated[ProposedSide, "What is proposed, or of an accepted item what was written."]
    base_sha: Annotated[str, "SHA-256 of the file when the change was proposed; empty: there was none."]
    changed_since: Annotated[bool, "Whether the file has changed since the change was proposed."]
    diff: NotRequired[Annotated[str, "Unified diff of two texts; empty if they are equal."]]
    changes: NotRequired[Annotated[list[ChangedValue], "Changed values, if both are JSON."]]
    text: NotRequired[Annotated[str, "The proposed text of an open item."]]
    no_diff: NotRequired[Annotated[str, "Why there is no diff."]]


class ReviewDetails(ReviewFacts):
    seen: NotRequired[Annotated[str, "Names the state that is shown. Give it to accept exactly this."]]
    change: NotRequired[Annotated[ProposedChange, "Only for those who may read or decide it."]]
