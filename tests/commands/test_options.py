"""What all flux_* commands share: options in full, --name and --json on each"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, load_command_class

import memory.management.commands

COMMANDS = sorted(path.stem for path in Path(memory.management.commands.__path__[0]).glob("flux_*.py"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_name_and_json(name):
    parser = load_command_class("memory", name).create_parser("manage.py", name)
    assert {"--name", "--json"} <= set(parser._option_string_actions)


def test_an_option_is_not_abbreviated():
    """`--nam two` would be read here after the settings of the default instance were loaded."""
    parser = load_command_class("memory", "flux_status").create_parser("manage.py", "flux_status")
    parser.called_from_command_line = False
    with pytest.raises(CommandError, match="unrecognized"):
        parser.parse_args(["--nam", "two"])
