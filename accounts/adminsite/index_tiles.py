"""Tiles of the admin index: counts of what needs attention, and the first steps of a new instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.http import urlencode

from accounts.adminsite.state_badges import ENDING_SOON
from accounts.audit import chain_status, checkpoints
from accounts.models import Agent, Authenticator, GrantRequest, GuessCount, RefusalMinute, Token, User
from accounts.signin import lockout
from accounts.visitor import SignedIn
from fluxcore import clock
from fluxcore.models import Job

_LATELY = timedelta(hours=24)


@dataclass(frozen=True)
class Tile:
    """A count on the admin index with its label and link."""

    rows: int | QuerySet[Any]  # the count itself, or the rows to count
    one: str  # the label for a count of one
    many: str
    link: str
    urgent: bool = False  # shown first and in another colour
    count: int = 0

    @property
    def says(self) -> str:
        return self.one if self.count == 1 else self.many


@dataclass(frozen=True)
class SetupStep:
    """One of the first steps in a new instance."""

    says: str
    how: str
    link: str
    done: bool


def list_address(name: str, **query: Any) -> str:
    return reverse(f"admin:{name}_changelist") + (f"?{urlencode(query)}" if query else "")


_tile_functions: list[Callable[[SignedIn], list[Tile]]] = []


def register_tiles(make: Callable[[SignedIn], list[Tile]]) -> Callable[[SignedIn], list[Tile]]:
    """Register a function that makes tiles: other apps add theirs in their `admin.py`."""
    _tile_functions.append(make)
    return make


def visible_tiles(who: SignedIn) -> list[Tile]:
    """The tiles whose count is not zero, urgent ones first."""
    tiles = [tile for make in _tile_functions for tile in make(who)]
    counts = _counts([tile.rows for tile in tiles])
    visible = [replace(tile, count=count) for tile, count in zip(tiles, counts, strict=True) if count]
    return sorted(visible, key=lambda tile: not tile.urgent)


def _counts(wanted: list[int | QuerySet[Any]]) -> list[int]:
    """Count all tiles with one SQL statement, because the index is opened often."""
    found = [0 if isinstance(rows, QuerySet) else rows for rows in wanted]
    places: list[int] = []
    parts: list[str] = []
    values: list[Any] = []
    for place, rows in enumerate(wanted):
        if not isinstance(rows, QuerySet):
            continue
        try:
            sql, given = rows.query.sql_with_params()
        except EmptyResultSet:
            continue  # no row can match, so it is not part of the statement
        places.append(place)
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS counted_{place})")  # noqa: S608  Django's own SQL
        values.extend(given)
    if parts:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(parts)}", values)
            row = cursor.fetchone()
        for place, count in zip(places, row, strict=True):
            found[place] = count
    return found


@register_tiles
def _audit(who: SignedIn) -> list[Tile]:
    if not who.may("instance.manage"):
        return []
    chains = reverse("admin:chains")
    return [
        Tile(
            len(chain_status.broken_chains()),
            "audit chain failed its last verification",
            "audit chains failed their last verification",
            chains,
            True,
        ),
        Tile(
            len(checkpoints.checkpoint_warnings()),
            "warning about audit checkpoints",
            "warnings about audit checkpoints",
            chains,
            True,
        ),
    ]


@register_tiles
def _requests(who: SignedIn) -> list[Tile]:
    waiting = GrantRequest.objects.filter(state="waiting", agent__space__in=who.spaces_where("grant"))
    link = list_address("accounts_grantrequest", state="waiting")
    return [
        Tile(waiting.values("pk"), "grant request waits for an answer", "grant requests wait for an answer", link, True)
    ]


@register_tiles
def _jobs(who: SignedIn) -> list[Tile]:
    parked = Job.objects.filter(state=Job.State.PARKED)
    if not who.may("jobs.manage"):
        parked = parked.filter(space__in=who.spaces_where("jobs.manage"))
    link = list_address("fluxcore_job", state="parked")
    return [Tile(parked.values("pk"), "job failed and is parked", "jobs failed and are parked", link, True)]


@register_tiles
def _people(who: SignedIn) -> list[Tile]:
    if not who.may("people.manage"):
        return []
    without = User.objects.filter(is_active=True).exclude(pk__in=Authenticator.objects.values("user"))
    # Only rows that may have reached a limit; `lockout.is_refused` decides.
    counted = GuessCount.objects.filter(Q(count__gte=lockout.CODE.count) | Q(day_count__gte=lockout.CODE.per_day))
    locked = [row for row in counted[:1000] if lockout.is_refused(row, lockout.rule_of(row.key))]
    return [
        Tile(
            len(locked),
            "sign-in is locked after wrong passwords or codes",
            "sign-ins are locked after wrong passwords or codes",
            list_address("accounts_guesscount"),
            True,
        ),
        Tile(
            without.values("pk"),
            "person has no second factor yet",
            "people have no second factor yet",
            list_address("accounts_user", factor="none", state="active"),
        ),
    ]


@register_tiles
def _tokens(who: SignedIn) -> list[Tile]:
    moment, mine = clock.now(), who.spaces_where("accounts.manage")
    ending = Token.objects.filter(
        agent__space__in=mine, revoked_at=None, expires_at__gt=moment, expires_at__lte=moment + ENDING_SOON
    )
    silent = Agent.objects.filter(agents_never_called(), space__in=mine)
    return [
        Tile(
            ending.values("pk"),
            "token expires within a week",
            "tokens expire within a week",
            list_address("accounts_token", state="ending"),
        ),
        Tile(
            silent.values("pk"),
            "agent has never sent a request",
            "agents have never sent a request",
            list_address("accounts_agent", calls="never"),
        ),
    ]


def agents_never_called() -> Q:
    """Active agents none of whose tokens was ever used."""
    return Q(active=True) & ~Q(pk__in=Token.objects.filter(last_used_at__isnull=False).values("agent"))


@register_tiles
def _refusals(who: SignedIn) -> list[Tile]:
    if not who.may("instance.manage"):
        return []
    lately = RefusalMinute.objects.filter(minute__gt=clock.now() - _LATELY).order_by().values("source").distinct()
    return [
        Tile(
            lately,
            "address had failed sign-ins in the last 24 hours",
            "addresses had failed sign-ins in the last 24 hours",
            list_address("accounts_refusalminute"),
        )
    ]


def setup_steps(who: SignedIn) -> list[SetupStep]:
    """First steps of a new instance, for people who may take them, until an agent has sent its first request."""
    mine = who.spaces_where("accounts.manage")
    if Token.objects.filter(last_used_at__isnull=False).exists() or not (mine or who.may("instance.manage")):
        return []
    has_agent = Agent.objects.filter(space__in=mine).exists()
    has_token = Token.objects.filter(agent__space__in=mine, revoked_at=None).exists()
    return [
        SetupStep(
            "Create a space",
            "to hold the memories that a group of agents shares.",
            reverse("admin:accounts_space_add"),
            bool(mine),
        ),
        SetupStep(
            "Create an agent",
            "for each program that uses the memory, with its name and capabilities.",
            reverse("admin:accounts_agent_add"),
            has_agent,
        ),
        SetupStep(
            "Mint its token", "on the agent's page. The token is shown once.", list_address("accounts_agent"), has_token
        ),
        SetupStep(
            "Send the first request",
            "with the token, to the REST or MCP address on the dashboard. After that these steps are no longer shown.",
            reverse("home"),
            False,
        ),
    ]
