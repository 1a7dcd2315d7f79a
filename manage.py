#!/usr/bin/env python
"""Operators' entry point: `manage.py flux_start`, `manage.py flux_status`, ..."""

import sys

from fluxcore.command_names import note_program
from fluxsite.startup import choose_instance, execute


def main() -> None:
    note_program("manage.py")
    choose_instance(sys.argv)
    if sys.argv[1:2] == ["flux_mcp"]:
        from mcp_bridge import entry

        entry.main(sys.argv[1:])  # it may be a client that never loads Django
        return
    execute(sys.argv)


if __name__ == "__main__":
    main()
