"""Every call of the REST door, by room. `flux/core.py` says how a room is added."""

from flux.rooms.board_keys import BoardKeys
from flux.rooms.clusters import Clusters
from flux.rooms.feedback import Feedback
from flux.rooms.grains import Grains
from flux.rooms.graph import Graph
from flux.rooms.instance import Instance
from flux.rooms.memory import Memory
from flux.rooms.own import Own
from flux.rooms.recalls import Recalls
from flux.rooms.sharing import Sharing, Watching


class Rooms(Grains, Recalls, Feedback, Clusters, Graph, Memory, BoardKeys, Sharing, Watching, Own, Instance):
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
