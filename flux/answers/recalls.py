"""Types of answers to recalls, and of traces."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from flux.answers.grains import Citation, GrainFields


class RecallResult(GrainFields):
    kind: str
    citation: NotRequired[Citation]
    score: float
    source: str
    writers: int
    said: int
    same: list[str]


class Neighbour(GrainFields):
    cluster: str | None


class ScorePart(TypedDict):
    name: str
    called: str
    part: float


class MatchedTerm(TypedDict):
    term: str
    word: str
    part: float


class PathStep(TypedDict):
    conduit: int
    from_entry: NotRequired[str]
    from_grain: NotRequired[str]
    to_grain: NotRequired[str]
    relation: int
    signal: float
    weight: float
    hop: int


class GrainExplanation(TypedDict):
    place: int
    grain_id: str
    score: float
    source: str
    says: str
    parts: list[ScorePart]
    words: list[MatchedTerm]
    path: list[PathStep]
    same: int


class Offered(TypedDict):
    grain_id: str
    cluster: str | None
    says: str


class Explanation(TypedDict):
    says: str
    offered: list[Offered]
    weights: dict[str, Any]
    caps: list[str]
    grains: list[GrainExplanation]


class FeedbackDue(TypedDict):
    trace_ids: list[str]
    more: bool


class Retrieved(TypedDict):
    grains: list[RecallResult]
    trace_id: str
    confidence: float
    hop_count: int
    features: list[str]
    fallback_triggered: bool
    expansion_candidates: list[Neighbour]
    rung: str
    vectors_missing: int | None
    query_truncated: bool
    explanation: NotRequired[Explanation]
    feedback_due: NotRequired[FeedbackDue]


class Trace(Explanation):
    trace_id: str
    query: str
    asked_by: str
    label: str | None
    at: str
    k: int
    bounds: dict[str, Any]
    features: list[str]
    confidence: float
    hop_count: int
    fallback_triggered: bool
    rung: str
    vectors_missing: int | None
    query_truncated: bool
    reduced: bool
    texts: dict[str, str]
