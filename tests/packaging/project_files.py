"""The project as files: what is (or is about to be) in version control, and what the code asks of its surroundings."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("accounts", "dashboard", "flux", "fluxcore", "fluxsite", "mcp_bridge", "memory")


def files() -> list[Path]:
    """Every file under version control, and the new ones that nothing ignores."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).is_file()]


def runtime_modules() -> list[str]:
    """Every module an installation can import."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@cache
def environment_variables() -> dict[str, Any]:
    """Names the runtime reads from its environment -> the literal default of their typed reader, if it has one."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = _name_read(node)
                if name is not None:
                    found.setdefault(name, None)
                    default = _default(node)
                    if default is not None:
                        found[name] = default
    return found


def _name_read(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, method = ast.unparse(node.func.value), node.func.attr
        reader = owner == "env" and method in ("text", "secret", "switch", "number", "choice", "names", "url")
        plain = owner == "os.environ" and method in ("get", "setdefault")
        if (reader or plain) and node.args and isinstance(node.args[0], ast.Constant):
            return str(node.args[0].value)
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else None
    return None


def _default(node: ast.AST) -> Any:
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("env.") and len(node.args) > 1:
        try:
            return eval(ast.unparse(node.args[1]), {"__builtins__": {}})  # literals and products of literals
        except (NameError, SyntaxError):
            return None
    return None


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a clean interpreter of this environment, as an installation would start."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**kept, "DJANGO_SETTINGS_MODULE": "fluxsite.settings", **environment},
    )
