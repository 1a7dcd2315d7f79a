"""flux-memory's `flux.service.FluxService`: the memory in this process, without a server or a token.

Whoever can read the data home can do anything to it, so this is the shell's door: the same verbs and audit, written
down as `shell:<user>`, and under the limits an agent has. It works beside a running server and other programs on the
same instance.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flux.config import Config
from flux.results import FeedbackResult, StoreResult
from flux.storage import FluxStore, refuse_backends
from fluxcore.errors import NotStarted

if TYPE_CHECKING:
    from accounts.principals import Principal

SECONDS_AT_THE_END = 10.0  # for work that waits when the service stops; the rest is done by the next one


@dataclass(frozen=True)
class Result:
    """What a recall answers, by the names flux-memory has for it."""

    grains: list[dict[str, Any]]
    trace_id: str
    confidence: float
    hop_count: int
    features: list[str]
    fallback_triggered: bool
    expansion_candidates: list[dict[str, Any]]
    rung: str
    vectors_missing: int | None = None
    query_truncated: bool = False
    explanation: dict[str, Any] | None = None
    feedback_due: dict[str, Any] | None = None


class FluxService:
    """Start it, use it from as many threads as you like, stop it. Each call is durable when it returns.

    `caller_id` is a label inside this program, as X-Caller-Id is at a server: each has a share of its own of
    MAX_GRAINS_PER_MINUTE, and it is written down beside what was stored or asked.
    """

    def __init__(
        self,
        store: FluxStore,
        llm: object = None,
        emb: object = None,
        cfg: Config | None = None,
        *,
        embedding: object = None,
        space: str = "main",
    ) -> None:
        """`cfg` says what differs from the defaults; what it leaves alone, config.yaml of the instance decides.

        `llm`, `emb` and `embedding` are flux-memory's places for a model and an encoder. Here config.yaml names both.
        """
        refuse_backends(llm, emb, embedding)
        self._store, self._space_name = store, space
        self._who: Principal | None = None
        self._wake, self._ended = threading.Event(), threading.Event()
        self._worker: threading.Thread | None = None
        if cfg is not None:
            from fluxcore import config

            config.live().hold(cfg)

    def start(self) -> None:
        """Open the space, load the encoder on the side, and work on what waits: vectors, votes, clusters."""
        from accounts.principals import find_space, shell
        from fluxcore.work import wakeup
        from memory.embedding import active_encoder

        if self._who is not None:
            return
        who = replace(shell(find_space(self._space_name)), limited=True)
        active_encoder.load_soon()
        self._ended.clear()
        self._wake.set()  # what an earlier one left
        wakeup.use(lambda kinds: self._wake.set())
        self._worker = threading.Thread(target=self._work, name="flux-service", daemon=True)
        self._worker.start()
        self._who = who

    def stop(self, timeout: float = SECONDS_AT_THE_END) -> None:
        """Finish what waits, as far as it takes a few seconds. What is left is a row, done by whoever comes next."""
        if self._worker is None:
            return
        self._ended.set()
        self._wake.set()
        self._worker.join(timeout)
        self._worker = self._who = None

    def _work(self) -> None:
        from django.db import connections

        from fluxcore.work import worker

        while True:
            self._wake.wait(timeout=60)
            self._wake.clear()
            worker.drain(seconds=SECONDS_AT_THE_END)
            if self._ended.is_set():
                connections.close_all()
                return

    def _acting(self, caller_id: str | None = None) -> Principal:
        from accounts.labels import check_label

        if self._who is None:
            raise NotStarted("The service is not started. Call start() first, and stop() when you are done.")
        return self._who.labelled(check_label("caller_id", caller_id) if caller_id is not None else "")

    def store(self, content: str, provenance: str = "ai_stated", caller_id: str | None = None, **fields: Any) -> str:
        """Remember one text; the id of its grain. `fields` are the further fields of POST /store."""
        return str(self.store_ex(content, provenance, caller_id, **fields)["grain_id"])

    def store_ex(
        self, content: str, provenance: str = "ai_stated", caller_id: str | None = None, **fields: Any
    ) -> StoreResult:
        """Remember one text; the answer of POST /store, which unpacks into flux-memory's pair of id and status."""
        from memory.grains import store

        return StoreResult(store.store(self._acting(caller_id), content=content, provenance=provenance, **fields))

    def store_batch(self, items: Sequence[dict[str, Any]], caller_id: str | None = None) -> list[str | None]:
        """Remember up to MAX_GRAINS_PER_CALL texts; the ids of their grains, None for one that was refused."""
        from memory.grains import store

        return list(store.store_batch(self._acting(caller_id), items=list(items))["grain_ids"])

    def retrieve(self, query: str, caller_id: str | None = None, **fields: Any) -> Result:
        """Recall what answers a question, best first. `fields` are the further fields of POST /retrieve."""
        from memory.recall import recall

        return Result(**recall.recall(self._acting(caller_id), query=query, **fields))

    def feedback(
        self, trace_id: str, grain_id: str, useful: bool, strength: float = 1.0, caller_id: str | None = None
    ) -> FeedbackResult:
        """Say whether a grain of an answer helped. Durable at once, learned from in the background."""
        from memory.learning import feedback as votes

        who = self._acting(caller_id)
        return FeedbackResult(
            votes.feedback(who, trace_id=trace_id, grain_id=grain_id, useful=useful, strength=strength)
        )

    feedback_sync = feedback

    def feedback_batch_sync(
        self, items: Sequence[dict[str, Any]], caller_id: str | None = None
    ) -> list[FeedbackResult]:
        """Many votes, each recorded or refused on its own."""
        from memory.learning import feedback as votes

        answer = votes.feedback_batch(self._acting(caller_id), items=list(items))
        return [FeedbackResult(one) for one in answer["results"]]

    def health(self) -> dict[str, Any]:
        from memory.health import instance_health

        return instance_health.health(self._acting())

    def pending_feedback(self) -> dict[str, Any]:
        from memory.recall import pending_feedback as due

        return due.list_pending(self._acting())

    def list_grains(self, status: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """The newest grains of a status, active ones if none is named."""
        from memory.grains import select

        return list(select.page(self._acting(), status=status or "active", limit=limit)["grains"])
