"""A fresh instance for a benchmark: data home, database, the first agent and its token."""

from __future__ import annotations

import atexit
import os
import tempfile


def prepare(*, door: str = "shell", grains_per_minute: int = 1_000_000) -> str:
    """Set Django up on the home named by the environment, or on one that goes with the process; its agent's token."""
    if "FLUX_HOME" not in os.environ:  # never in somebody's own memory
        throw_away = tempfile.TemporaryDirectory(prefix="flux-bench-")
        atexit.register(throw_away.cleanup)
        os.environ["FLUX_HOME"] = throw_away.name
    os.environ["FLUX_DOOR"] = door
    os.environ["FLUX_LOG_LEVEL"] = "WARNING"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    from fluxsite.home import current_home, make_home

    home = current_home()
    make_home(home)
    home.config.write_text(f"OPERATING_MODE: caller_extracts\nMAX_GRAINS_PER_MINUTE: {grains_per_minute}\n")
    import django

    django.setup()
    from fluxsite import setup

    setup.bring_up_to_date(home)
    token = setup.mint_first_token()
    if token is None:
        raise RuntimeError("a benchmark needs an empty home")
    return token
