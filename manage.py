#!/usr/bin/env python
"""Operators' entry point: `manage.py flux_start`, `manage.py flux_status`, ..."""

import os
import sys


def choose_instance(arguments: list[str]) -> None:
    """Take --name before settings are read: the settings belong to the instance it names."""
    for position, argument in enumerate(arguments):
        if argument == "--name" and position + 1 < len(arguments):
            os.environ["FLUX_NAME"] = arguments[position + 1]
        elif argument.startswith("--name="):
            os.environ["FLUX_NAME"] = argument.partition("=")[2]


def main() -> None:
    choose_instance(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    from fluxsite.startup import execute

    execute(sys.argv)


if __name__ == "__main__":
    main()
