"""The REST framework without what it loads in case somebody wants it.

Of `import memory.api.urls` that saves 0.10 of 0.42 s of processor time, 17 % of the start of a REST process, 260
modules and 17 MB of memory (SQLite, nine pairs, each of them faster by 11 to 25 %). Measure again before this goes.

It looks for fields of PostgreSQL, which bring that database's driver, for an HTTP client, and (through its test tools,
which drf-spectacular imports) for another template engine; nothing here uses any of them.
"""

from __future__ import annotations

import sys

_UNUSED = ("django.contrib.postgres", "requests", "jinja2")


def load() -> None:
    """To be called before anything else of the framework is imported; after that it changes nothing."""
    hidden = dict.fromkeys(name for name in _UNUSED if name not in sys.modules)
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None there means: not installed
    try:
        import rest_framework.compat
        import rest_framework.test  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
