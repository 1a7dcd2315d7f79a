"""How recall is tuned here: the engine's own numbers, with what config.yaml says about signals and their fading."""

from __future__ import annotations

from dataclasses import replace

from fluxcore import config
from memory.engine.settings import DEFAULT, Settings
from memory.grains import fading

_made: tuple[config.Config, Settings] | None = None


def current() -> Settings:
    """Made anew when config.yaml has changed: its values take effect within a second."""
    global _made
    here, made = config.current(), _made
    if made is None or made[0] is not here:
        made = _made = here, _settings(here)
    return made[1]


def _settings(here: config.Config) -> Settings:
    usual = DEFAULT.propagation
    return replace(
        DEFAULT,
        propagation=replace(
            usual,
            attenuation=here.ATTENUATION,
            threshold=here.ACTIVATION_THRESHOLD,
            hops=min(here.MAX_HOPS, usual.hops),  # the engine was fitted with its own
        ),
        fading=fading.current(),
        expansion=here.EXPANSION_MAX_CANDIDATES if here.EXPANSION_ENABLED else 0,
        unsure=here.EXPANSION_CONFIDENCE_THRESHOLD,
    )
