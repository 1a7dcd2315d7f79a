"""Small spaces for tests of recall: texts in, an index out, vectors of the encoder that needs no weights."""

from __future__ import annotations

from typing import Any

from benchmarks.spaces import Space, Vectors, space
from memory.embedding.hashed import HashedEncoder
from memory.engine.ranking import recall
from memory.engine.ranking.answer import Ranking
from memory.engine.text import question

_VECTORS = Vectors(HashedEncoder(), None)
NOW = 1_750_000_000


def make_space(*items: str | dict[str, Any], vectors: bool = True) -> Space:
    """A space of these texts, or of items with speaker, session and time."""
    whole = [
        {"id": str(place), "text": "", "time": "", "speaker": "", "session": ""}
        | ({"text": one} if isinstance(one, str) else one)
        for place, one in enumerate(items)
    ]
    return space("test", {"id": "test", "items": whole, "queries": []}, _VECTORS if vectors else Vectors(None, None))


def ask(held: Space, query: str, *, k: int = 5, vector: bool = True, **given: Any) -> Ranking:
    encoded = HashedEncoder().encode([query])[0] if vector and held.index.dense is not None else None
    given = {"allowed": None, "now": NOW} | given
    return recall.recall(held.index, question.read_question(query, NOW), encoded, k=k, **given)
