"""Bearer tokens: shown once, stored as a digest, checked against the database on every request.

The check is one statement by a unique key, and one more per ancestor of the agent, without a cache, so that a
revocation takes effect with the next request in every process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounts import effective_capabilities, origins, tool_groups, trust
from accounts.models import Agent, Space, Token
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Invalid, NotFound, Unauthenticated
from fluxcore.raw_sql import adapt_moment
from fluxcore.writes import booth

_ALPHABET = string.ascii_letters + string.digits
_SHAPE = re.compile(r"flux_([A-Za-z0-9]{8})_([A-Za-z0-9_-]{43})")
MAX_NOTE = 200


def generate() -> tuple[str, str]:
    """Generate a token of 256 random bits: its visible prefix and its text."""
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    return prefix, f"flux_{prefix}_{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """Digest of a token. SHA-256 is enough for 256 random bits; only passwords need slow hashes."""
    return hashlib.sha256(token.encode()).hexdigest()


_LOOKUP = f"""
    SELECT t.id, t.digest, t.ceiling, t.expires_at, t.revoked_at, t.last_used_at,
           a.id, a.name, a.capabilities, a.trust, a.parent_id, a.active, a.must_rate, a.tools,
           s.id, s.uuid, g.capability
    FROM {Token._meta.db_table} t
    JOIN {Agent._meta.db_table} a ON a.id = t.agent_id
    JOIN {Space._meta.db_table} s ON s.id = a.space_id
    {effective_capabilities.OPEN_GRANTS}
    WHERE t.prefix = %s
"""  # noqa: S608


def authenticate(token: str) -> Principal:
    """The principal of a token. The error is the same for all invalid tokens."""
    shape = _SHAPE.fullmatch(token)
    if shape is None:
        raise Unauthenticated
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_LOOKUP, [adapt_moment(now), shape.group(1)])
        rows = cursor.fetchall()  # one for each open grant, at least one
    # Compared even if the prefix is unknown, so that response times do not show which prefixes exist.
    known = hmac.compare_digest(rows[0][1] if rows else "0" * 64, digest(token))
    if not known or not rows:
        raise Unauthenticated
    number, _, ceiling, expires_at, revoked_at, last_used_at, agent, name, capabilities, *rest = rows[0]
    level, parent, active, must_rate, tools, space, chain, _ = rest
    if revoked_at is not None or not active or (expires_at is not None and _moment(expires_at) <= now):
        raise Unauthenticated
    over = effective_capabilities.ancestor_layers(parent, now)
    if over is None:
        raise Unauthenticated
    _note_use(number, _moment(last_used_at) if last_used_at else None, now)
    return Principal(
        kind="agent",
        name=name,
        space=space,
        chain=chain.hex if isinstance(chain, uuid.UUID) else chain,
        capabilities=effective_capabilities.combine_layers(
            effective_capabilities.layers(capabilities, [row[-1] for row in rows], level), over
        ),
        ceiling=ceiling,
        agent=agent,
        token=number,
        must_rate=bool(must_rate),
        tools=tool_groups.parse_groups(tools),
    )


def _moment(value: datetime | str) -> datetime:
    return clock.parse(clock.rfc3339(value) or "")


def _note_use(number: int, last: datetime | None, now: datetime) -> None:
    """Write the last use of a token, at most once a minute and without waiting."""
    if last is not None and now - last < timedelta(minutes=1):
        return

    def note() -> None:
        Token.objects.filter(pk=number).exclude(last_used_at__gt=now - timedelta(minutes=1)).update(last_used_at=now)

    booth.post(note)


def usual_ceiling(agent: Agent) -> str:
    """Default maximum provenance of a new token.

    `user_stated` for a trusted agent without a parent, which is its owner's own program.
    """
    own = agent.parent_id is None and trust.LEVELS.index(agent.trust) >= trust.LEVELS.index(Agent.Trust.TRUSTED)
    return "user_stated" if own else origins.DEFAULT


@verb("tokens.mint", needs="accounts.manage", secret=True)
def mint(
    call: RunningCall,
    *,
    space: str,
    agent: str,
    ceiling: str | None = None,
    expires_at: str | None = None,
    note: str = "",
) -> Change:
    """Mint a token for an agent. Its text is only in this answer."""
    if ceiling is not None and ceiling not in origins.CEILINGS:
        raise Invalid(f"Unknown maximum provenance. Allowed: {', '.join(origins.CEILINGS)}.", field="ceiling")
    if len(note) > MAX_NOTE or not note.isprintable():
        raise Invalid(f"The note must be one line of at most {MAX_NOTE} characters.", field="note")
    expiry = clock.parse(expires_at, name="expires_at") if expires_at else None
    if expiry is not None and expiry <= clock.now():
        raise Invalid("expires_at must be in the future.", field="expires_at")
    owner = find_agent(space, agent, call.principal)
    ceiling = ceiling or usual_ceiling(owner)
    prefix, token = generate()

    def change() -> dict[str, Any]:
        row = Token.objects.create(
            agent=owner,
            prefix=prefix,
            digest=digest(token),
            ceiling=ceiling,
            note=note,
            created_at=clock.now(),
            expires_at=expiry,
        )
        call.record(str(row.uuid), chain=owner.space.uuid.hex, agent=agent, ceiling=ceiling, prefix=prefix)
        return {"token": token, **describe(row)}

    return change


@verb("tokens.revoke", needs="accounts.manage")
def revoke(call: RunningCall, *, prefix: str) -> Change:
    """Revoke a token, from its next request, in every process."""
    row = Token.objects.select_related("agent__space").filter(prefix=prefix.removeprefix("flux_").split("_")[0]).first()
    if row is None or not call.principal.reaches(row.agent.space_id):
        raise NotFound(f"There is no token with the prefix {prefix[:8]!r}.")

    def change() -> dict[str, Any]:
        changed = Token.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=clock.now())
        if not changed:
            raise Conflict("This token is already revoked.")
        call.record(str(row.uuid), chain=row.agent.space.uuid.hex, agent=row.agent.name, prefix=row.prefix)
        row.refresh_from_db()
        return describe(row)

    return change


def describe(row: Token) -> dict[str, Any]:
    return {
        "id": str(row.uuid),
        "agent": row.agent.name,
        "space": row.agent.space.name,
        "prefix": f"flux_{row.prefix}",
        "ceiling": row.ceiling,
        "note": row.note,
        "created_at": clock.rfc3339(row.created_at),
        "expires_at": clock.rfc3339(row.expires_at),
        "revoked_at": clock.rfc3339(row.revoked_at),
        "last_used_at": clock.rfc3339(row.last_used_at),
    }


def find_agent(space: str, agent: str, within: Principal | None = None) -> Agent:
    row = Agent.objects.select_related("space", "parent").filter(space__name=space, name=agent).first()
    if row is None or (within is not None and not within.reaches(row.space_id)):
        raise NotFound(
            f"There is no agent {agent!r} in space {space!r}. `{typed_command('flux_agent list')}` lists all agents."
        )
    return row
