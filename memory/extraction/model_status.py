"""Status of the model and its use today, for flux_status, /health and pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count

from fluxcore import clock, config
from fluxcore.command_names import typed_command
from memory.extraction import budget, circuit_breaker, mode, ollama_client
from memory.extraction.models import Extraction

_HERE = ("localhost", "127.0.0.1", "::1")


def overview(space: int | None = None) -> dict[str, Any]:
    """Status and use of one space, or of all together."""
    settings = config.current()
    if not mode.on():
        return {"state": "off", "mode": settings.OPERATING_MODE}
    server, wrong = circuit_breaker.server_state(), ollama_client.url_problem(settings.LLM_BASE_URL)
    down = bool(server.failures) or wrong is not None
    counts = Extraction.objects.exclude(state=Extraction.ExtractionState.DONE)
    counts = counts if space is None else counts.filter(space=space)
    left = dict(counts.order_by().values_list("state").annotate(Count("pk")))
    days = budget.spent(space)
    return {
        "state": "down" if down else "well" if server.well_at else "not asked yet",
        "mode": settings.OPERATING_MODE,
        "name": settings.LLM_MODEL,
        "server": urlsplit(settings.LLM_BASE_URL).hostname if wrong is None else None,
        "problem": wrong or server.problem or None,
        "failures": server.failures,
        "down_since": clock.rfc3339(server.down_since),
        "next_try_at": clock.rfc3339(server.next_at),
        "well_at": clock.rfc3339(server.well_at),
        "waiting": left.get(Extraction.ExtractionState.WAITING.value, 0),
        "given_up": left.get(Extraction.ExtractionState.GIVEN_UP.value, 0),
        "today": {
            "calls": sum(one.calls for one in days),
            "failed": sum(one.failed for one in days),
            "tokens": sum(one.tokens for one in days),
        },
        "budget": {"calls": settings.LLM_CALLS_PER_DAY, "tokens": settings.LLM_TOKENS_PER_DAY},
        "spaces_without_budget": sum(budget.is_spent(one) for one in days),
    }


def warnings() -> list[str]:
    """Warnings for operators, each with the next step."""
    found = overview()
    if found["state"] == "off":
        return []
    sentences = []
    if found["state"] == "down":
        sentences.append(f"the model does not answer: {found['problem']}; texts stay queued")
    if found["given_up"]:
        sentences.append(
            f"{found['given_up']} text(s) could not be processed by the model. "
            f"To try again: {typed_command('flux_extract --again')}"
        )
    if found["spaces_without_budget"]:
        sentences.append(
            f"{found['spaces_without_budget']} space(s) have used up today's model budget "
            "(LLM_CALLS_PER_DAY, LLM_TOKENS_PER_DAY)"
        )
    without = [one.who.partition(":")[2] for one in budget.spent_by_agents() if budget.share_is_spent(one)]
    if without:
        sentences.append(
            f"{len(without)} agent(s) have used up their share of today's model budget, for example {without[0]} "
            "(LLM_AGENT_SHARE)"
        )
    if found["server"] not in (None, *_HERE):
        sentences.append(f"texts are sent to another machine for extraction: LLM_BASE_URL is {found['server']}")
    return sentences
