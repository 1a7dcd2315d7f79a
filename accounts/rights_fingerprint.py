"""Fingerprint of a signed-in person's rights in a space, in one row, to detect changes between repeated checks."""

from __future__ import annotations

from typing import Any

from accounts.models import Authenticator, Membership, Session, Space, User
from fluxcore import clock, raw_sql

_SQL = f"""
SELECT s.session_data, u.username, u.password, u.is_active, u.is_superuser, a.id, a.confirmed, m.role, p.uuid
FROM {Session._meta.db_table} s
JOIN {User._meta.db_table} u ON u.id = s.user_id
LEFT JOIN {Authenticator._meta.db_table} a ON a.user_id = u.id
LEFT JOIN {Membership._meta.db_table} m ON m.user_id = u.id AND m.space_id = %s
LEFT JOIN {Space._meta.db_table} p ON p.id = %s
WHERE s.session_key = %s AND s.expire_date > %s
"""  # noqa: S608 - names of our own tables


def read_fingerprint(session_key: str, space: int) -> tuple[Any, ...] | None:
    """Read the fingerprint. If it equals an earlier one, the rights are unchanged. None if the session has ended."""
    digest = Session._meta.pk.get_prep_value(session_key)
    found = raw_sql.read(_SQL, [space, space, digest, raw_sql.adapt_moment(clock.now())])
    return found[0] if found else None
