"""config.yaml: the keys of the configuration, each with its default, its range and one sentence.

Unknown or ill-typed keys are refused with their line. Values marked hot take effect in running processes within a
second; the others need a restart, which `flux_status` shows. Setting a key that is not used yet, or no longer, gives
a warning.

Callers use `config.current()`. Keys are declared by topic in the modules `*_keys`.
"""

from __future__ import annotations

from fluxcore.config.all_keys import FIELDS, PROVENANCE_MULTIPLIERS, Config
from fluxcore.config.live_config import Live, current, live
from fluxcore.config.parsing import ConfigError, LoadedConfig, check_value, load, parse, read, read_file
from fluxcore.config.removed import REMOVED
from fluxcore.config.rendering import bound, render

__all__ = [
    "FIELDS",
    "PROVENANCE_MULTIPLIERS",
    "REMOVED",
    "Config",
    "ConfigError",
    "Live",
    "LoadedConfig",
    "bound",
    "check_value",
    "current",
    "live",
    "load",
    "parse",
    "read",
    "read_file",
    "render",
]
