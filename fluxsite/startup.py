"""Entry point of management commands; invalid settings are reported in one line instead of a traceback."""

from __future__ import annotations

import os
import sys

EX_CONFIG = 78


def choose_instance(arguments: list[str]) -> None:
    """Apply --name before settings are read, because they belong to the named instance."""
    for position, argument in enumerate(arguments):
        if argument == "--name" and position + 1 < len(arguments):
            os.environ["FLUX_NAME"] = arguments[position + 1]
        elif argument.startswith("--name="):
            os.environ["FLUX_NAME"] = argument.partition("=")[2]


def rerun_command() -> list[str]:
    """Command line that runs this program again: manage.py if it was started so, else the installed package."""
    return [sys.executable, sys.argv[0]] if sys.argv[0].endswith("manage.py") else [sys.executable, "-m", "flux"]


def execute(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    from fluxsite.run import gc_pause

    gc_pause.pause_gc()
    from fluxcore.config import ConfigError
    from fluxsite.env import EnvError
    from fluxsite.home import HomeError, current_home, make_home

    if arguments[1:2] and arguments[1].startswith("flux_"):
        os.umask(0o077)  # new files in the data home are readable only by their owner
    try:
        if arguments[1:2] == ["flux_start"] and not {"--help", "-h", "--once"} & set(arguments):
            # Before settings are read, which need this data home's key and configuration.
            try:
                make_home(current_home())
            except OSError as error:
                raise HomeError(f"The data home {current_home().path} cannot be created: {error.strerror}.") from None
            if not {"--quiet", "--json"} & set(arguments):
                # Loading Django takes a second or two.
                sys.stderr.write(f"Starting Flux Memory (instance {current_home().name}) ...\n")
                sys.stderr.flush()
        from django.core.management import execute_from_command_line

        execute_from_command_line(arguments)
    except (ConfigError, EnvError, HomeError) as error:
        sys.stderr.write(f"flux: {error}\n")
        raise SystemExit(EX_CONFIG) from None
