"""Config: all keys of config.yaml as one frozen dataclass."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fluxcore.config.later_keys import LaterKeys
from fluxcore.config.learning_keys import LearningKeys
from fluxcore.config.lifecycle_keys import LifecycleKeys
from fluxcore.config.limit_keys import LimitKeys
from fluxcore.config.model_keys import ModelKeys
from fluxcore.config.monitoring_keys import MonitoringKeys
from fluxcore.config.recall_keys import RecallKeys
from fluxcore.config.removed import REMOVED, removed_key_warning
from fluxcore.config.server_keys import ServerKeys

log = logging.getLogger(__name__)

# How fast paths to a grain learn from its usefulness, by its provenance. Says nothing about its truth.
PROVENANCE_MULTIPLIERS = {
    "user_confirmed": 1.0,
    "user_stated": 1.0,
    "external_source": 0.9,
    "ai_stated": 0.5,
    "ai_inferred": 0.3,
    "unknown": 0.3,
}


def _without_removed_keys(init: Callable[..., None]) -> Callable[..., None]:
    """Let programs still pass removed keys, with a warning, as config.yaml may still contain them."""

    @functools.wraps(init)
    def replacement(self: Config, **values: Any) -> None:
        for name in REMOVED.keys() & values.keys():
            log.warning(removed_key_warning(name, "Config"))
            del values[name]
        init(self, **values)

    return replacement


# The fields have the order of the bases from the last to the first, which is also the order of the written file.
@dataclass(frozen=True)
class Config(LaterKeys, MonitoringKeys, LifecycleKeys, LearningKeys, RecallKeys, ModelKeys, LimitKeys, ServerKeys):
    """The configuration of an instance. Names and defaults are those of flux-memory."""

    def provenance_multiplier(self, provenance: str) -> float:
        """How much a vote on a grain of this provenance counts; 0.5 for an unknown provenance."""
        return PROVENANCE_MULTIPLIERS.get(provenance, 0.5)

    def half_life_hours(self, decay_class: str) -> float:
        """Half-life of a conduit of this class in hours; that of working conduits for an unknown class."""
        return {"core": self.HALF_LIFE_CORE_HOURS, "ephemeral": self.HALF_LIFE_EPHEMERAL_HOURS}.get(
            decay_class, self.HALF_LIFE_WORKING_HOURS
        )

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Config:
        """Read a configuration from any YAML file, as flux-memory does: unknown keys are logged and skipped."""
        from fluxcore.config.parsing import read

        text = Path(path).expanduser().read_text(encoding="utf-8")
        found = read(text, source=str(path), skip_unknown=True)
        for warning in found.warnings:
            log.warning(warning)
        return found.config


Config.__init__ = _without_removed_keys(Config.__init__)  # type: ignore[method-assign]
FIELDS = {item.name: item for item in fields(Config)}
