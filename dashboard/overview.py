"""Numbers and latest events of a space for the Overview page, read with one SQL statement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from accounts.models import Agent, GrantRequest, Token
from accounts.principals import Principal
from accounts.verbs import selector
from dashboard import event_sentences
from fluxcore import clock
from fluxcore.events import Position
from fluxcore.models import Event, Job
from fluxcore.raw_sql import adapt_moment
from fluxcore.work.job_events import DONE
from memory.grains.models import Grain
from memory.health.models import SpaceHealth

LATEST = 12
QUIET = "grains.enriched"  # follows every store and has no news for people

_COUNTS = {
    **{
        status: f"SELECT COUNT(*) FROM {Grain._meta.db_table} WHERE space_id = %(space)s AND status = '{status}'"  # noqa: S608
        for status in Grain.Status.values
    },
    "agents": f"SELECT COUNT(*) FROM {Agent._meta.db_table} WHERE space_id = %(space)s AND active",  # noqa: S608
    "stopped": f"SELECT COUNT(*) FROM {Agent._meta.db_table} WHERE space_id = %(space)s AND NOT active",  # noqa: S608
    "tokens": f"""
        SELECT COUNT(*) FROM {Token._meta.db_table} token JOIN {Agent._meta.db_table} agent ON agent.id = token.agent_id
        WHERE agent.space_id = %(space)s AND agent.active AND token.revoked_at IS NULL
        AND (token.expires_at IS NULL OR token.expires_at > %(now)s)""",  # noqa: S608
    "requests": f"""
        SELECT COUNT(*) FROM {GrantRequest._meta.db_table} request
        JOIN {Agent._meta.db_table} agent ON agent.id = request.agent_id
        WHERE agent.space_id = %(space)s AND request.state = '{GrantRequest.RequestState.WAITING.value}'""",  # noqa: S608
    "parked": f"""
        SELECT COUNT(*) FROM {Job._meta.db_table}
        WHERE space = %(space)s AND state = '{Job.State.PARKED.value}'""",  # noqa: S608
}
# One statement for all, to keep the page fast. The row that always exists has the counts of a space without events.
_STATEMENT = f"""
    SELECT event.xid, event.id, event.kind, event.at, event.actor, event.subject, event.data,
        (SELECT status FROM {SpaceHealth._meta.db_table} WHERE space_id = %(space)s),
        {", ".join(f"({count})" for count in _COUNTS.values())}
    FROM (SELECT 1 AS one) AS always LEFT JOIN (
        SELECT xid, id, kind, at, actor, subject, data FROM {Event._meta.db_table}
        WHERE space = %(space)s AND kind NOT IN ('{QUIET}', '{DONE}') ORDER BY xid DESC, id DESC LIMIT {LATEST}
    ) AS event ON TRUE
    ORDER BY event.xid DESC, event.id DESC
"""  # noqa: S608


@dataclass(frozen=True)
class OverviewEvent:
    """One line of the latest events; `flux.js` writes the same line for events that arrive later."""

    position: str = ""
    kind: str = ""
    at: datetime | None = None
    actor: str = ""
    subject: str = ""
    details: str = ""


@dataclass(frozen=True)
class Overview:
    counts: dict[str, int]
    latest: list[OverviewEvent]
    health: str = ""  # "" while nothing was measured

    @property
    def grains(self) -> int:
        return sum(self.counts[status] for status in Grain.Status.values)

    @property
    def complete(self) -> bool:
        """Whether agents can call and have stored something; until then the page shows the next step."""
        return bool(self.counts["agents"] and self.counts["tokens"] and self.grains)

    @property
    def aside(self) -> list[tuple[str, int]]:
        """Counts of memories and agents that are not active."""
        found = [(status.label.lower(), "memory", "memories", self.counts[status.value]) for status in Grain.Status]
        found.append(("suspended", "agent", "agents", self.counts["stopped"]))
        return [(f"{state} {one if count == 1 else many}", count) for state, one, many, count in found[1:] if count]

    @property
    def since(self) -> str:
        """Position from which the live feed continues. It repeats what is shown already, so that nothing is missed."""
        return self.latest[-1].position if self.latest else str(Position())


@selector("spaces.overview", needs="events.read")
def space_overview(principal: Principal) -> Overview:
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, {"space": principal.space, "now": adapt_moment(clock.now())})
        rows = cursor.fetchall()
    return Overview(
        counts=dict(zip(_COUNTS, rows[0][8:], strict=True)),
        latest=[_happening(*row[:7]) for row in rows if row[1] is not None],
        health=rows[0][7] or "",
    )


def _happening(xid: int, number: int, kind: str, at: Any, actor: str, subject: str, data: Any) -> OverviewEvent:
    found: dict[str, Any] = json.loads(data) if isinstance(data, str) else data
    shown = {event_sentences.plain(name): value for name, value in found.items() if isinstance(value, str | int)}
    return OverviewEvent(
        position=str(Position(xid, number)),
        kind=event_sentences.plain(kind),
        at=clock.parse(clock.rfc3339(at) or ""),
        actor=actor,
        subject=subject,
        details=" · ".join(f"{name} {value}" for name, value in shown.items()),
    )
