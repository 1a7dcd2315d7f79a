"""Mode of the model: whether this instance uses one for extraction and query expansion."""

from __future__ import annotations

from collections.abc import Sequence

from fluxcore import config

MODE = "flux_extracts"


def on() -> bool:
    """Whether this instance uses a model at all."""
    return config.current().OPERATING_MODE == MODE


def question_seconds() -> float:
    """Seconds a recall may wait for query expansion; 0 if it is switched off."""
    settings = config.current()
    return settings.LLM_QUERY_MILLISECONDS / 1000 if settings.LLM_QUERY_WORDS_ENABLED and on() else 0.0


def words_for(space: int, query: str, who: str) -> Sequence[str]:
    from memory.extraction import expansion_words  # loaded by the first question that may wait for them

    return expansion_words.find_words(space, query, who)
