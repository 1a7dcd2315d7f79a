"""The tables of grains: the graph, the receipts of recalls, what was learned from votes, what hangs together,
what became of each grain."""

from memory.grains.models.clusters import Cluster, Clustering, Member, Passage, Shift, Touch
from memory.grains.models.graph import Conduit, DecayClass, Entry, Grain, Relation, Vector
from memory.grains.models.lessons import Attunement, Effect, Judged, Pair, Vote
from memory.grains.models.lifecycle import Bookmark, Removal, Standing, Tombstone, Transition
from memory.grains.models.receipts import Recalled, Trace
from memory.grains.models.usage import GrainUsage

__all__ = [
    "Attunement", "Bookmark", "Cluster", "Clustering", "Conduit", "DecayClass", "Effect", "Entry", "Grain",
    "GrainUsage", "Judged", "Member", "Pair", "Passage", "Recalled", "Relation", "Removal", "Shift", "Standing",
    "Tombstone", "Touch", "Trace", "Transition", "Vector", "Vote",
]  # fmt: skip
