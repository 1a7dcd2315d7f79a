"""Names of spaces and agents: 1-64 of a-z, 0-9, `_` and `-`, no punctuation at the edges."""

from __future__ import annotations

import re

from fluxcore.errors import Invalid

NAME = r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?"
_NAME = re.compile(NAME)


def check_name(name: str, *, what: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(
            f"The name of {what} must have 1 to 64 characters of a-z, 0-9, '_' and '-', "
            "and begin and end with a letter or digit.",
            field="name",
        )
    return name
