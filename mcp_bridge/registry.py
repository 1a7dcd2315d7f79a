"""Registry of the MCP tools: their groups, who is shown which, and the check of their arguments.

To add a group: write `mcp_bridge/tools/<name>.py` with `GROUP = Group("<name>", "what it is for", (Tool(...), ...))`
and put the name and the same sentence into `SWITCHED_GROUPS` below. Tools of calls declared in `flux/calls/` come
from `mcp_bridge/calls.py` (docs/adding-a-call.md). People then switch it on for an agent
(`flux_agent tools NAME +<name>`, or on the agent's page); no other agent is shown its tools.

A tool declares the capabilities it `needs` (all of them), the JSON schemas of its arguments and its answer (built with
`mcp_bridge/schemas.py`), and `run(principal, given)`, an ordinary function over verbs and selectors, which make the one
authorisation call. It raises FluxError to refuse; the caller reads its code and message. Arguments that `takes` does
not allow never reach it. There are no tools for purge, restore, grants and policy: they are for people and the shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from accounts.authorise import FOR_EVERY_AGENT, authorise, may
from accounts.principals import Principal
from fluxcore import canonical_json
from fluxcore.errors import Invalid, NotFound
from mcp_bridge import arguments

DEFAULT_GROUP = "grains"  # the group every agent is shown
# Groups that people switch on, agent by agent: name and what it is for.
SWITCHED_GROUPS: dict[str, str] = {
    "extraction": "submit whole texts, from which a local model extracts single statements",
    "memory": "exact memory: values under keys",
    "board": "boards, locks and queues shared with other agents",
    "artifacts": "stores of files with versions, and transcripts of conversations",
}

Run = Callable[[Principal, dict[str, Any]], dict[str, Any]]
# Capabilities that a call requires, each with the name of its target (None: no target).
Asks = Callable[[Principal, dict[str, Any]], Iterable[tuple[str, str | None]]]
# Arguments by which a caller may label itself in any call, as in flux-memory, with their maximum lengths.
LABELS = {"caller_id": 128, "client": 60, "role": 60}
# Only this label is published with every tool, to save tokens.
CALLER_ID = {"type": "string", "maxLength": LABELS["caller_id"], "description": "The caller, as client:role."}


@dataclass(frozen=True, eq=False)
class Tool:
    """An MCP tool. From the four hints clients decide which calls to confirm with the user."""

    name: str
    title: str
    says: str  # description for the model: when to call it and what it returns
    run: Run
    takes: Mapping[str, Any] = field(default_factory=dict)  # properties by name
    required: tuple[str, ...] = ()
    gives: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    asks: Asks | None = None  # for capabilities with targets: what this call requires, as in its verb
    one_by_one: tuple[str, ...] = ()  # list arguments whose elements the verb accepts or refuses one by one
    reads: bool = False  # changes nothing
    destroys: bool = False  # what it overwrites cannot be restored
    repeats: bool = False  # repeating the same call changes nothing more
    world: bool = False  # reaches beyond this memory

    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {**self.takes, "caller_id": CALLER_ID},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def output_schema(self) -> dict[str, Any]:
        return {"type": "object", **self.gives}


@dataclass(frozen=True)
class Group:
    name: str
    says: str
    tools: tuple[Tool, ...]


@lru_cache
def load_group(name: str) -> Group:
    """A group by its name; its modules are imported at its first use."""
    found: Group = import_module(f"mcp_bridge.tools.{name}").GROUP
    return found


def visible_tools(principal: Principal) -> list[Tool]:
    """Tools the caller may call: of the default group and of groups switched on for it, as its capabilities allow."""
    return [tool for tool in switched_on_tools(principal) if may_call(principal, tool)]


def switched_on_tools(principal: Principal) -> list[Tool]:
    names = (DEFAULT_GROUP, *(name for name in principal.tools if name in SWITCHED_GROUPS))
    return [tool for name in names for tool in load_group(name).tools]


def may_call(principal: Principal, tool: Tool) -> bool:
    return all(holds_somewhere(principal, operation) for operation in tool.needs)


def holds_somewhere(principal: Principal, operation: str) -> bool:
    """Whether the caller has the capability for any target; the verb checks the actual one."""
    if principal.kind != "agent":
        return may(principal, operation)
    return operation in FOR_EVERY_AGENT or principal.capabilities.anywhere(operation)


def demand_capabilities(principal: Principal, tool: Tool, given: dict[str, Any]) -> None:
    """Refuse a caller that lacks a needed capability for every target, with a record in the audit chain.

    Whether it has the capability for the actual target is checked by the verb.
    """
    if may_call(principal, tool):
        return
    asked = tool.asks(principal, given) if tool.asks else [(operation, None) for operation in tool.needs]
    for operation, target in asked:
        authorise(principal, operation, target, action=f"tools.{tool.name}")
    for operation in tool.needs:  # those that `asks` did not name
        authorise(principal, operation, action=f"tools.{tool.name}")


def find_tool(name: str) -> Tool | None:
    """A tool by its name, whoever it is shown to."""
    tools = (tool for group in (DEFAULT_GROUP, *SWITCHED_GROUPS) for tool in load_group(group).tools)
    return next((tool for tool in tools if tool.name == name), None)


class UnknownTool(NotFound):
    """No tool of that name is offered to the caller."""


def find_for(principal: Principal, name: str) -> Tool:
    """A tool of the caller's groups, also if it lacks a capability for it: the verb then refuses and names that."""
    tool = find_tool(name)
    if tool is None or not any(
        tool in load_group(group).tools
        for group in (DEFAULT_GROUP, *principal.tools)
        if group in (DEFAULT_GROUP, *SWITCHED_GROUPS)
    ):
        known = ", ".join(visible.name for visible in visible_tools(principal))
        raise UnknownTool(f"There is no tool {name[:64]!r} for you. Allowed: {known or 'none'}.", tool=name[:64])
    return tool


def check_arguments(tool: Tool, given: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """The checked arguments of a call, and the caller's label. Null counts as an argument left out."""
    value = dict(given or {})
    label = _label({name: value.pop(name) for name in LABELS if name in value and name not in tool.takes})
    for name in value:
        if name not in tool.takes:
            known = ", ".join(tool.takes) or "none"
            raise Invalid(f"{tool.name} has no argument {name[:64]!r}. It takes: {known}.", field=name[:64])
    value = {name: found for name, found in value.items() if found is not None or "type" not in tool.takes[name]}
    for name in tool.required:
        if value.get(name) is None:
            raise Invalid(f"{tool.name} needs the argument {name!r}.", field=name)
    for name, argument in value.items():
        arguments.check(tool.takes[name], argument, name, unchecked=tool.one_by_one)
    _readable(value)
    return value, label


def _readable(value: dict[str, Any]) -> None:
    """Refuse values that our JSON reader cannot read: the SDK accepts NaN and any depth, which could then be stored."""
    if all(isinstance(argument, str) for argument in value.values()):
        return
    try:
        text = canonical_json.dumps(value)
    except (ValueError, TypeError, RecursionError):
        raise Invalid(
            "The arguments are not valid JSON: NaN and infinity are not allowed.", field="arguments"
        ) from None
    canonical_json.loads(text.encode("utf-8", "surrogatepass"))


def _label(given: Mapping[str, Any]) -> str:
    for name, value in given.items():
        if value is not None and (not isinstance(value, str) or len(value) > LABELS[name] or not value.isprintable()):
            raise Invalid(f"{name} must have at most {LABELS[name]} characters, all of them visible.", field=name)
    return given.get("caller_id") or ":".join(given[name] for name in ("client", "role") if given.get(name))
