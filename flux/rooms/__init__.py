"""Methods of both clients, one class for each group of REST calls. `flux/core.py` describes how to add one."""

from flux.rooms.clusters import ClusterCalls
from flux.rooms.feedback import FeedbackCalls
from flux.rooms.files import FileCalls
from flux.rooms.grains import GrainCalls
from flux.rooms.graph import GraphCalls
from flux.rooms.instance import InstanceCalls
from flux.rooms.keyvalue import KeyValueCalls
from flux.rooms.me import OwnCalls
from flux.rooms.recalls import RecallCalls
from flux.rooms.reviews import ReviewCalls
from flux.rooms.stores import StoreCalls
from flux.rooms.watching import Watching


class Rooms(
    GrainCalls,
    RecallCalls,
    FeedbackCalls,
    ClusterCalls,
    GraphCalls,
    KeyValueCalls,
    StoreCalls,
    FileCalls,
    ReviewCalls,
    Watching,
    OwnCalls,
    InstanceCalls,
):
    """All calls of both clients."""


__all__ = [
    "ClusterCalls",
    "FeedbackCalls",
    "FileCalls",
    "GrainCalls",
    "GraphCalls",
    "InstanceCalls",
    "KeyValueCalls",
    "OwnCalls",
    "RecallCalls",
    "ReviewCalls",
    "Rooms",
    "StoreCalls",
    "Watching",
]
