from __future__ import annotations

from django.apps import AppConfig


class ExtractionConfig(AppConfig):
    name = "memory.extraction"
    label = "extraction"
    verbose_name = "Extraction"

    def ready(self) -> None:
        from memory.extraction import mode
        from memory.recall import query_expansion

        query_expansion.set_expander(query_expansion.QueryExpander(mode.question_seconds, mode.words_for))
