"""Runs the comparisons and the examples of docs/adapters.md against an instance of this checkout: `make adapters`.

The instance runs in the environment of this program; the argument is the Python of the environment with the frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.pages import ROOT, commands
from tests.instances import Instance

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "adapters.md"
SECONDS = 120  # for one program, which takes about ten
_STARTS = ".venv/bin/python - <<'EOF'\n"


def programs() -> list[str]:
    """The comparisons: the modules of this folder that print a table of them."""
    found = [path.stem for path in HERE.glob("*.py") if "\nfrom tests.adapters.comparison import" in path.read_text()]
    return sorted(found)


def examples() -> list[str]:
    """The Python blocks of the page."""
    found = [command for command in commands(PAGE) if command.startswith(_STARTS)]
    return [command.removeprefix(_STARTS).removesuffix("EOF") for command in found]


def main(python: str) -> int:
    python = str(Path(python).absolute())  # not resolved: its links make it the Python of that environment
    runs = {name: [python, "-m", f"tests.adapters.{name}"] for name in programs()}
    runs |= {f"example {number} of {PAGE.name}": [python, "-c", code] for number, code in enumerate(examples(), 1)}
    failed = []
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("FLUX_TESTS_HOME", home)
        instance = Instance(Path(home), "adapters").with_tables()
        try:
            instance.start()
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_"))}
            environment |= {
                "FLUX_URL": f"http://127.0.0.1:{instance.state['ports']['rest']}",
                "FLUX_TOKEN": instance.token,
                "PYTHONPATH": str(ROOT),
                "OPENAI_AGENTS_DISABLE_TRACING": "1",  # nothing is sent to its maker
            }
            for name, line in runs.items():
                try:
                    subprocess.run(line, env=environment, cwd=home, timeout=SECONDS, check=True)
                except subprocess.SubprocessError as error:
                    failed.append(name)
                    print(f"\n{name}: FAILED, {error}", flush=True)
                else:
                    print(f"\n{name}: passed", flush=True)
        finally:
            instance.stop()
    print(f"\n{len(runs) - len(failed)} of {len(runs)} passed" + "".join(f", {name} failed" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
