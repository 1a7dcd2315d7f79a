"""Principal of an agent that a local program uses by name, without a token; looked up for every request."""

from __future__ import annotations

import uuid

from django.db import connection

from accounts import effective_capabilities, origins, tool_groups
from accounts.models import Agent, Space
from accounts.principals import Principal
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Forbidden, Invalid, NotFound
from fluxcore.raw_sql import adapt_moment

_LOOKUP = f"""
    SELECT a.id, a.capabilities, a.trust, a.parent_id, a.active, a.must_rate, a.tools, s.id, s.uuid, g.capability
    FROM {Agent._meta.db_table} a
    JOIN {Space._meta.db_table} s ON s.id = a.space_id
    {effective_capabilities.OPEN_GRANTS}
    WHERE s.name = %s AND a.name = %s
"""  # noqa: S608


def find_local_agent(
    space: str, name: str, ceiling: str = origins.DEFAULT, *, within: tuple[str, ...] | None = None
) -> Principal:
    """The principal of an agent by name, limited to the capabilities `within` if they are given.

    Needs no token: whoever can read the data home could also mint one.
    """
    if ceiling not in origins.CEILINGS:
        raise Invalid(f"Unknown maximum provenance. Allowed: {', '.join(origins.CEILINGS)}.", field="ceiling")
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_LOOKUP, [adapt_moment(now), space, name])
        rows = cursor.fetchall()
    if not rows:
        raise NotFound(
            f"There is no agent {name!r} in space {space!r}. Create it: {typed_command(f'flux_agent create {name}')}."
        )
    number, capabilities, level, parent, active, must_rate, tools, space_number, chain, _ = rows[0]
    over = effective_capabilities.ancestor_layers(parent, now) if active else None
    if over is None:
        raise Forbidden(
            f"The agent {name!r} is suspended. Reactivate it: `{typed_command(f'flux_agent resume {name}')}`."
        )
    return Principal(
        kind="agent",
        name=name,
        space=space_number,
        chain=chain.hex if isinstance(chain, uuid.UUID) else chain,
        capabilities=effective_capabilities.combine_layers(
            effective_capabilities.layers(capabilities, [row[-1] for row in rows], level),
            over if within is None else (*over, within),
        ),
        ceiling=ceiling,
        agent=number,
        must_rate=bool(must_rate),
        tools=tool_groups.parse_groups(tools),
    )
