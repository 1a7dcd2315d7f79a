"""flux-memory's `flux.config`: `Config`, the keys of config.yaml with their defaults, and `DEFAULT_CONFIG`."""

from fluxcore.config import Config

__all__ = ["DEFAULT_CONFIG", "Config"]
DEFAULT_CONFIG = Config()
