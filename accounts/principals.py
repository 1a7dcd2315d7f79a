"""Who acts now. Made by a door from its credentials, never from an argument."""

from __future__ import annotations

import getpass
from dataclasses import dataclass, replace
from typing import Literal

from accounts.capabilities import Capabilities, parsed
from accounts.models import Space
from fluxcore.command_names import typed_command
from fluxcore.errors import NotFound

INSTANCE_CHAIN = "instance"


@dataclass(frozen=True)
class Principal:
    kind: Literal["agent", "user", "shell", "enrolment", "model"]
    name: str
    space: int | None
    chain: str  # the audit chain of its space
    capabilities: Capabilities
    ceiling: str
    agent: int | None = None
    token: int | None = None
    enrolment: int | None = None  # the one-time link of somebody who is not a person of this instance yet
    role: str = ""  # a person's in the space, or "administrator" for the instance as a whole
    user: int | None = None
    fresh: bool = False  # a person who gave a code within the last minutes
    must_rate: bool = False  # an agent that recalls no further while its earlier answers wait for a vote
    tools: tuple[str, ...] = ()  # groups of MCP tools an agent is shown beyond the usual ones
    label: str = ""  # what the caller calls itself inside its agent; shown, never trusted
    limited: bool = False  # no agent and yet under an agent's limits: a program that opened the instance itself

    @property
    def actor(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def actor_in_space(self) -> str:
        """Unique over spaces: two spaces may each have an agent of the same name."""
        return f"{self.chain}/{self.actor}"

    @property
    def counted_as(self) -> str:
        """Whose limits its writes count under; "" for people and the shell, who have none."""
        if self.agent is not None:
            return str(self.agent)
        return self.actor_in_space if self.limited else ""

    @property
    def is_authenticated(self) -> bool:
        return True

    def reaches(self, space: int) -> bool:
        """Whether a row of that space is within reach at all: one's own, or any for the shell and administrators."""
        return self.space is None or self.space == space

    def labelled(self, label: str) -> Principal:
        return replace(self, label=label) if label else self


def shell(space: Space | None = None) -> Principal:
    """The operator at the machine's shell. Whoever can read the data home can do anything to it anyway."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown"
    return Principal(
        kind="shell",
        name=name[:64],
        space=space.pk if space else None,
        chain=space.uuid.hex if space else INSTANCE_CHAIN,
        capabilities=parsed(()),
        ceiling="user_stated",
    )


def find_space(name: str, within: Principal | None = None) -> Space:
    """The space of that name. One out of the principal's reach is answered like one that is not there."""
    space = Space.objects.filter(name=name).first()
    if space is None or (within is not None and not within.reaches(space.pk)):
        raise NotFound(
            f"There is no space named {name!r}. `{typed_command('flux_space list')}` lists all spaces.", space=name
        )
    return space
