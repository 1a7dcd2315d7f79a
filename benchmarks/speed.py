"""Recall at 10,000, 100,000 and a million grains against the plain way, in CPU time of one process.

The plain way is what most would write: an FTS5 query of all words joined by OR, ordered by its bm25, one dot
product with a float32 matrix, and the best of both. It does less: no graph, no texts, no receipt.
Rounds take turns: every question is recalled, then every question is put to the plain way. The plain way reads its
whole matrix, so a recall right behind it finds nothing in the processor's caches: that is measured too, with the same
bar.
`python -m benchmarks.speed 10000 100000` takes other sizes.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from functools import partial
from itertools import pairwise
from typing import Any

# Before numpy is loaded, which is when BLAS looks: a second thread spins for milliseconds after the reference's
# product, and the process's CPU time would charge that to whatever is measured next.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.home import prepare
from benchmarks.synthetic import DIMENSION, Synthetic

SIZES = (10_000, 100_000, 1_000_000)
GOALS = {10_000: "≤ 0.5", 100_000: "≤ 0.06", 1_000_000: "≤ 0.02"}
GROWTH = {(10_000, 100_000): "≤ 2", (100_000, 1_000_000): "≤ 4"}
QUESTIONS, ROUNDS, BEST = 30, 5, 30
_NOW = 1_790_000_000


class Plain:
    """FTS5 and one matrix, with and without the words that a stop list would drop."""

    def __init__(self, made: Synthetic) -> None:
        import pysqlite3 as sqlite3

        self.line = sqlite3.connect(":memory:")
        self.line.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter')")
        self.matrix = np.empty((made.size, DIMENSION), np.float32)
        self.common = set(made.words[:150].tolist())

    def search(self, question: str, vector: Any, *, stop: bool) -> None:
        wanted = [word for word in question.split() if not (stop and word in self.common)] or question.split()
        self.line.execute(
            "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
            [" OR ".join(wanted), BEST],
        ).fetchall()
        scores = self.matrix @ vector
        best = np.argpartition(scores, -BEST)[-BEST:]
        best[np.argsort(-scores[best])]


class Given:
    """A static encoder's work for a question, and the vector the made-up space has for it."""

    name, dimension = "wordllama-256", DIMENSION

    def __init__(self, real: Any) -> None:
        self.real, self.known = real, {}

    def encode(self, texts: Any) -> Any:
        self.real.encode(texts)
        return np.stack([self.known[text] for text in texts])


