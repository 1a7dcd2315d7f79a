"""Browser sessions in the database, stored under a digest of their key, with user, address and browser."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions

from accounts.models import Session
from fluxcore import clock
from fluxcore.writes import booth

MAX_AGE = timedelta(hours=12)  # from sign-in, whether the session is used or not
_KEY = re.compile(r"[a-z0-9]{32}")
# Names inside a session's data.
CREATED, SOURCE, BROWSER, FRESH = "created_at", "source", "browser", "fresh_at"


class SessionStore(DatabaseSessions):
    """Session backend that stores `Session` rows."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _validate_session_key(self, key: str | None) -> bool:
        """Whether a key has our format. Others never reach the database: PostgreSQL refuses a NUL, for example."""
        return bool(key) and bool(_KEY.fullmatch(str(key)))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row: Any = super().create_model_instance(data)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.seen_at = clock.now()
        row.created_at = clock.parse(data[CREATED]) if CREATED in data else row.seen_at
        row.source, row.browser = data.get(SOURCE, ""), data.get(BROWSER, "")
        found: Session = row
        return found


_noted: dict[str, float] = {}  # by session key: when this process last wrote its time of use


def note_seen(key: str) -> None:
    """Write when a session was last used, at most once a minute and without waiting."""
    now = time.monotonic()
    if now - _noted.get(key, -60.0) < 60:
        return
    if len(_noted) > 10_000:
        _noted.clear()
    _noted[key] = now
    booth.post(lambda: Session.objects.filter(session_key=key).update(seen_at=clock.now()))


def end_sessions(*, user: int, keep: str | None = None) -> int:
    """Delete all sessions of a person, except `keep`. Call inside a write."""
    found = Session.objects.filter(user_id=user)
    if keep is not None:
        found = found.exclude(session_key=keep)
    ended, _ = found.delete()
    return ended


def forget_old() -> int:
    deleted, _ = Session.objects.filter(expire_date__lt=clock.now()).delete()
    return deleted
