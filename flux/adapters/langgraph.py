"""LangGraph's `BaseStore` on exact memory: on the keys of an agent, or of a board that agents share.

Keys rather than files: one call reads or writes an item with its time, a page of keys comes with its values, a batch is
one transaction, and a TTL is the server's own. Results are those of `InMemoryStore`; without a query items come in the
order of their keys. Namespaces exist while they have items. `search(query=...)` ranks items by recall where their keys
are recallable, which the store asks for if it may, else by how many words of the query they contain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from flux import errors
from flux.adapters import graph_keys, needs
from flux.adapters.graph_filters import fits, matches
from flux.adapters.graph_ranking import KeyRecall, ranked
from flux.exact import AgentMemory, Blackboard

try:
    from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp
except ImportError as error:
    raise needs("langgraph", error) from error

BATCH = 25  # writes of one transaction, so that even the largest values fit into one request


class LangGraphStore(BaseStore):  # type: ignore[misc]
    """A store of LangGraph below one folder of keys. `ttl` is LangGraph's `TTLConfig`.

    With `index` the folder is made recallable before the first write or query, if the token may.
    """

    supports_ttl = True

    def __init__(
        self, keys: AgentMemory | Blackboard, *, folder: str = "langgraph", ttl: Any = None, index: bool = True
    ) -> None:
        self.keys, self.folder, self.ttl_config = keys, folder, ttl
        self.recall = KeyRecall(keys, f"{folder}/") if index else None

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Reads see what was there before; then all puts are made, of several to one key the last."""
        ops = list(ops)
        if self.recall and any(isinstance(op, PutOp) or getattr(op, "query", None) for op in ops):
            self.recall.begin()
        results = [None if isinstance(op, PutOp) else self._read(op) for op in ops]
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        writes = [self._write(op) for op in puts.values()]
        for first in range(0, len(writes), BATCH):
            self.keys.batch(writes[first : first + BATCH])
        return results

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _get(self, op: Any) -> Any:
        entry = self.keys.entry(self._key(op.namespace, op.key))
        if entry is None or not _is_item(entry):
            return None
        if op.refresh_ttl:
            self._refresh(entry)
        return Item(**self._facts(entry))

    def _search(self, op: Any) -> list[Any]:
        items = filter(_is_item, self._entries(op.namespace_prefix, values=True))
        fitting = (one for one in items if fits(one["value"]["value"], op.filter or {}))
        page = slice(op.offset, op.offset + op.limit)  # negative ones count from the end, as in InMemoryStore
        scored: Sequence[tuple[float | None, Any]]
        if op.query:
            entries = list(fitting)
            recalled = self.recall.scores(op.query, entries) if self.recall and entries else {}
            scored = ranked(op.query, entries, recalled)[page]
        else:
            ends = None if min(page.start, page.stop) < 0 else page.stop
            found = list(islice(fitting, ends))[page]
            scored = [(None, one) for one in found]
        if op.refresh_ttl:
            for _, entry in scored:
                self._refresh(entry)
        return [SearchItem(**self._facts(entry), score=score) for score, entry in scored]

    def _namespaces(self, op: Any) -> list[tuple[str, ...]]:
        found = {self._names(entry["key"])[:-1] for entry in self._entries((), values=False)}
        found = {one for one in found if all(matches(one, condition) for condition in op.match_conditions or ())}
        return sorted({one[: op.max_depth] for one in found})[op.offset : op.offset + op.limit]

    def _write(self, op: Any) -> dict[str, Any]:
        key = self._key(op.namespace, op.key)
        if op.value is None:
            return {"op": "delete", "key": key}
        lifetime = {"ttl_minutes": op.ttl} if op.ttl is not None else {}
        written = {"op": "set", "key": key, "value": {"value": dict(op.value), **lifetime}}
        return written | ({"ttl_secs": op.ttl * 60} if op.ttl is not None else {})

    def _refresh(self, entry: Any) -> None:
        """Begin the lifetime of an item anew, unless it has expired or was written meanwhile."""
        minutes = entry["value"].get("ttl_minutes")
        if minutes is not None:
            touch = {"op": "touch", "key": entry["key"], "ttl_secs": minutes * 60}
            with suppress(errors.NotFound, errors.Conflict):
                self.keys.batch([touch | {"expected_version": entry["version"]}])

    def _entries(self, namespace: tuple[str, ...], *, values: bool) -> Iterator[Any]:
        pattern, cursor = graph_keys.pattern_below(self._key(namespace, "")), None
        while True:
            page = self.keys.list(pattern, values=values, limit=100 if values else 1000, cursor=cursor)
            yield from page["keys"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _key(self, namespace: tuple[str, ...], key: str) -> str:
        return graph_keys.key_of(self.folder, (*namespace, key))

    def _names(self, key: str) -> tuple[str, ...]:
        return graph_keys.names_of(self.folder, key)

    def _facts(self, entry: Any) -> dict[str, Any]:
        *namespace, key = self._names(entry["key"])
        at = datetime.fromisoformat(entry["written_at"])  # of both, as in InMemoryStore
        value = entry["value"]["value"]
        return {"namespace": tuple(namespace), "key": key, "value": value, "created_at": at, "updated_at": at}


def _is_item(entry: Any) -> bool:
    return isinstance(entry["value"], dict) and isinstance(entry["value"].get("value"), dict)
