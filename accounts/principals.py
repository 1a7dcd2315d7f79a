"""Who acts now. Made by a door from its credentials, never from an argument."""

from __future__ import annotations

import getpass
from dataclasses import dataclass, replace
from typing import Literal

from accounts.capabilities import Capabilities, parsed
from accounts.models import Space
from fluxcore.errors import NotFound

INSTANCE_CHAIN = "instance"


@dataclass(frozen=True)
class Principal:
    kind: Literal["agent", "user", "shell", "enrolment"]
    name: str
    space: int | None
    chain: str  # the audit chain of its space
    capabilities: Capabilities
    ceiling: str
    agent: int | None = None
    token: int | None = None
    enrolment: int | None = None  # the one-time link of somebody who is not a person of this instance yet
    label: str = ""  # what the caller calls itself inside its agent; shown, never trusted

    @property
    def actor(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def actor_in_space(self) -> str:
        """Unique over spaces: two spaces may each have an agent of the same name."""
        return f"{self.chain}/{self.actor}"

    @property
    def is_authenticated(self) -> bool:
        return True

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


def find_space(name: str) -> Space:
    space = Space.objects.filter(name=name).first()
    if space is None:
        raise NotFound(f"There is no space named {name!r}. `flux_space list` shows what there is.", space=name)
    return space
