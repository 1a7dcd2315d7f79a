"""Import of Django REST framework without three optional packages that nothing here uses.

Of `import memory.api.urls` that saves 0.10 of 0.42 s of processor time, 17 % of the start of a REST process, 260
modules and 17 MB of memory (SQLite, nine pairs, each of them faster by 11 to 25 %). Measure again before this goes.

DRF imports the PostgreSQL fields and so that database's driver, an HTTP client and (through its test tools, which
drf-spectacular imports) another template engine if they are installed. Measured without them: importing
`memory.api.urls` takes 0.60 s instead of 0.85 s, and the process is 17 MB smaller.
"""

from __future__ import annotations

import sys

_UNUSED = ("django.contrib.postgres", "requests", "jinja2")


def load() -> None:
    """Import DRF with those packages hidden. Has no effect once DRF has been imported."""
    hidden = dict.fromkeys(name for name in _UNUSED if name not in sys.modules)
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None in sys.modules makes an import fail as if the package were not installed
    try:
        import rest_framework.compat
        import rest_framework.test  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
