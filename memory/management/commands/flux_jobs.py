"""flux_jobs: list, show, run and park background jobs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.job_verbs import park_job, run_job
from accounts.principals import shell
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid, NotFound
from fluxcore.models import Job
from fluxcore.work import jobs, schedule, worker
from memory.management.base import FluxCommand
from memory.management.tables import format_minute


class Command(FluxCommand):
    help = (
        "Background jobs: list, show, run a parked job again, park a queued one, run all queued ones now (drain); "
        "list recurring jobs (schedule)."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action", nargs="?", default="list", choices=["list", "show", "run", "park", "drain", "schedule"]
        )
        parser.add_argument("job", nargs="?", help="id of the job")
        parser.add_argument("--state", choices=Job.State.values, help="list: only jobs in this state")
        parser.add_argument("--limit", type=int, default=50, help="list: maximum number of jobs (default 50)")
        parser.add_argument("--reason", default="", help="run, park: reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] in ("show", "run", "park") and options["job"] is None:
            raise Invalid(
                f"The id of the job is missing: {typed_command('flux_jobs ' + options['action'] + ' ID')}.", field="job"
            )
        {
            "list": self._list,
            "show": self._show,
            "run": self._run,
            "park": self._park,
            "drain": self._drain,
            "schedule": self._schedule,
        }[options["action"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        found = Job.objects.order_by("-id")
        if options["state"]:
            found = found.filter(state=options["state"])
        rows = [describe(job) for job in found[: max(1, min(options["limit"], 1000))]]
        if self.as_json:
            self.answer({"counts": jobs.counts(), "jobs": rows})
            return
        self.table(
            ("id", "kind", "state", "attempts", "due", "error"),
            [
                [row["id"], row["kind"], row["state"], row["attempts"], format_minute(row["due_at"]), row["error"]]
                for row in rows
            ],
            empty="No jobs.",
        )

    def _show(self, options: dict[str, Any]) -> None:
        job = Job.objects.filter(uuid=jobs.parse_uuid(options["job"])).first()
        if job is None:
            raise NotFound("There is no job with this id.")
        lines = [{"at": clock.rfc3339(line.at), "text": line.text} for line in job.lines.order_by("id")]
        if self.as_json:
            self.answer({**describe(job), "lines": lines})
            return
        self.table(("", ""), list(describe(job).items()), empty="")
        self.table(("at", "line"), [(line["at"], line["text"]) for line in lines], empty="No log lines.")

    def _run(self, options: dict[str, Any]) -> None:
        answer = run_job(shell(), job=str(jobs.parse_uuid(options["job"])), reason=options["reason"])
        self.answer(answer, says="Queued. The next free worker runs it.")

    def _park(self, options: dict[str, Any]) -> None:
        answer = park_job(shell(), job=str(jobs.parse_uuid(options["job"])), reason=options["reason"])
        self.answer(answer, says="Parked.")

    def _drain(self, options: dict[str, Any]) -> None:
        with self.progress("Running jobs", jobs.counts()["queued"]) as advance:
            count = 0
            while worker.run_one():
                count += 1
                advance()
        self.answer({"run": count}, says=f"Ran {count} job(s).")

    def _schedule(self, options: dict[str, Any]) -> None:
        found = schedule.overview()
        if self.as_json:
            self.answer({"schedule": found})
            return
        columns = ("name", "seconds", "count", "asked_at", "due")
        self.table(columns, [[row[name] for name in columns] for row in found], empty="No recurring jobs.")


def describe(job: Job) -> dict[str, Any]:
    return {
        "id": str(job.uuid),
        "kind": job.kind,
        "state": job.state,
        "attempts": job.attempts,
        "created_at": clock.rfc3339(job.created_at),
        "due_at": clock.rfc3339(job.due_at),
        "finished_at": clock.rfc3339(job.finished_at),
        "error": job.error,
    }
