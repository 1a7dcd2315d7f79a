"""Admin pages of sign-in: sessions, one-time links, sign-in locks, failed sign-ins."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from accounts import people, roles
from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.models import Enrolment, GuessCount, RefusalMinute, Session, User
from accounts.principals import Principal
from accounts.signin import links, lockout
from fluxcore import clock
from fluxcore.errors import Conflict


def _end(principal: Principal, row: Session, **given: Any) -> None:
    if row.user is None or principal.user == row.user.pk:
        raise Conflict("You cannot end your own session here. Use Your account.")
    people.end_sessions(principal, username=row.user.username, session=row.session_key, **given)


@admin.register(Session)
class SessionPage(FluxModelAdmin):
    reads = "instance.manage"
    called = ("session", "sessions")
    group = "People"
    about = "People who are signed in. A session ends 12 hours after sign-in, or when you end it here."
    row_actions = (
        Action(
            "end",
            "End session",
            "instance.manage",
            _end,
            dangerous=True,
            done="Session ended.",
            says="The person has to sign in again in that browser.",
        ),
    )
    list_display = ["person", "source", "browser_name", "signed_in", "seen", "ends"]
    list_select_related = ["user"]
    search_fields = ["user__username", "source"]
    ordering = ["-seen_at"]
    fields = ["person", "source", "browser", "signed_in", "seen", "ends"]
    empty_says = "Nobody is signed in."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Only sessions of signed-in people; those of other visitors exist only for their forms."""
        return super().get_queryset(request).filter(user__isnull=False).select_related("user").defer("session_data")

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        own = Session._meta.get_field("session_key").get_prep_value(request.session.session_key)
        for row in rows:
            row.is_this_one = row.pk == own

    def titled(self, row: Any) -> str:
        return f"Session of {row.user.username}"

    @admin.display(description="person", ordering="user__username")
    def person(self, row: Any) -> Any:
        return format_html(
            "{} {}", row.user.username, formatting.badge("this session", "calm") if row.is_this_one else ""
        )

    @admin.display(description="browser")
    def browser_name(self, row: Any) -> str:
        return formatting.shorten(row.browser, 60)

    @admin.display(description="signed in", ordering="created_at")
    def signed_in(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)

    @admin.display(description="last seen", ordering="seen_at")
    def seen(self, row: Any) -> Any:
        return formatting.relative_time(row.seen_at)

    @admin.display(description="expires", ordering="expire_date")
    def ends(self, row: Any) -> Any:
        return formatting.relative_time(row.expire_date)


def _open() -> Q:
    return Q(used_at=None, expires_at__gt=clock.now(), wrong_codes__lt=links.MAX_WRONG)


@admin.register(Enrolment)
class OneTimeLinkPage(FluxModelAdmin):
    reads = "instance.manage"
    called = ("one-time link", "one-time links")
    group = "People"
    about = (
        "Links for enrolment and account recovery. Each works once. A new link for the same person replaces the "
        "earlier one."
    )
    list_display = ["purpose_label", "state", "person", "created", "ends"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "open": ("open", _open),
                "used": ("used", lambda: Q(used_at__isnull=False)),
                "closed": ("expired", lambda: Q(used_at=None) & ~_open()),
            },
        ),
        filters.values("purpose", "purpose", Enrolment.Purpose.values),
    ]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["-id"]
    fields = ["purpose_label", "person", "created", "ends", "used", "wrong_codes", "state"]
    empty_says = "No links yet. Invite somebody under People: the link is shown once, there."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("user").defer("digest")

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        taken = roles.has_administrator()
        for row in rows:
            row.superseded = taken and row.purpose == Enrolment.Purpose.FIRST

    def titled(self, row: Any) -> str:
        return f"Link for {self.person(row)}"

    @admin.display(description="purpose", ordering="purpose")
    def purpose_label(self, row: Any) -> str:
        return {
            "first": "first administrator",
            "account": "new account",
            "factor": "new second factor",
            "unlock": "sign-in while locked",
        }[row.purpose]

    @admin.display(description="person", ordering="user__username")
    def person(self, row: Any) -> str:
        return row.user.username if row.user is not None else "anyone with the link"

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)

    @admin.display(description="expires", ordering="expires_at")
    def ends(self, row: Any) -> Any:
        return formatting.relative_time(row.expires_at)

    @admin.display(description="used", ordering="used_at")
    def used(self, row: Any) -> Any:
        return formatting.relative_time(row.used_at, none="not yet")

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if row.used_at is not None:
            return formatting.badge("used")
        if row.superseded:
            return formatting.badge("closed", title="There is already an administrator.")
        if row.wrong_codes >= links.MAX_WRONG:
            return formatting.badge("blocked", "bad", title="Too many wrong codes.")
        return formatting.badge("open", "warn") if row.expires_at > clock.now() else formatting.badge("expired")


