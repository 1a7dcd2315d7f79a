"""Types of answers about clusters."""

from __future__ import annotations

from typing import TypedDict

from flux.answers.grains import Feature


class ClusterShape(TypedDict):
    id: str
    name: str
    terms: list[str]
    size: int
    layer: str
    made_at: str
    changed_at: str


class Modularity(TypedDict):
    grains: float
    entries: float


class ClusterPage(TypedDict):
    clusters: list[ClusterShape]
    count: int
    computed_at: str | None
    modularity: Modularity | None
    next_cursor: str | None


class GrainMember(TypedDict):
    id: str
    content: str
    status: str


class MemberShape(TypedDict):
    grain: GrainMember | None
    entry: Feature | None
    weight: float


class ClusterMembers(ClusterShape):
    dissolved_at: str | None
    members: list[MemberShape]
    count: int
    next_cursor: str | None
