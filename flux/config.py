"""flux-memory's `flux.config.Config`: the keys of config.yaml with their defaults."""

from fluxcore.config import Config

__all__ = ["Config"]
