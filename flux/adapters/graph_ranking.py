"""Ranking of keys for a query: by recall, and what recall does not have yet by the share of the query's words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flux import errors
from flux.exact import AgentMemory, Blackboard

MOST = 100  # results of one recall


class KeyRecall:
    """Recall of the values below a prefix of keys."""

    def __init__(self, keys: AgentMemory | Blackboard, prefix: str) -> None:
        self.keys, self.prefix = keys, prefix
        self._began = False

    def begin(self) -> None:
        """Make the keys recallable, once. If the token may not, somebody else may have done so."""
        if not self._began:
            try:
                self.keys._call("make_recallable", prefix=self.prefix)
            except errors.Unreachable:
                raise
            except errors.FluxError:
                pass
            self._began = True

    def scores(self, query: str, entries: Sequence[Any]) -> dict[str, float]:
        """The score of each of these keys that recall finds in its present version; empty where recall is refused."""
        place = f"{'boards' if isinstance(self.keys, Blackboard) else 'agents'}/{self.keys.name}"
        try:
            answer = self.keys.client.retrieve(query, MOST, kinds=["value"], tags=[place])
        except errors.Unreachable:
            raise
        except errors.FluxError:
            return {}
        present = {(entry["key"], entry["version"]) for entry in entries}
        found: dict[str, float] = {}
        for grain in answer["grains"]:
            key, version = grain["citation"]["key"], grain["citation"].get("version", 0)
            if (key, version) in present:
                found.setdefault(key, grain["score"])  # of several passages the best
        return found


def ranked(query: str, entries: Sequence[Any], recalled: Mapping[str, float]) -> list[tuple[float, Any]]:
    """Entries with their scores, best first: recalled ones in that order.

    Any other, perhaps written a moment ago, comes after the last recalled one that has at least as many of the query's
    words, so that a fresh one is never behind others that fit less.
    """
    wanted = _words(query)
    share = {entry["key"]: _share(wanted, entry) for entry in entries}
    by_key = {entry["key"]: entry for entry in entries}
    order = [(score, by_key[key]) for key, score in recalled.items()]
    behind: list[list[tuple[float, Any]]] = [[] for _ in range(len(order) + 1)]  # by the place they come after
    for entry in sorted(entries, key=lambda one: -share[one["key"]]):
        if entry["key"] not in recalled:
            own = share[entry["key"]]
            places = (place for place, (_, one) in enumerate(order, 1) if share[one["key"]] >= own)
            behind[max(places, default=0)].append((own, entry))
    return [*behind[0], *(one for place, best in enumerate(order, 1) for one in (best, *behind[place]))]


def _share(wanted: set[str], entry: Any) -> float:
    """Share of the query's words that the item contains."""
    return len(wanted & _words(json.dumps(entry["value"]["value"], ensure_ascii=False))) / max(1, len(wanted))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
