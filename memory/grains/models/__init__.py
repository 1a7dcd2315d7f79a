"""Tables of grains: graph, traces of recalls, votes and learning, clusters, lifecycle."""

from memory.grains.models.clusters import Cluster, Clustering, ClusterUse, ClusterUseVote, ContextShift, Member
from memory.grains.models.graph import Conduit, DecayClass, Entry, Grain, Relation, Vector
from memory.grains.models.lifecycle import Cursor, LastRecall, Removal, Tombstone, Transition
from memory.grains.models.traces import Trace, TraceGrain
from memory.grains.models.usage import GrainUsage
from memory.grains.models.votes import JudgedQuestion, SpaceRankerWeights, UsefulPair, Vote, VoteEffect

__all__ = [
    "Cluster",
    "ClusterUse",
    "ClusterUseVote",
    "Clustering",
    "Conduit",
    "ContextShift",
    "Cursor",
    "DecayClass",
    "Entry",
    "Grain",
    "GrainUsage",
    "JudgedQuestion",
    "LastRecall",
    "Member",
    "Relation",
    "Removal",
    "SpaceRankerWeights",
    "Tombstone",
    "Trace",
    "TraceGrain",
    "Transition",
    "UsefulPair",
    "Vector",
    "Vote",
    "VoteEffect",
]
