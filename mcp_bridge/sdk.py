"""Import of the MCP SDK without its client, its own framework and the web servers these import.

`import mcp.server.lowlevel` runs the `__init__` of `mcp` and `mcp.server` first, and these import everything the SDK
has: a third of the processor time to the first answer. The two packages are registered here without running them;
whatever is imported from below them is found as always.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec

PACKAGES = ("mcp", "mcp.server")


def load_lean() -> None:
    """Register the two packages. Has no effect once they have been imported."""
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and name not in sys.modules:
            sys.modules[name] = module_from_spec(spec)
    if "server" not in vars(sys.modules["mcp"]):
        sys.modules["mcp"].server = sys.modules["mcp.server"]  # type: ignore[attr-defined]  # as an import would
