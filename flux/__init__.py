"""What a user of Flux Memory imports or types: the client, the seed's names, the `flux` command."""

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
    """Loaded when they are asked for: `flux --help` and the client need none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
