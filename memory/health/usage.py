"""Use of quotas by agent and by space: memories, keys with their history, boards, model budget.

Read from counters in a few statements, however much is stored.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from accounts.models import Agent
from fluxcore import config
from memory.extraction import budget
from memory.extraction import mode as model
from memory.grains.models import GrainUsage
from memory.grains.usage import SPACE
from memory.keyvalue.models import Namespace, NamespaceKind

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_BOARD = NamespaceKind.BOARD.value


@dataclass
class QuotaUse:
    """Use of quotas by one agent, or by a whole space."""

    grains: int = 0
    grain_bytes: int = 0
    key_bytes: int = 0  # values with history; for a space including boards
    boards: int = 0  # boards it created
    model_calls: int = 0  # calls of the model today (UTC)
    model_tokens: int = 0

    @property
    def anything(self) -> bool:
        return any(vars(self).values())


_Found = dict[tuple[int, str], QuotaUse]  # by space and agent; SPACE stands for the space as a whole


def quota_use(space: int | None = None) -> _Found:
    """Use of quotas in one space, or in all."""
    found: _Found = defaultdict(QuotaUse)
    only = {} if space is None else {"space": space}
    for where, writer, grains, size in GrainUsage.objects.filter(**only).values_list(
        "space_id", "writer", "grains", "bytes"
    ):
        name = _agent(writer)
        if name is not None:
            found[where, name].grains, found[where, name].grain_bytes = grains, size
    rows = Namespace.objects.filter(**only).values_list(
        "space_id", "kind", "name", "bytes", "history_bytes", "created_by"
    )
    for where, kind, name, size, history, maker in rows:
        found[where, SPACE].key_bytes += size + history
        if kind != _BOARD:
            found[where, name].key_bytes = size + history
            continue
        found[where, SPACE].boards += 1
        if (made_by := _agent(maker)) is not None:
            found[where, made_by].boards += 1
    if model.on():
        _add_model(found, space)
    return found


def _add_model(found: _Found, space: int | None) -> None:
    for one in budget.spent(space):
        row = found[one.space_id, SPACE]
        row.model_calls, row.model_tokens = one.calls, one.tokens
    for own in budget.spent_by_agents(space):
        row = found[own.space_id, _agent(own.who) or SPACE]
        row.model_calls, row.model_tokens = own.calls, own.tokens


def _agent(actor: str) -> str | None:
    """An agent's name, SPACE for the row of all writers together, None for people, the shell and models."""
    if actor == SPACE:
        return SPACE
    kind, _, name = actor.partition(":")
    return name if kind == "agent" else None


def usage_table() -> list[dict[str, Any]]:
    """Every space that has agents with its sums, then its agents that use anything, largest first."""
    found, rows = quota_use(), []
    agents = Agent.objects.order_by("space__name", "name").values_list("space_id", "space__name", "name")
    by_space: dict[tuple[int, str], list[str]] = defaultdict(list)
    for number, space, name in agents:
        by_space[number, space].append(name)
    for (number, space), names in by_space.items():
        rows.append({"space": space, "agent": None, **vars(found.get((number, SPACE), QuotaUse()))})
        busy = [(name, found[number, name]) for name in names if (number, name) in found]
        busy.sort(key=lambda one: (-one[1].grain_bytes - one[1].key_bytes, one[0]))
        rows += [{"space": space, "agent": name, **vars(own)} for name, own in busy if own.anything]
    return rows


def quota_limits() -> dict[str, dict[str, Any]]:
    """Limits by key of config.yaml."""
    now = config.current()
    agent = ("MAX_GRAINS_PER_AGENT", "MAX_BYTES_PER_AGENT", "MAX_KV_BYTES", "MAX_BOARDS_PER_AGENT", "LLM_AGENT_SHARE")
    space = (
        "MAX_GRAINS_PER_SPACE",
        "MAX_BYTES_PER_SPACE",
        "MAX_BOARDS_PER_SPACE",
        "LLM_CALLS_PER_DAY",
        "LLM_TOKENS_PER_DAY",
    )
    return {
        "agent": {key: getattr(now, key) for key in agent},
        "space": {key: getattr(now, key) for key in space},
    }


def format_bytes(size: int) -> str:
    """Bytes as people read them: 1.5 MiB."""
    step = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{size / 1024**step:.1f}".removesuffix(".0") + f" {_UNITS[step]}"
