"""Settings of the engine for recall: its defaults with the values of config.yaml."""

from __future__ import annotations

import math
from dataclasses import replace

from fluxcore import config
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.grains import decay_settings

_cached: tuple[config.Config, Settings, Settings] | None = None


def current(*, exploring: bool = False) -> Settings:
    """Settings, computed again when config.yaml has changed: its values take effect within a second.

    `exploring`, after a context shift, offers more lateral candidates, and at a higher confidence.
    """
    global _cached
    configuration, cached = config.current(), _cached
    if cached is None or cached[0] is not configuration:
        cached = _cached = configuration, _usual_settings(configuration), _exploring_settings(configuration)
    return cached[2] if exploring else cached[1]


def _usual_settings(configuration: config.Config) -> Settings:
    defaults = DEFAULT.propagation
    return replace(
        DEFAULT,
        propagation=replace(
            defaults,
            attenuation=configuration.ATTENUATION,
            threshold=configuration.ACTIVATION_THRESHOLD,
            hops=min(configuration.MAX_HOPS, defaults.hops),  # the engine was fitted with its own limit
        ),
        fading=decay_settings.current(),
        expansion=configuration.EXPANSION_MAX_CANDIDATES if configuration.EXPANSION_ENABLED else 0,
        per_cluster=configuration.EXPANSION_CANDIDATES_PER_CLUSTER,
        unsure=configuration.EXPANSION_CONFIDENCE_THRESHOLD,
    )


def _exploring_settings(configuration: config.Config) -> Settings:
    usual, boost = _usual_settings(configuration), configuration.EXPLORATION_BOOST
    return replace(
        usual,
        expansion=math.ceil(usual.expansion * boost),
        per_cluster=math.ceil(usual.per_cluster * boost),
        unsure=min(usual.unsure * boost, 1.0),
    )
