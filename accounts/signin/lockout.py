"""Lock-out: limits of wrong passwords and codes, counted before each check, for all processes together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from accounts.models import GuessCount, User
from fluxcore import clock

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class LockoutRule:
    count: int  # attempts that are checked; then none until `pause` has passed without one
    pause: timedelta
    per_day: int


# A day's count can be used just before its end and again just after: at most twice of it in any 24 hours.
PASSWORD = LockoutRule(count=10, pause=timedelta(minutes=15), per_day=50)
CODE = LockoutRule(count=5, pause=timedelta(minutes=5), per_day=50)


def password_key(username: str) -> str:
    """Key of a user name's attempts, the same for names that exist and names that do not."""
    return f"password:{hashlib.sha256(User.normalize_username(username).casefold().encode()).hexdigest()}"


def link_key(link: int) -> str:
    return f"link:{link}"


def link_code_key(link: int) -> str:
    return f"link-code:{link}"


def code_key(user: int) -> str:
    return f"code:{user}"


def rule_of(key: str) -> LockoutRule:
    return CODE if key.startswith(("code:", "link-code:")) else PASSWORD


def count_guess(key: str, rule: LockoutRule) -> float:
    """Count one attempt, inside a write under the instance's lock: 0 if it may be checked, else seconds to wait."""
    moment = clock.now()
    row = GuessCount.objects.filter(key=key).first()
    if row is None:
        GuessCount.objects.create(key=key, count=1, last_at=moment, day_count=1, day_from=moment)
        return 0
    # A clock that was set back makes these negative, which does not unlock.
    if moment - row.last_at >= rule.pause:
        row.count = 0
    if moment - row.day_from >= _DAY:
        row.day_count, row.day_from = 0, moment
    if row.count >= rule.count:
        return max(1.0, (row.last_at + rule.pause - moment).total_seconds())
    if row.day_count >= rule.per_day:
        return max(1.0, (row.day_from + _DAY - moment).total_seconds())
    row.count += 1
    row.day_count += 1
    row.last_at = max(moment, row.last_at)
    row.save()
    return 0


def uncount_guess(key: str) -> None:
    """Undo the count of an attempt that was right or was not checked."""
    row = GuessCount.objects.filter(key=key).first()
    if row is not None and row.count > 0:
        row.count -= 1
        row.day_count = max(0, row.day_count - 1)
        row.save()


def clear_guesses(*keys: str) -> None:
    GuessCount.objects.filter(key__in=keys).delete()


def is_locked(key: str, rule: LockoutRule) -> bool:
    """Whether the next attempt would be refused; counts nothing."""
    row = GuessCount.objects.filter(key=key).first()
    return row is not None and is_refused(row, rule)


def is_refused(row: GuessCount, rule: LockoutRule) -> bool:
    moment = clock.now()
    return (row.count >= rule.count and moment - row.last_at < rule.pause) or (
        row.day_count >= rule.per_day and moment - row.day_from < _DAY
    )


def forget_old() -> int:
    old = clock.now() - _DAY
    deleted, _ = GuessCount.objects.filter(last_at__lt=old, day_from__lt=old).delete()
    return deleted
