"""Changes modules in every process of an instance: for what waits longer or shorter in a test than for anybody else."""

from __future__ import annotations

from pathlib import Path

_SITE = """
import sys
from importlib.machinery import PathFinder

CHANGES = {changes!r}


class Changer:
    def find_spec(self, name, path=None, target=None):
        if name not in CHANGES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def load_and_change(module):
            load(module)
            exec(CHANGES[name], module.__dict__)

        spec.loader.exec_module = load_and_change
        return spec


sys.meta_path.insert(0, Changer())
"""


def change_modules(folder: Path, **changes: str) -> dict[str, str]:
    """Environment in which code runs at the end of modules: `fluxcore__log__live="CHECK_SECONDS = 3600.0"`."""
    folder.mkdir()
    named = {name.replace("__", "."): code for name, code in changes.items()}
    (folder / "sitecustomize.py").write_text(_SITE.format(changes=named))
    return {"PYTHONPATH": str(folder)}
