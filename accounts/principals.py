"""Principals: who makes a call. Created by servers from credentials, never from arguments."""

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
    """Who makes a call: an agent, a person, the shell, a one-time link or the model, with its rights."""

    kind: Literal["agent", "user", "shell", "enrolment", "model"]
    name: str
    space: int | None
    chain: str  # the audit chain of its space
    capabilities: Capabilities
    ceiling: str
    agent: int | None = None
    token: int | None = None
    enrolment: int | None = None  # one-time link of somebody who has no account yet
    role: str = ""  # role of a person in the space, or "administrator" for the whole instance
    user: int | None = None
    fresh: bool = False  # whether a person has entered a code within the last minutes
    must_rate: bool = False  # whether recalls of the agent need feedback on earlier answers
    tools: tuple[str, ...] = ()  # groups of MCP tools in addition to the default ones
    label: str = ""  # label of the caller within its agent; shown, not authenticated
    limited: bool = False  # not an agent but with its limits: a program that opened the instance directly

    @property
    def actor(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def actor_in_space(self) -> str:
        """The actor with its chain, unique over spaces, which may have agents of the same name."""
        return f"{self.chain}/{self.actor}"

    @property
    def counted_as(self) -> str:
        """Key of its rate limits; "" for people and the shell, who have none."""
        if self.agent is not None:
            return str(self.agent)
        return self.actor_in_space if self.limited else ""

    @property
    def is_authenticated(self) -> bool:
        return True

    def reaches(self, space: int) -> bool:
        """Whether rows of that space may be accessible: the own space, or any for the shell and administrators."""
        return self.space is None or self.space == space

    def labelled(self, label: str) -> Principal:
        return replace(self, label=label) if label else self


def shell(space: Space | None = None) -> Principal:
    """Principal of the shell, which may do anything: whoever can read the data home can change it anyway."""
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
    """The space of that name. A space the principal cannot access is NotFound too."""
    space = Space.objects.filter(name=name).first()
    if space is None or (within is not None and not within.reaches(space.pk)):
        raise NotFound(
            f"There is no space named {name!r}. `{typed_command('flux_space list')}` lists all spaces.", space=name
        )
    return space