def fill(made: Synthetic, space: int, plain: Plain) -> None:
    """Rows as the store would leave them, without its path: a million stores are another benchmark."""
    import hashlib
    import uuid

    from django.db import connection, transaction

    from fluxcore import clock, raw_sql
    from memory.engine.index.dense import quantise
    from memory.grains.models import Conduit, Grain, Vector

    moment = clock.now()
    grains = (
        "uuid",
        "space",
        "text",
        "digest",
        "origin",
        "authority",
        "status",
        "writer",
        "label",
        "corroborations",
        "recorded_at",
        "enriched",
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT COALESCE(MAX(id), 0) FROM grains_grain")
        first = cursor.fetchone()[0] + 1
    texts = made.texts()
    for begin in range(0, made.size, 10_000):
        some = [next(texts) for _ in range(min(10_000, made.size - begin))]
        vectors = made.vectors(len(some))
        plain.matrix[begin : begin + len(some)] = vectors
        plain.line.executemany("INSERT INTO words (text) VALUES (?)", [(text,) for text in some])
        data, scale = quantise(vectors)
        with transaction.atomic():
            raw_sql.insert(
                Grain,
                grains,
                [
                    (
                        uuid.uuid4(),
                        space,
                        text,
                        hashlib.sha256(text.encode()).hexdigest(),
                        "ai_stated",
                        2,
                        "active",
                        "shell:bench",
                        "",
                        0,
                        moment,
                        True,
                    )
                    for text in some
                ],
            )
            raw_sql.insert(
                Vector,
                ("space", "grain", "encoder", "dimension", "scale", "data"),
                [
                    (space, first + begin + place, Given.name, DIMENSION, float(scale[place]), data[place].tobytes())
                    for place in range(len(some))
                ],
            )
    for begin in range(0, made.size, 10_000):
        start, to, weight = made.conduits(begin, min(begin + 10_000, made.size))
        with transaction.atomic():
            raw_sql.insert(
                Conduit,
                ("space", "from_grain", "to_grain", "relation", "weight", "decay_class", "made_at", "used_at"),
                [
                    (space, first + a, first + b, 0, w, 0, _NOW, _NOW)
                    for a, b, w in zip(start.tolist(), to.tolist(), weight.tolist(), strict=True)
                ],
            )


def cpu(work: Any) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(size: int) -> dict[str, Any]:
    from django.conf import settings
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from memory.arena.cache import arena_cache
    from memory.embedding import active_encoder, encoder_kinds
    from memory.recall import recall

    agents.create_space(shell(), name=f"s{size}")
    space = Space.objects.get(name=f"s{size}")
    principal, made = shell(space), Synthetic(size)
    plain = Plain(made)
    began = time.perf_counter()
    fill(made, space.pk, plain)
    note(f"{size:,}: filled in {time.perf_counter() - began:.0f} s")
    given = Given(active_encoder.make_encoder(encoder_kinds.WORDLLAMA, settings.HOME.models))
    chosen = active_encoder.ProcessEncoder("wordllama", settings.HOME.models)
    chosen._encoder = given
    active_encoder.replace_encoder(chosen)
    building = cpu(lambda: arena_cache().write(space.pk))
    note(f"{size:,}: arena built and written in {building:.0f} s of CPU time")
    questions = [made.question() for _ in range(QUESTIONS)]
    given.known = dict(zip(questions, made.vectors(QUESTIONS), strict=True))
    with arena_cache().arena(space.pk) as (arena, rung):
        assert arena is not None, rung
        kilobytes = arena.nbytes / size / 1000

    def ask(question: str) -> float:
        chosen._encode_one_cached.cache_clear()
        return cpu(partial(recall.recall, principal, query=question))

    def search(question: str, *, stop: bool) -> float:
        return cpu(partial(plain.search, question, given.known[question], stop=stop))

    ours, theirs, behind, stopped = [], [], [], []
    for _ in range(ROUNDS):
        ours += [ask(question) for question in questions]
        for question in questions:
            theirs.append(search(question, stop=False))
            behind.append(ask(question))
        stopped += [search(question, stop=True) for question in questions]
    with CaptureQueriesContext(connection) as sent:
        recall.recall(principal, query=questions[0])
    statements = [one["sql"] for one in sent if not one["sql"].startswith(("BEGIN", "SAVEPOINT", "RELEASE", "COMMIT"))]
    ours_ms, theirs_ms, behind_ms, stopped_ms = (
        1000 * statistics.median(times) for times in (ours, theirs, behind, stopped)
    )
    return {
        "size": size,
        "ours_ms": ours_ms,
        "p95_ms": 1000 * float(np.quantile(ours, 0.95)),
        "plain_ms": theirs_ms,
        "behind_ms": behind_ms,
        "stopped_ms": stopped_ms,
        "statements": len(statements),
        "kilobytes": kilobytes,
        "building_s": building,
    }


def note(says: str) -> None:
    print(says, file=sys.stderr, flush=True)


def main(sizes: list[int]) -> None:
    prepare()
    from django.conf import settings

    settings.BOOTH = "thread"
    found = [measure(size) for size in sizes]
    rows = [
        {
            "what": f"retrieve ÷ FTS5 OR + float32 dot, {one['size']:,} grains",
            "ratio": one["ours_ms"] / one["plain_ms"],
            "goal": GOALS.get(one["size"], ""),
            "measured": (
                f"{one['ours_ms']:.2f} (p95 {one['p95_ms']:.2f}) ÷ {one['plain_ms']:.2f} ms CPU; "
                f"÷ {one['stopped_ms']:.2f} ms without common words: {one['ours_ms'] / one['stopped_ms']:.2f}; "
                f"{one['statements']} SQL statements; arena {one['kilobytes']:.2f} kB a grain"
            ),
            **one,
        }
        for one in found
    ]
    rows += [
        {
            "what": f"the same, each right behind a plain search, {one['size']:,} grains",
            "ratio": one["behind_ms"] / one["plain_ms"],
            "goal": GOALS.get(one["size"], ""),
            "measured": f"{one['behind_ms']:.2f} ÷ {one['plain_ms']:.2f} ms CPU",
        }
        for one in found
    ]
    for small, large in pairwise(found):
        rows.append(
            {
                "what": f"growth, retrieve at {large['size']:,} ÷ {small['size']:,} grains",
                "ratio": large["ours_ms"] / small["ours_ms"],
                "goal": GROWTH.get((small["size"], large["size"]), ""),
                "measured": f"{large['ours_ms']:.2f} ÷ {small['ours_ms']:.2f} ms CPU",
            }
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(SIZES))
