"""Admin pages of background jobs and of the event log."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts import job_verbs
from accounts.adminsite import filters, formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from accounts.principals import Principal
from accounts.visitor import current_visitor
from fluxcore.models import Event, Job

MOST_LINES = 200


class NumberedSpacePage(FluxModelAdmin):
    """Base page for rows of fluxcore, which stores a space as a number without a foreign key."""

    space_path = "space"

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        spaces = current_visitor(request).spaces
        for row in rows:
            row.space_name = spaces[row.space].name if row.space in spaces else ""

    @admin.display(description="space")
    def of_space(self, row: Any) -> Any:
        return row.space_name or formatting.NONE


def _run(principal: Principal, row: Job, **given: Any) -> None:
    job_verbs.run_job(principal, job=str(row.uuid), **given)


def _park(principal: Principal, row: Job, **given: Any) -> None:
    job_verbs.park_job(principal, job=str(row.uuid), **given)


@admin.register(Job)
class JobPage(NumberedSpacePage):
    reads = "jobs.read"
    called = ("job", "jobs")
    group = "Work"
    about = "Background jobs. A job that fails five times is parked until somebody runs it again."
    row_actions = (
        Action(
            "run",
            "Run now",
            "jobs.manage",
            _run,
            done="Queued. The next free worker runs it.",
            says="Queues the job again, with five new attempts.",
            fits=lambda row: row.state == Job.State.PARKED,
        ),
        Action(
            "park",
            "Park",
            "jobs.manage",
            _park,
            done="Parked.",
            dangerous=True,
            says="Takes the job out of the queue until somebody runs it.",
            fits=lambda row: row.state == Job.State.QUEUED,
        ),
    )
    list_display = ["kind", "state_badge", "of_space", "attempts", "due", "problem"]
    list_filter = [
        filters.values("state", "state", Job.State.values),
        filters.spaces("space"),
        filters.typed("kind", "kind", lambda text: Q(kind__startswith=text)),
    ]
    search_fields = ["kind", "error"]
    ordering = ["-id"]
    fields = [
        "kind",
        "of_space",
        "state_badge",
        "attempts",
        "due",
        "created",
        "finished",
        "problem_in_full",
        "given",
        "outside_id",
    ]
    empty_says = "No jobs yet. Background work such as indexing and backups is listed here."

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        lines = list(row.lines.order_by("-id")[:MOST_LINES])
        found = [(formatting.relative_time(line.at), formatting.multiline(line.text)) for line in reversed(lines)]
        return [Section("Log", ("time", "message"), found, says="No log lines yet.")]

    def titled(self, row: Any) -> str:
        return str(row.kind)

    @admin.display(description="state", ordering="state")
    def state_badge(self, row: Any) -> Any:
        moods: dict[str, BadgeStyle] = {"queued": "plain", "running": "calm", "done": "good", "parked": "bad"}
        return formatting.badge(row.state, moods[row.state])

    @admin.display(description="due", ordering="due_at")
    def due(self, row: Any) -> Any:
        return formatting.relative_time(row.due_at)

    @admin.display(description="created")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)

    @admin.display(description="finished")
    def finished(self, row: Any) -> Any:
        return formatting.relative_time(row.finished_at, none="not yet")

    @admin.display(description="last error")
    def problem(self, row: Any) -> Any:
        return formatting.shorten(row.error) or formatting.NONE

    @admin.display(description="last error")
    def problem_in_full(self, row: Any) -> Any:
        return formatting.multiline(row.error)

    @admin.display(description="arguments")
    def given(self, row: Any) -> Any:
        return formatting.pretty_json(row.args)


@admin.register(Event)
class EventPage(NumberedSpacePage):
    reads = "events.read"
    called = ("event", "events")
    group = "Work"
    about = "Log of changes that live pages, watches and indexes follow. It contains no text of memories."
    list_display = ["when", "kind", "subject", "actor", "of_space"]
    list_filter = [
        filters.typed("kind", "kind", lambda text: Q(kind__startswith=text)),
        filters.typed("actor", "actor", lambda text: Q(actor=text)),
        filters.spaces("space"),
    ]
    search_fields = ["subject"]
    ordering = ["-id"]
    fields = ["when", "kind", "subject", "actor", "of_space", "what"]
    empty_says = "No events yet. Changes are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("packed")

    def titled(self, row: Any) -> str:
        return f"{row.kind} {formatting.shorten(row.subject, 60)}"

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    @admin.display(description="summary")
    def what(self, row: Any) -> Any:
        return formatting.pretty_json(row.data)
