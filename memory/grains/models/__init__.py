"""The tables of grains: the graph, the receipts of recalls, what was learned from votes, what hangs together."""

from memory.grains.models.clusters import Cluster, Member, Touch
from memory.grains.models.graph import Conduit, DecayClass, Entry, Grain, Relation, Vector
from memory.grains.models.lessons import Attunement, Effect, Judged, Pair, Vote
from memory.grains.models.receipts import Recalled, Trace

__all__ = [
    "Attunement", "Cluster", "Conduit", "DecayClass", "Effect", "Entry", "Grain", "Judged", "Member", "Pair",
    "Recalled", "Relation", "Touch", "Trace", "Vector", "Vote",
]  # fmt: skip
