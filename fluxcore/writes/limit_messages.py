"""Errors for reached limits: which limit, its value, the config key that raises it, what to do.

Every 429 and every 413 of a limit or quota is created here, so that REST, MCP, SDK and shell have the same text: the
message is for people and models, `details` for programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fluxcore.command_names import typed_command
from fluxcore.errors import NameLocked, QuotaReached, RateLimited, TooLarge

BULK = "flux import"  # loads files without a limit per minute
_BULK_SAYS = f"To load many at once without this limit: `{BULK} FILE` (in a checkout `manage.py flux_import FILE`)."
DELETE = "Delete something first"
WAIT = "Wait for the seconds in Retry-After"


@dataclass(frozen=True)
class Rate:
    """A limit per minute."""

    what: str  # follows the number in the message: "500 grains stored by one agent"
    raised_by: str | None = None  # key of config.yaml or environment variable; None: the limit is fixed
    bulk: bool = False  # whether `flux import` does the same without this limit
    of_caller: str = ""  # as `what`, for the share of one caller (X-Caller-Id) inside the agent's


# Limits by the first part of their key in `limits`: "grains:12" is one agent's count of grains.
RATES = {
    "grains": Rate(
        "memories stored by one agent", "MAX_GRAINS_PER_MINUTE", bulk=True, of_caller="memories stored by one caller"
    ),
    "recalls": Rate("recalls of one agent", "MAX_RECALLS_PER_MINUTE"),
    "votes": Rate("ratings by one agent", "MAX_VOTES_PER_MINUTE"),
    "kv": Rate("keys, locks and tasks changed by one agent", "MAX_KV_WRITES_PER_MINUTE"),
    "files": Rate("files and messages written by one agent", "MAX_FILE_WRITES_PER_MINUTE"),
    "grant_requests": Rate("requests for capabilities of one agent"),
    "refusals": Rate("refused requests of one caller"),
    "sign-in": Rate("sign-in attempts from one address"),
}
_OTHER = Rate("calls")


def rate_of(key: str) -> Rate:
    return RATES.get(key.partition(":")[0], _OTHER)


def rate_reached(
    key: str, *, limit: int, seconds: int, wait: float, of_caller: bool = False, do: str = WAIT
) -> RateLimited:
    """429: a limit per minute is reached. Waiting helps."""
    rate = rate_of(key)
    what = rate.of_caller if of_caller else rate.what
    message = f"The limit is reached: {limit} {what} in {seconds} seconds. {do}."
    details: dict[str, Any] = {"limit": limit, "per_seconds": seconds, "what": what}
    return RateLimited(_more(message, details, rate.raised_by, bulk=rate.bulk), retry_after=wait, **details)


def at_once_reached(
    what: str, *, limit: int, raised_by: str | None, wait: float, do: str, error: type[RateLimited] = RateLimited
) -> RateLimited:
    """429: too many are open at the same time; one of them has to end first."""
    message = f"The limit is reached: {limit} {what} at the same time. {do}."
    details: dict[str, Any] = {"limit": limit, "what": what}
    return error(_more(message, details, raised_by), retry_after=wait, **details)


def name_locked(*, limit: int, per_day: int, wait: float) -> NameLocked:
    """429: too many guesses at one name's password or code; it ends by itself, or an administrator ends it."""
    what, minutes = "wrong passwords or codes in a row", max(1, round(wait / 60))
    unlock = typed_command("flux_admin unlock NAME")
    message = (
        f"The limit is reached: {limit} {what}, or {per_day} in a day. Sign-in is locked for {minutes} more "
        f"minute{'s' if minutes > 1 else ''}. An administrator can unlock it before that: {unlock}."
    )
    details: dict[str, Any] = {"limit": limit, "per_day": per_day, "what": what, "ended_by": unlock}
    return NameLocked(_more(message, details, None), retry_after=wait, **details)


def over_rate(key: str, *, limit: int, cost: int) -> tuple[str, dict[str, Any]]:
    """Message and details for one call that is larger than a minute's limit. Waiting does not help."""
    rate = rate_of(key)
    message = f"One call can have at most {limit} {rate.what}, the limit of a minute; this one has {cost}. Split it."
    details: dict[str, Any] = {"limit": limit, "what": rate.what}
    return _more(message, details, rate.raised_by, bulk=rate.bulk), details


def quota_reached(
    where: str, *, limit: int, what: str, raised_by: str | None, do: str = DELETE, **more: Any
) -> QuotaReached:
    """413: a quota is reached. `where` is what is full ("boards/main"), `what` its unit ("bytes")."""
    message = f"{where} is full: it has at most {limit} {what}. {do}."
    details: dict[str, Any] = {"limit": limit, "what": what, **more}
    return QuotaReached(_more(message, details, raised_by), **details)


def policy_reached(where: str, *, limit: int, what: str, policy: str, do: str, store: str) -> QuotaReached:
    """413: a store is full by its own policy, which an owner of the space changes."""
    command = typed_command(f"flux_files policy {store} --{policy.replace('_', '-')} N")
    message = f"{where} is full: its policy allows {limit} {what} ({policy}). {do}."
    details: dict[str, Any] = {"limit": limit, "what": what, "policy": policy, "changed_by": command}
    return QuotaReached(f"{message} An owner of the space changes the policy: `{command}`.", **details)


def too_large(
    what: str, *, limit: int, raised_by: str | None, unit: str = "bytes", bulk: bool = False, **more: Any
) -> TooLarge:
    """413: one thing is larger than allowed. `what` is the thing ("A value")."""
    message = f"{what} has at most {limit} {unit}."
    details: dict[str, Any] = {"limit": limit, "what": unit, **more}
    return TooLarge(_more(message, details, raised_by, bulk=bulk), **details)


def too_large_for_a_page(what: str, *, limit: int, unit: str, command: str) -> TooLarge:
    """413: too large for a web page; the command `flux_...` has no limit."""
    name = typed_command(command)
    details: dict[str, Any] = {"limit": limit, "what": unit, "without_limit": name}
    return TooLarge(f"{what} has at most {limit} {unit}. `{name}` on the command line has no size limit.", **details)


def body_too_large(what: str, limit: int, raised_by: str | None = "FLUX_MAX_BODY_BYTES") -> TooLarge:
    """413: a whole request is too large. `flux import` takes any number of texts."""
    return too_large(what, limit=limit, raised_by=raised_by, bulk=True)


def _more(message: str, details: dict[str, Any], raised_by: str | None, *, bulk: bool = False) -> str:
    """Add to message and details what raises the limit and which command has none."""
    if raised_by is None:
        message += " This limit is fixed."
    else:
        details["raised_by"] = raised_by
        where = "the environment" if raised_by.startswith("FLUX_") else "config.yaml"
        message += f" {raised_by} in {where} raises it."
    if bulk:
        details["without_limit"] = BULK
        message += f" {_BULK_SAYS}"
    return message
