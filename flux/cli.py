"""`flux COMMAND …` and `python -m flux COMMAND …`: the management commands flux_* by short names.

The command loads Django; `flux --help`, a mistyped name and `flux mcp` with FLUX_URL and FLUX_TOKEN do not.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
from pathlib import Path

EX_USAGE = 64
PREFIX = "flux_"
ALIASES = {"memory": "kv"}  # agentd's name of the command


def commands() -> dict[str, Path]:
    """Short name -> the file that holds the command."""
    found = importlib.util.find_spec("memory.management.commands")
    folder = Path(next(iter(found.submodule_search_locations or ()))) if found else Path()
    return {_short(path.stem): path for path in sorted(folder.glob(f"{PREFIX}*.py"))}


def _short(name: str) -> str:
    short = name.removeprefix(PREFIX).replace("_", "-")
    return ALIASES.get(short, short)


def help_of(path: Path) -> str:
    """First sentence of a command's help, read from its source: importing all commands would import everything."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "help":
            value = ast.literal_eval(node.value)
            return str(value).split(". ")[0].rstrip(".") + "."
    return ""


def usage() -> str:
    known = commands()
    wide = max(map(len, known)) + 2
    lines = [f"  {name:<{wide}}{help_of(path)}" for name, path in known.items()]
    return "\n".join(
        [
            "usage: flux COMMAND [--name INSTANCE] [--json] …",
            "",
            "Flux Memory: a memory server for AI agents.",
            "",
            *lines,
            *(f"  {other:<{wide}}Same as {name}." for other, name in ALIASES.items()),
            "",
            "Run flux COMMAND --help for the options of a command.",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    wanted = given[0] if given else "--help"
    if wanted in ("--help", "-h", "help") and len(given) < 2:
        sys.stdout.write(usage() + "\n")
        return
    if wanted == "--version":
        from flux import __version__

        sys.stdout.write(f"flux-memory {__version__}\n")
        return
    rest = given[1:]
    if wanted == "help":
        wanted, rest = given[1], ["--help"]
    name = _short(wanted)
    if name not in commands():
        sys.stderr.write(unknown(wanted) + "\n")
        raise SystemExit(EX_USAGE)
    run(name, rest)


def unknown(wanted: str) -> str:
    close = difflib.get_close_matches(_short(wanted.lower()), commands(), n=1, cutoff=0.5)
    guess = f" Did you mean {close[0]}?" if close else ""
    return f"flux: there is no command {wanted!r}.{guess} `flux --help` lists them."


def run(name: str, rest: list[str]) -> None:
    words = [PREFIX + name.replace("-", "_"), *rest]
    from fluxcore.command_names import note_program
    from fluxsite.startup import choose_instance, execute

    note_program("flux")
    choose_instance(words)
    if name == "mcp":
        # Standard output is reserved for its protocol, and it may need no Django, so it is not run by Django.
        from mcp_bridge import entry

        entry.main(rest)
        return
    execute(["flux", *words])


if __name__ == "__main__":
    main()
