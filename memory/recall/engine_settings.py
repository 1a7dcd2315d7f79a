"""How recall is tuned here: the engine's own numbers, with what config.yaml says about signals and their fading."""

from __future__ import annotations

import math
from dataclasses import replace

from fluxcore import config
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.grains import decay_settings

_made: tuple[config.Config, Settings, Settings] | None = None


def current(*, exploring: bool = False) -> Settings:
    """Made anew when config.yaml has changed: its values take effect within a second.

    After a context shift more is offered beside an answer, and sooner.
    """
    global _made
    here, made = config.current(), _made
    if made is None or made[0] is not here:
        made = _made = here, _settings(here), _wider(here)
    return made[2] if exploring else made[1]


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
        fading=decay_settings.current(),
        expansion=here.EXPANSION_MAX_CANDIDATES if here.EXPANSION_ENABLED else 0,
        per_cluster=here.EXPANSION_CANDIDATES_PER_CLUSTER,
        unsure=here.EXPANSION_CONFIDENCE_THRESHOLD,
    )


def _wider(here: config.Config) -> Settings:
    usual, boost = _settings(here), here.EXPLORATION_BOOST
    return replace(
        usual,
        expansion=math.ceil(usual.expansion * boost),
        per_cluster=math.ceil(usual.per_cluster * boost),
        unsure=min(usual.unsure * boost, 1.0),
    )
