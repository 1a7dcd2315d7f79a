"""Sessions of people, in the database."""

from __future__ import annotations

import re

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions

_KEY = re.compile(r"[a-z0-9]{32}")


class SessionStore(DatabaseSessions):
    def _validate_session_key(self, key: str | None) -> bool:
        """Only what we hand out reaches the database: a quoted cookie can carry a NUL, which PostgreSQL refuses."""
        return bool(key) and bool(_KEY.fullmatch(str(key)))
