"""Flux Memory for its users: the client, flux-memory's names, and the `flux` command."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fluxcore.version import VERSION as __version__

if TYPE_CHECKING:
    from flux.config import DEFAULT_CONFIG, Config
    from flux.service import FluxService
    from flux.storage import FluxStore

__all__ = ["DEFAULT_CONFIG", "Config", "FluxService", "FluxStore", "__version__"]
_MODULES = {
    "Config": "flux.config",
    "DEFAULT_CONFIG": "flux.config",
    "FluxService": "flux.service",
    "FluxStore": "flux.storage",
}


def __getattr__(name: str) -> Any:
    """Import exported names at first use: `flux --help` and the client need none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
