"""What a user of Flux Memory imports or types: the client, the seed's names, the `flux` command."""

from fluxcore.version import VERSION as __version__

__all__ = ["__version__"]
