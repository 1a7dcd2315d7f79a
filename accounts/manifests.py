"""Agent manifests: a YAML file with a name and `spec.capabilities`, refused with its line if it is wrong.

`spec.trust` and `spec.parent` are optional. `metadata` may contain anything else. A file without a name (only
`spec.capabilities`) needs the name of the agent from the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from accounts import trust
from accounts.capabilities import split
from accounts.names import check_name
from fluxcore.errors import AboveTrust, Invalid, NotFound


@dataclass(frozen=True)
class Manifest:
    """A parsed manifest of an agent."""

    name: str
    space: str | None
    capabilities: list[str]
    trust: str | None = None
    parent: str | None = None


def read(path: Path, agent: str | None = None) -> list[Manifest]:
    """All manifests of a file, separated by `---`. `agent` is the name for a manifest without one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read: {error}.") from None
    try:
        composed = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except RecursionError:
        raise Invalid(f"{path}: nested too deeply.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Invalid(f"{path}{f', line {mark.line + 1}' if mark else ''}: not valid YAML.") from None
    # A `---` at the end of the file begins an empty document.
    nodes = [node for node in composed if node is not None and node.tag != "tag:yaml.org,2002:null"]
    if not nodes:
        raise Invalid(f"{path}: contains no manifest.")
    if agent is not None and len(nodes) > 1:
        raise Invalid(f"{path}: contains {len(nodes)} manifests; --agent can be used with one only.", field="agent")
    return [_manifest(_mapping(node, str(path)), str(path), agent) for node in nodes]


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


def _manifest(top: Mapping, source: str, agent: str | None) -> Manifest:
    _only(top, ("apiVersion", "kind", "metadata", "name", "space", "spec"), source)
    metadata = _mapping(top["metadata"][1], source) if "metadata" in top else {}
    name = _name(top.get("name") or metadata.get("name"), source, agent)
    if "spec" not in top:
        raise Invalid(f"{source}: the manifest has no spec.")
    spec = _mapping(top["spec"][1], source)
    _only(spec, ("capabilities", "trust", "parent"), source)
    line, node = spec.get("capabilities", (0, None))
    if not isinstance(node, yaml.SequenceNode) or not all(isinstance(item, yaml.ScalarNode) for item in node.value):
        raise Invalid(f"{source}, line {line or top['spec'][0]}: spec.capabilities must be a list of texts.")
    level = _checked(spec.get("trust"), "spec.trust", trust.check_level, source)
    parent = _checked(spec.get("parent"), "spec.parent", lambda text: check_name(text, what="a parent"), source)
    for item in node.value:
        with _at(item.start_mark.line + 1, source):
            split(str(item.value))
            if level is not None:
                trust.check(level, [str(item.value)])
    space = _text(top.get("space") or metadata.get("space"), "space", source)
    return Manifest(name, space, [str(item.value) for item in node.value], level, parent)


def _name(entry: tuple[int, Any] | None, source: str, agent: str | None) -> str:
    written = _checked(entry, "name", lambda text: check_name(text, what="an agent"), source)
    if agent is None:
        if written is None:
            raise Invalid(f"{source}: the manifest has no name. Name the agent with --agent.")
        return written
    if written not in (None, agent):
        raise Invalid(f"{source}: the manifest is for {written!r}, not for {agent!r}.", field="agent")
    return check_name(agent, what="an agent")


def _checked(entry: tuple[int, Any] | None, what: str, check: Callable[[str], object], source: str) -> str | None:
    text = _text(entry, what, source)
    if entry is not None and text is not None:
        with _at(entry[0], source):
            check(text)
    return text


@contextmanager
def _at(line: int, source: str) -> Iterator[None]:
    """Add file and line to errors raised in the block."""
    try:
        yield
    except (Invalid, AboveTrust) as error:
        raise type(error)(f"{source}, line {line}: {error.message}", **error.details) from None
