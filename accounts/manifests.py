"""Agent manifests: a YAML file with a name and `spec.capabilities`, refused with its line if it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from accounts.capabilities import split
from accounts.names import check_name
from fluxcore.errors import Invalid, NotFound


@dataclass(frozen=True)
class Manifest:
    name: str
    space: str | None
    capabilities: list[str]


def read(path: Path) -> list[Manifest]:
    """All manifests of a file; several are separated by `---`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read: {error}.") from None
    try:
        composed = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except RecursionError:
        raise Invalid(f"{path}: nested far too deeply.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Invalid(f"{path}{f', line {mark.line + 1}' if mark else ''}: not valid YAML.") from None
    # A `---` at the end of the file begins a document with nothing in it.
    nodes = [node for node in composed if node is not None and node.tag != "tag:yaml.org,2002:null"]
    if not nodes:
        raise Invalid(f"{path}: holds no manifest.")
    return [_manifest(_mapping(node, str(path)), str(path)) for node in nodes]


Mapping = dict[str, tuple[int, Any]]


def _mapping(node: Any, source: str) -> Mapping:
    if not isinstance(node, yaml.MappingNode):
        raise Invalid(f"{source}, line {node.start_mark.line + 1}: expected `key: value` lines.")
    found: Mapping = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise Invalid(f"{source}, line {line}: a key must be a text.")
        if key.value in found:
            raise Invalid(f"{source}, line {line}: {key.value} is set twice.")
        found[str(key.value)] = (line, value)
    return found


def _only(mapping: Mapping, known: tuple[str, ...], source: str) -> None:
    for name, (line, _) in mapping.items():
        if name not in known:
            raise Invalid(f"{source}, line {line}: unknown key {name!r}. Known: {', '.join(known)}.")


def _text(entry: tuple[int, Any] | None, what: str, source: str) -> str | None:
    if entry is None:
        return None
    line, node = entry
    if not isinstance(node, yaml.ScalarNode):
        raise Invalid(f"{source}, line {line}: {what} must be a text.")
    return str(node.value)


def _manifest(top: Mapping, source: str) -> Manifest:
    _only(top, ("apiVersion", "kind", "metadata", "name", "space", "spec"), source)
    metadata = _mapping(top["metadata"][1], source) if "metadata" in top else {}
    _only(metadata, ("name", "space"), source)
    name = _text(top.get("name") or metadata.get("name"), "name", source)
    if name is None:
        raise Invalid(f"{source}: the manifest has no name.")
    try:
        check_name(name, what="an agent")
    except Invalid as error:
        line, _ = top.get("name") or metadata["name"]
        raise Invalid(f"{source}, line {line}: {error.message}", **error.details) from None
    if "spec" not in top:
        raise Invalid(f"{source}: the manifest has no spec.")
    spec = _mapping(top["spec"][1], source)
    _only(spec, ("capabilities",), source)
    line, node = spec.get("capabilities", (0, None))
    if not isinstance(node, yaml.SequenceNode) or not all(isinstance(item, yaml.ScalarNode) for item in node.value):
        raise Invalid(f"{source}, line {line or top['spec'][0]}: spec.capabilities must be a list of texts.")
    for item in node.value:
        try:
            split(str(item.value))
        except Invalid as error:
            raise Invalid(f"{source}, line {item.start_mark.line + 1}: {error.message}", **error.details) from None
    space = _text(top.get("space") or metadata.get("space"), "space", source)
    return Manifest(name=name, space=space, capabilities=[str(item.value) for item in node.value])
