"""Background work and the log of events."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts import filters, job_verbs, showing
from accounts.here import here
from accounts.modeladmin import Act, FluxModelAdmin, Section
from accounts.principals import Principal
from accounts.showing import Mood
from fluxcore.models import Event, Job

MOST_LINES = 200


class NumberedSpacePage(FluxModelAdmin):
    """Rows of the core, which lies below spaces and knows them by number only."""

    space_path = "space"

    def dress(self, request: HttpRequest, rows: list[Any]) -> None:
        spaces = here(request).spaces
        for row in rows:
            row.space_name = spaces[row.space].name if row.space in spaces else ""

    @admin.display(description="space")
    def of_space(self, row: Any) -> Any:
        return row.space_name or showing.NONE


def _run(principal: Principal, row: Job, **given: Any) -> None:
    job_verbs.run_job(principal, job=str(row.uuid), **given)


def _park(principal: Principal, row: Job, **given: Any) -> None:
    job_verbs.park_job(principal, job=str(row.uuid), **given)


@admin.register(Job)
class JobPage(NumberedSpacePage):
    reads = "jobs.read"
    called = ("job", "jobs")
    group = "Work"
    about = "Background work. A job that fails five times is parked and waits for somebody to look."
    acts = (
        Act("run", "Run now", "jobs.manage", _run, done="It waits for the next free worker.",
            says="Gives it five new tries.", fits=lambda row: row.state == Job.State.PARKED),
        Act("park", "Park", "jobs.manage", _park, done="Parked.", dangerous=True,
            says="Takes it out of the queue until somebody runs it.", fits=lambda row: row.state == Job.State.QUEUED),
    )  # fmt: skip
    list_display = ["kind", "state_badge", "of_space", "attempts", "due", "problem"]
    list_filter = [
        filters.values("state", "state", Job.State.values),
        filters.spaces("space"),
        filters.typed("kind", "kind", lambda text: Q(kind__startswith=text)),
    ]
    search_fields = ["kind", "error"]
    ordering = ["-id"]
    fields = [
        "kind", "of_space", "state_badge", "attempts", "due", "created", "finished", "problem_in_full", "given",
        "outside_id",
    ]  # fmt: skip
    empty_says = "Nothing runs in the background yet."

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        lines = list(row.lines.order_by("-id")[:MOST_LINES])
        found = [(showing.moment(line.at), showing.words(line.text)) for line in reversed(lines)]
        return [Section("Log", ("when", "what"), found, says="It has said nothing yet.")]

    def titled(self, row: Any) -> str:
        return str(row.kind)

    @admin.display(description="state", ordering="state")
    def state_badge(self, row: Any) -> Any:
        moods: dict[str, Mood] = {"queued": "plain", "running": "calm", "done": "good", "parked": "bad"}
        return showing.badge(row.state, moods[row.state])

    @admin.display(description="due", ordering="due_at")
    def due(self, row: Any) -> Any:
        return showing.moment(row.due_at)

    @admin.display(description="made")
    def created(self, row: Any) -> Any:
        return showing.moment(row.created_at)

    @admin.display(description="finished")
    def finished(self, row: Any) -> Any:
        return showing.moment(row.finished_at, none="not yet")

    @admin.display(description="last problem")
    def problem(self, row: Any) -> Any:
        return showing.shortened(row.error) or showing.NONE

    @admin.display(description="last problem")
    def problem_in_full(self, row: Any) -> Any:
        return showing.words(row.error)

    @admin.display(description="given")
    def given(self, row: Any) -> Any:
        return showing.data(row.args)


@admin.register(Event)
class EventPage(NumberedSpacePage):
    reads = "events.read"
    called = ("event", "events")
    group = "Work"
    about = "The one log that live pages, watches and indexes follow. Never memory text, only what happened to what."
    list_display = ["when", "kind", "subject", "actor", "of_space"]
    list_filter = [
        filters.typed("kind", "kind", lambda text: Q(kind__startswith=text)),
        filters.typed("actor", "actor", lambda text: Q(actor=text)),
        filters.spaces("space"),
    ]
    search_fields = ["subject"]
    ordering = ["-id"]
    fields = ["when", "kind", "subject", "actor", "of_space", "what"]
    empty_says = "Nothing has happened yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("packed")

    def titled(self, row: Any) -> str:
        return f"{row.kind} {showing.shortened(row.subject, 60)}"

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return showing.moment(row.at)

    @admin.display(description="summary")
    def what(self, row: Any) -> Any:
        return showing.data(row.data)
