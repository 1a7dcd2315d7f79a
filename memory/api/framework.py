"""The REST framework without what it loads in case somebody wants it: a fifth of the time its door takes to open.

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
