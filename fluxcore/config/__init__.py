"""config.yaml: every number that shapes behaviour, with its default, its range and one sentence.

Unknown or ill-typed keys are refused with their line. Values marked hot are picked up by running processes within a
second; the others need a restart and `flux_status` says so. A key that is not used yet, or not any more, is warned
about when somebody sets it.

Callers say `config.current()`. Keys are declared by topic in the modules `*_keys`.
"""

from __future__ import annotations

from fluxcore.config.all_keys import FIELDS, PROVENANCE_MULTIPLIERS, Config
from fluxcore.config.live_config import Live, current, live
from fluxcore.config.parsing import ConfigError, LoadedConfig, check_value, load, parse, read, read_file
from fluxcore.config.removed import REMOVED
from fluxcore.config.rendering import bound, not_used_yet, render

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
    "not_used_yet",
    "parse",
    "read",
    "read_file",
    "render",
]
