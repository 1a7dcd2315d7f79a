"""The one glob dialect: `*` alone is everything; elsewhere `*` stops at `/` and `**` does not.

Anchored and case-sensitive. A backslash makes the next character literal.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fluxcore.errors import Invalid

MAX_PATTERN = 512
_MANY_STARS = 16  # a bound on backtracking; nobody needs more wildcards in one scope


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> re.Pattern[str]:
    if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
        raise Invalid("A pattern has 1 to 512 characters.", field="pattern")
    if pattern == "*":
        return re.compile(r".*", re.DOTALL)
    parts, position, stars = [], 0, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            if position + 1 == len(pattern):
                raise Invalid("A pattern may not end in a lone backslash.", field="pattern")
            parts.append(re.escape(pattern[position + 1]))
            position += 2
        elif character == "*":
            run = 1
            while position + run < len(pattern) and pattern[position + run] == "*":
                run += 1
            if run > 2:
                raise Invalid("A pattern knows * and **, not more stars in a row.", field="pattern")
            parts.append(r".*" if run == 2 else r"[^/]*")
            stars += 1
            position += run
        else:
            parts.append(re.escape(character))
            position += 1
    if stars > _MANY_STARS:
        raise Invalid(f"A pattern may hold at most {_MANY_STARS} wildcards.", field="pattern")
    return re.compile("".join(parts), re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    return compile_glob(pattern).fullmatch(name) is not None
