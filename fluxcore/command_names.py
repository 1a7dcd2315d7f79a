"""Names of commands as the user types them: `flux stop` or `manage.py flux_stop`, as this process was started.

Imports nothing of ours, so that every text that names a command can use it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

USUAL_NAME = "default"
_IN_BRACES = re.compile(r"\{(flux_[^}]*)\}")
_ROOT = Path(__file__).resolve().parent.parent


def note_program(program: str) -> None:
    """Note that this process was started as `flux` or `manage.py`; the servers it starts inherit that."""
    os.environ["FLUX_STARTED_AS"] = program


def _started_by_flux() -> bool:
    program = os.environ.get("FLUX_STARTED_AS")
    return program == "flux" if program else not (_ROOT / "manage.py").exists()


def typed_command(command: str) -> str:
    """A command as the user types it: `flux_token mint ada` is `flux token mint ada` where `flux` was typed.

    It has `--name` unless the instance is the default one, because without it the default one would be meant.
    """
    name, _, rest = command.partition(" ")
    words = ["flux", name.removeprefix("flux_").replace("_", "-")] if _started_by_flux() else ["manage.py", name]
    instance = os.environ.get("FLUX_NAME") or USUAL_NAME
    name_option = [] if instance == USUAL_NAME else ["--name", instance]
    return " ".join([*words, *([rest] if rest else []), *name_option])


def typed_commands(text: str) -> str:
    """A text with its `{flux_...}` as commands the user types."""
    return _IN_BRACES.sub(lambda found: f"`{typed_command(found[1])}`", text)


def runnable_command(command: str) -> str:
    """A command that can be pasted into any terminal: with the program's path and the data home."""
    program, _, rest = typed_command(command).partition(" ")
    if program == "manage.py":
        begin = [sys.executable, str(_ROOT / "manage.py")]
    elif shutil.which("flux") == str(Path(sys.executable).with_name("flux")):
        begin = ["flux"]
    else:
        begin = [sys.executable, "-m", "flux"]
    home = os.environ.get("FLUX_HOME")
    variables = [f"FLUX_HOME={shlex.quote(str(Path(home).absolute()))}"] if home else []
    return " ".join([*variables, *map(shlex.quote, begin), rest])
