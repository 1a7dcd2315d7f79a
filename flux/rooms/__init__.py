"""Every call of the REST door, by room. `flux/core.py` says how a room is added."""

from flux.rooms.board_keys import BoardKeys
from flux.rooms.clusters import ClusterCalls
from flux.rooms.feedback import FeedbackCalls
from flux.rooms.grains import GrainCalls
from flux.rooms.graph import GraphCalls
from flux.rooms.instance import InstanceCalls
from flux.rooms.me import OwnCalls
from flux.rooms.memory import Memory
from flux.rooms.recalls import RecallCalls
from flux.rooms.sharing import Sharing, Watching


class Rooms(
    GrainCalls,
    RecallCalls,
    FeedbackCalls,
    ClusterCalls,
    GraphCalls,
    Memory,
    BoardKeys,
    Sharing,
    Watching,
    OwnCalls,
    InstanceCalls,
):
    """What both clients can call."""


__all__ = [
    "BoardKeys",
    "Clusters",
    "Feedback",
    "Grains",
    "Graph",
    "Instance",
    "Memory",
    "Own",
    "Recalls",
    "Rooms",
    "Sharing",
    "Watching",
]
