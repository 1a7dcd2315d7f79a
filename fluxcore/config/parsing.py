"""Parser of config.yaml: checks values and refuses whatever would be ignored or misread, with its line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fluxcore.config.all_keys import FIELDS, Config
from fluxcore.config.removed import REMOVED, removed_key_warning

_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class ConfigError(ValueError):
    """config.yaml cannot be used; the message names file and line."""


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration, and warnings about the file."""

    config: Config
    warnings: tuple[str, ...] = ()


def load(path: Path) -> Config:
    """The configuration in that file; the defaults if there is no file yet."""
    return read_file(path).config


def parse(text: str, *, source: str = "config.yaml") -> Config:
    """The configuration in a YAML text; refuses whatever would be ignored or misread."""
    return read(text, source=source).config


def read_file(path: Path) -> LoadedConfig:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return LoadedConfig(Config())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}).") from None
    return read(text, source=str(path))


def read(text: str, *, source: str = "config.yaml", skip_unknown: bool = False) -> LoadedConfig:
    """The configuration in a YAML text, with warnings. `skip_unknown`: warn about unknown keys, do not refuse them."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for key_node, value_node in _pairs(text, source):
        where = f"{source}, line {key_node.start_mark.line + 1}"
        name = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "a list or mapping"
        if name in REMOVED:
            warnings.append(removed_key_warning(name, where))
        elif name not in FIELDS and skip_unknown:
            warnings.append(f"{where}: the key {name!r} is not known and was skipped")
        elif name not in FIELDS:
            raise ConfigError(f"{where}: unknown key {name!r}.{_did_you_mean(name)}")
        elif name in values:
            raise ConfigError(f"{where}: {name} is set twice.")
        else:
            values[name] = check_value(name, _plain(name, value_node, where), where)
            if FIELDS[name].metadata["comes_with"]:
                warnings.append(f"{where}: {not_used_yet(name)}")
    return LoadedConfig(Config(**values), tuple(warnings))


def not_used_yet(name: str) -> str:
    """Warning for whoever sets a key that only a later release will use, also if to its default."""
    return f"{name} is not used yet: it is planned for {FIELDS[name].metadata['comes_with']} and has no effect"


def _pairs(text: str, source: str) -> list[tuple[yaml.Node, yaml.Node]]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise ConfigError(f"{source}: nested too deeply.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}, line {_line(error, text)}: not valid YAML ({_problem(error)}).") from None
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{source}, line {node.start_mark.line + 1}: expected `KEY: value` lines.")
    return list(node.value)


def _line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__)


def _plain(name: str, node: yaml.Node, where: str) -> Any:
    """The value of one key, which must be a scalar. Lists and mappings are refused before they are built."""
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"{where}: {name} must be a single value.")
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        raise ConfigError(f"{where}: {name} cannot be read as a value.") from None


def check_value(name: str, value: Any, where: str) -> Any:
    """The value converted to the type of its key; refused if it has another type or is out of range."""
    item = FIELDS[name]
    wanted = _TYPES[str(item.type)]
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise ConfigError(f"{where}: {name} must be {_TYPE_NAMES[wanted]}, not {value!r}.")
    rule = item.metadata
    if rule["allowed"] and value not in rule["allowed"]:
        raise ConfigError(f"{where}: {name} must be one of {', '.join(rule['allowed'])}, not {value!r}.")
    if rule["low"] is not None and not rule["low"] <= value <= rule["high"]:
        raise ConfigError(f"{where}: {name} must be between {rule['low']} and {rule['high']}, not {value!r}.")
    return value


def _did_you_mean(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.upper(), FIELDS, n=1)
    return f" Did you mean {close[0]}?" if close else ""