def _unlock(principal: Principal, row: Any, **given: Any) -> dict[str, Any]:
    return dict(people.unlock(principal, username=row.username, **given))


@admin.register(GuessCount)
class LockoutPage(FluxModelAdmin):
    reads = "instance.manage"
    called = ("sign-in lock", "sign-in locks")
    group = "People"
    about = (
        "Wrong passwords and codes, counted by user name, whether the name exists or not. Above the limit every "
        "sign-in with that name is refused until there were no attempts for a while."
    )
    row_actions = (
        Action(
            "unlock",
            "Unlock",
            "instance.manage",
            _unlock,
            shows="admin/flux/secret.html",
            fits=lambda row: bool(row.username),
            says="Removes the lock and creates a sign-in link for 15 minutes, which works even if others keep "
            "trying this name.",
        ),
    )
    list_display = ["secret", "state", "guessed", "guessed_today", "last"]
    ordering = ["-last_at"]
    fields = ["secret", "state", "guessed", "guessed_today", "last"]
    empty_says = "No wrong passwords or codes lately. They are counted here."

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        """Set the user name of each row. Names without an account are stored as digests and cannot be shown."""
        people_here = User.objects.values_list("pk", "username")
        owners = {lockout.password_key(name): name for _, name in people_here}
        owners |= {lockout.code_key(number): name for number, name in people_here}
        for row in rows:
            row.username = owners.get(row.key, "")

    def titled(self, row: Any) -> str:
        return self.secret(row).capitalize()

    @admin.display(description="attempts at", ordering="key")
    def secret(self, row: Any) -> str:
        kind = row.key.partition(":")[0]
        if kind in ("link", "link-code"):
            return f"{'password' if kind == 'link' else 'code'} of a one-time link"
        return f"{kind} of {row.username}" if row.username else f"{kind} of an unknown user name"

    @admin.display(description="wrong attempts", ordering="count")
    def guessed(self, row: Any) -> int:
        return int(row.count)

    @admin.display(description="wrong attempts that day", ordering="day_count")
    def guessed_today(self, row: Any) -> int:
        return int(row.day_count)

    @admin.display(description="last attempt", ordering="last_at")
    def last(self, row: Any) -> Any:
        return formatting.relative_time(row.last_at)

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return (
            formatting.badge("locked", "bad")
            if lockout.is_refused(row, lockout.rule_of(row.key))
            else formatting.badge("open", "good")
        )


@admin.register(RefusalMinute)
class RefusalPage(FluxModelAdmin):
    reads = "instance.manage"
    called = ("failed sign-in", "failed sign-ins")
    group = "People"
    about = (
        "Requests with an invalid token and sign-ins with a wrong password, counted by source address and minute. "
        "Kept for 7 days."
    )
    list_display = ["source", "when", "count"]
    search_fields = ["source"]
    ordering = ["-minute", "source"]
    fields = ["source", "when", "count"]
    empty_says = "No failed sign-ins. Requests with an invalid token or a wrong password are counted here for 7 days."

    def titled(self, row: Any) -> str:
        return f"{row.source}, {row.minute:%Y-%m-%d %H:%M} UTC"

    @admin.display(description="minute", ordering="minute")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.minute)
