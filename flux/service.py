"""flux-memory's `flux.service.FluxService`: the memory in this process, without a server or a token.

Whoever can read the data home can change it, so no token is asked for. Calls use the same verbs and audit as over REST,
recorded as `shell:<user>`, and have the limits of an agent. A server and other programs can use the instance at the
same time.
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

SECONDS_AT_THE_END = 10.0  # time for queued work when the service stops; the rest is left to the next process


@dataclass(frozen=True)
class Result:
    """Answer to a recall, with flux-memory's attributes."""

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
    """The memory of one space, for use by any number of threads between `start` and `stop`. Calls return when durable.

    `caller_id` is a label inside this program, like X-Caller-Id at a server: each label has its own share of
    MAX_GRAINS_PER_MINUTE, and is recorded with grains and traces.
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
        """Keys that `cfg` leaves at their defaults are taken from the instance's config.yaml.

        `llm`, `emb` and `embedding` exist for flux-memory's signature and must be None: config.yaml names the model and
        the encoder.
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
        """Open the space, load the encoder in the background, and start a thread for jobs: vectors, votes, clusters."""
        from accounts.principals import find_space, shell
        from fluxcore.work import wakeup
        from memory.embedding import active_encoder

        if self._who is not None:
            return
        who = replace(shell(find_space(self._space_name)), limited=True)
        active_encoder.load_soon()
        self._ended.clear()
        self._wake.set()  # for jobs that earlier processes left
        wakeup.use(lambda kinds: self._wake.set())
        self._worker = threading.Thread(target=self._work, name="flux-service", daemon=True)
        self._worker.start()
        self._who = who

    def stop(self, timeout: float = SECONDS_AT_THE_END) -> None:
        """Run queued jobs for up to `timeout` seconds and stop. The others stay in the database for later processes."""
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
        """Store one text and return the id of its grain. `fields` are the further fields of POST /store."""
        return str(self.store_ex(content, provenance, caller_id, **fields)["grain_id"])

    def store_ex(
        self, content: str, provenance: str = "ai_stated", caller_id: str | None = None, **fields: Any
    ) -> StoreResult:
        """Store one text; returns the answer of POST /store, which unpacks into flux-memory's pair of id and status."""
        from memory.grains import store

        return StoreResult(store.store(self._acting(caller_id), content=content, provenance=provenance, **fields))

    def store_batch(self, items: Sequence[dict[str, Any]], caller_id: str | None = None) -> list[str | None]:
        """Store up to MAX_GRAINS_PER_CALL texts and return the ids of their grains, None for a refused one."""
        from memory.grains import store

        return list(store.store_batch(self._acting(caller_id), items=list(items))["grain_ids"])

    def retrieve(self, query: str, caller_id: str | None = None, **fields: Any) -> Result:
        """Recall grains that answer a question, best first. `fields` are the further fields of POST /retrieve."""
        from memory.recall import recall

        return Result(**recall.recall(self._acting(caller_id), query=query, **fields))

    def feedback(
        self, trace_id: str, grain_id: str, useful: bool, strength: float = 1.0, caller_id: str | None = None
    ) -> FeedbackResult:
        """Rate a grain of an answer as useful or not. Durable at once, applied in the background."""
        from memory.learning import feedback as votes

        who = self._acting(caller_id)
        return FeedbackResult(
            votes.feedback(who, trace_id=trace_id, grain_id=grain_id, useful=useful, strength=strength)
        )

    feedback_sync = feedback

    def feedback_batch_sync(
        self, items: Sequence[dict[str, Any]], caller_id: str | None = None
    ) -> list[FeedbackResult]:
        """Record several votes, each recorded or refused on its own."""
        from memory.learning import feedback as votes

        answer = votes.feedback_batch(self._acting(caller_id), items=list(items))
        return [FeedbackResult(result) for result in answer["results"]]

    def health(self) -> dict[str, Any]:
        from memory.health import instance_health

        return instance_health.health(self._acting())

    def pending_feedback(self) -> dict[str, Any]:
        from memory.recall import pending_feedback as due

        return due.list_pending(self._acting())

    def list_grains(self, status: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """List grains by status, newest first; active ones by default."""
        from memory.grains import select

        return list(select.page(self._acting(), status=status or "active", limit=limit)["grains"])
