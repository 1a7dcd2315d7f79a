from __future__ import annotations

from django.apps import AppConfig


class ExtractionConfig(AppConfig):
    name = "memory.extraction"
    label = "extraction"
    verbose_name = "Extraction"

    def ready(self) -> None:
        from fluxcore.sweep import every_minute
        from memory.extraction import chores
        from memory.recall import query_expansion

        every_minute(chores.ask_for_what_waits)
        query_expansion.set_expander(query_expansion.QueryExpander(chores.question_seconds, chores.words_for))
