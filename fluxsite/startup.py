"""Runs a management command, turning unusable settings into one clear line instead of a traceback."""

from __future__ import annotations

import os
import sys

EX_CONFIG = 78


def execute(arguments: list[str]) -> None:
    from fluxsite import loading

    loading.begins()
    from fluxcore.config import ConfigError
    from fluxsite.env import EnvError
    from fluxsite.home import HomeError, current_home, make_home

    if arguments[1:2] and arguments[1].startswith("flux_"):
        os.umask(0o077)  # whatever a command is the first to create in the data home is the owner's alone
    try:
        if arguments[1:2] == ["flux_start"] and not {"--help", "-h", "--once"} & set(arguments):
            # Before settings are read: they belong to the key and configuration of this home.
            try:
                make_home(current_home())
            except OSError as error:
                raise HomeError(f"The data home {current_home().path} cannot be made: {error.strerror}.") from None
        from django.core.management import execute_from_command_line

        execute_from_command_line(arguments)
    except (ConfigError, EnvError, HomeError) as error:
        sys.stderr.write(f"flux: {error}\n")
        raise SystemExit(EX_CONFIG) from None
