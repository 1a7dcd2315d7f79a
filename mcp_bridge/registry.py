"""The tools agents are offered, in groups, and who sees which.

To add a group: write `mcp_bridge/tools/<name>.py` with `GROUP = Group("<name>", "what it is for", (Tool(...), ...))`
and put the name and the same sentence into `SWITCHED` below. Tools of calls declared in `flux/calls/` come
from `mcp_bridge/calls.py` (docs/adding-a-call.md). People then switch it on for an agent
(`flux_agent tools NAME +<name>`, or on the agent's page); nobody else is shown a tool of it.

A tool says what it `needs` (capabilities, all of them), what it takes and gives as JSON schema (`mcp_bridge/schemas.py`
has the words for that), and `run(principal, given)`: an ordinary function over verbs and selectors, which make the one
authorisation call. It raises FluxError to refuse; the caller reads its code and message. Arguments that `takes` does
not allow never reach it. Purge, restore, grants and policy are nobody's tools: they are for people and the shell.
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
    "extraction": "hand over whole texts, in which a local model finds the single statements",
    "memory": "exact memory under keys",
    "board": "boards, locks and queues shared with other agents",
}

Run = Callable[[Principal, dict[str, Any]], dict[str, Any]]
# The capabilities a call asks for and the names it reaches for with them.
Asks = Callable[[Principal, dict[str, Any]], Iterable[tuple[str, str | None]]]
# What a caller may say about itself in any call, as with flux-memory: a label, never an identity.
LABELS = {"caller_id": 128, "client": 60, "role": 60}
# The one that is published with every tool: three would cost every model their words.
CALLER_ID = {"type": "string", "maxLength": LABELS["caller_id"], "description": "Who calls, as client:role."}


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool. The four hints tell clients what may be done without asking the user."""

    name: str
    title: str
    says: str  # for the model: when to call it and what comes back
    run: Run
    takes: Mapping[str, Any] = field(default_factory=dict)  # properties by name
    required: tuple[str, ...] = ()
    gives: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    asks: Asks | None = None  # where capabilities are for names: what this call asks for, as its verb would
    one_by_one: tuple[str, ...] = ()  # lists whose elements are accepted or refused each on its own, by the verb
    reads: bool = False  # changes nothing
    destroys: bool = False  # what it overwrites cannot be had again
    repeats: bool = False  # the same call again changes nothing more
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
    """A group by its name; its rooms are imported when somebody is shown it."""
    found: Group = import_module(f"mcp_bridge.tools.{name}").GROUP
    return found


def visible_tools(principal: Principal) -> list[Tool]:
    """What the caller may call: the usual tools and those switched on for it, as far as its capabilities go."""
    return [tool for tool in switched_on_tools(principal) if may_call(principal, tool)]


def switched_on_tools(principal: Principal) -> list[Tool]:
    names = (DEFAULT_GROUP, *(name for name in principal.tools if name in SWITCHED_GROUPS))
    return [tool for name in names for tool in load_group(name).tools]


def may_call(principal: Principal, tool: Tool) -> bool:
    return all(holds_somewhere(principal, operation) for operation in tool.needs)


def holds_somewhere(principal: Principal, operation: str) -> bool:
    """For some names at least; which ones, the verb sees."""
    if principal.kind != "agent":
        return may(principal, operation)
    return operation in FOR_EVERY_AGENT or principal.capabilities.anywhere(operation)


def demand_capabilities(principal: Principal, tool: Tool, given: dict[str, Any]) -> None:
    """Refuse, on the chain, who lacks what the tool needs altogether. Single names are the verb's to judge."""
    if may_call(principal, tool):
        return
    asked = tool.asks(principal, given) if tool.asks else [(operation, None) for operation in tool.needs]
    for operation, target in asked:
        authorise(principal, operation, target, action=f"tools.{tool.name}")
    for operation in tool.needs:  # what `asks` left out
        authorise(principal, operation, action=f"tools.{tool.name}")


def find_tool(name: str) -> Tool | None:
    """Any tool there is, shown or not."""
    return next(
        (tool for one in (DEFAULT_GROUP, *SWITCHED_GROUPS) for tool in load_group(one).tools if tool.name == name), None
    )


class UnknownTool(NotFound):
    """No tool of that name is offered to the caller."""


def find_for(principal: Principal, name: str) -> Tool:
    """A tool the caller is shown, or one it holds too little for: the verb refuses that with the missing capability."""
    tool = find_tool(name)
    if tool is None or not any(
        tool in load_group(one).tools
        for one in (DEFAULT_GROUP, *principal.tools)
        if one in (DEFAULT_GROUP, *SWITCHED_GROUPS)
    ):
        known = ", ".join(one.name for one in visible_tools(principal))
        raise UnknownTool(f"There is no tool {name[:64]!r} for you. Allowed: {known or 'none'}.", tool=name[:64])
    return tool


def check_arguments(tool: Tool, given: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """The arguments a tool takes, and the label the caller gave itself. Null leaves an argument out."""
    value = dict(given or {})
    label = _label({name: value.pop(name) for name in LABELS if name in value and name not in tool.takes})
    for name in value:
        if name not in tool.takes:
            known = ", ".join(tool.takes) or "none"
            raise Invalid(f"{tool.name} has no argument {name[:64]!r}. It takes: {known}.", field=name[:64])
    value = {name: one for name, one in value.items() if one is not None or "type" not in tool.takes[name]}
    for name in tool.required:
        if value.get(name) is None:
            raise Invalid(f"{tool.name} needs the argument {name!r}.", field=name)
    for name, one in value.items():
        arguments.check(tool.takes[name], one, name, unchecked=tool.one_by_one)
    _readable(value)
    return value, label


def _readable(value: dict[str, Any]) -> None:
    """The SDK's reader takes numbers and depths that ours refuses: kept, such a value could never be read again."""
    if all(isinstance(one, str) for one in value.values()):
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
