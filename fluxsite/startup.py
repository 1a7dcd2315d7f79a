"""Runs a management command, turning unusable settings into one clear line instead of a traceback."""

from __future__ import annotations

import sys


def execute(arguments: list[str]) -> None:
    from fluxcore.config import ConfigError
    from fluxsite.env import EnvError
    from fluxsite.home import HomeError

    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(arguments)
    except (ConfigError, EnvError, HomeError) as error:
        sys.stderr.write(f"flux: {error}\n")
        raise SystemExit(78) from None  # EX_CONFIG
