"""Initialisation and upgrade of an instance: migrations, the first space, agent and token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts import agents, roles, tokens
from accounts.models import Agent, Space, Token
from accounts.principals import shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict
from fluxsite import backup
from fluxsite.home import DataHome

FIRST_SPACE = "main"
FIRST_AGENT = "assistant"


@dataclass(frozen=True)
class Upgrade:
    """Result of `bring_up_to_date`."""

    applied: list[str]
    backup: Path | None


def bring_up_to_date(home: DataHome) -> Upgrade:
    """Apply missing migrations, after a backup of an existing database; refuse a database of a newer release."""
    executor = MigrationExecutor(connection)
    applied = set(executor.loader.applied_migrations)
    unknown = sorted(f"{app}.{name}" for app, name in applied - set(executor.loader.disk_migrations))
    if unknown:
        raise Conflict(
            f"This database was written by a newer release: it has {', '.join(unknown)}, which this release does "
            "not have. Start that release, or restore a backup made by this one: "
            f"{typed_command('flux_backup restore FILE')}."
        )
    plan = _plan(executor)
    if not plan:
        return Upgrade([], None)
    saved = None
    if applied:
        saved = backup.create(home, label="before-upgrade")
    call_command("migrate", verbosity=0, interactive=False)
    return Upgrade(plan, saved)


def pending_migrations() -> list[str]:
    """Migrations of this release that the database does not have."""
    return _plan(MigrationExecutor(connection))


def _plan(executor: MigrationExecutor) -> list[str]:
    return [f"{step.app_label}.{step.name}" for step, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]


def create_first_agent() -> None:
    """Create the first space and agent of a new instance; nothing if the instance has agents."""
    operator = shell()
    if Agent.objects.exists():
        return
    if not Space.objects.filter(name=FIRST_SPACE).exists():
        agents.create_space(operator, name=FIRST_SPACE, reason="first start")
    agents.create_agent(
        operator,
        space=FIRST_SPACE,
        name=FIRST_AGENT,
        capabilities=list(agents.EVERYDAY_CAPABILITIES),
        reason="first start",
    )


def mint_first_token() -> str | None:
    """Mint the first agent's token; None if there were other agents or tokens before."""
    create_first_agent()
    operator = shell()
    others = Agent.objects.exclude(space__name=FIRST_SPACE, name=FIRST_AGENT)
    if others.exists() or Token.objects.exists():
        return None
    minted = tokens.mint(
        operator,
        space=FIRST_SPACE,
        agent=FIRST_AGENT,
        ceiling="user_stated",
        note="made at first start",
        reason="first start",
    )
    return str(minted["token"])


def find_example_agent() -> Agent | None:
    """Agent for the printed example: the first one, else the oldest active one."""
    active = Agent.objects.select_related("space").filter(active=True).order_by("id")
    return active.filter(space__name=FIRST_SPACE, name=FIRST_AGENT).first() or active.first()


def has_administrator() -> bool:
    return roles.has_administrator()
