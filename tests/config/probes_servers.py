"""Probes of the keys about servers, models and monitoring."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from django.test import Client

from fluxcore import incoming_bodies
from fluxcore.work import schedule, worker
from fluxcore.writes import booth, write_locks
from tests.config.probing import ProbeWorld, probe
from tests.extraction.ollama import Ollama, running
from tests.grains.conftest import Memory
from tests.packaging.project_files import python
from tests.servers import free_port

ANY_PORTS = {"REST_PORT": 0, "MCP_PORT": 0, "DASHBOARD_PORT": 0}


def _without(name: str) -> dict[str, int]:
    return {key: port for key, port in ANY_PORTS.items() if key != name}


@probe("REST_HOST", "127.0.0.2", **ANY_PORTS)
@probe("MCP_HOST", "127.0.0.2", **ANY_PORTS)
@probe("DASHBOARD_HOST", "127.0.0.2", **ANY_PORTS)
def reserved_hosts(world: ProbeWorld) -> object:
    return [host for host, _ in _reserved()]


@probe("REST_PORT", free_port(), first=free_port(), **_without("REST_PORT"))
@probe("MCP_PORT", free_port(), first=free_port(), **_without("MCP_PORT"))
@probe("DASHBOARD_PORT", free_port(), first=free_port(), **_without("DASHBOARD_PORT"))
def reserved_ports(world: ProbeWorld) -> object:
    from fluxcore import config

    wanted = {getattr(config.current(), name) for name in ANY_PORTS} - {0}
    return wanted & {port for _, port in _reserved()}


def _reserved() -> list[tuple[str, int]]:
    """Host and port of each socket that flux_start would hand to its servers."""
    from memory.management.commands.flux_start import Command

    options = {"broadcast": False, "people_port": None, "mcp_port": None, "rest_port": None, "processes": 1}
    supervisor = Command()._supervisor(options)
    found = []
    for one in (supervisor.rest, supervisor.mcp, supervisor.people):
        with closing(one.hold) as held:
            found.append(held.getsockname()[:2])
    return found


@probe("REST_OPEN_TO_LOOPBACK", "probe-open/guest", stored=True)
def status_without_a_token(world: ProbeWorld) -> object:
    world.api("guest", space="probe-open", trust="trusted")
    return Client().get("/grains", headers={"Host": "localhost"}).status_code


@probe("MCP_SERVER_NAME", "another")
def name_of_the_mcp_server(world: ProbeWorld) -> object:
    from mcp_bridge import server

    return server.build_server(lambda ctx: None, None, lambda ctx: "ai_stated").name


@probe("REQUEST_SECONDS", 3.0)
def seconds_for_a_body(world: ProbeWorld) -> object:
    return incoming_bodies.body_seconds(0)


@probe("MAX_CONNECTIONS", 16)
@probe("MAX_CONNECTIONS_PER_SOURCE", 8)
def connections_that_find_a_place(world: ProbeWorld) -> object:
    from fluxsite.run.http_connections import OpenConnections

    places = OpenConnections()
    busy = {
        "transport": SimpleNamespace(is_closing=lambda: False),
        "is_idle": lambda: False,
        "awaits_body": lambda: False,
    }
    sources = ["one"] * 9 + [str(number) for number in range(9)]
    return [places.add(_Hashable(source=source, **busy)) for source in sources]


class _Hashable(SimpleNamespace):
    __hash__ = object.__hash__


# Models -------------------------------------------------------------------------------------------

MODE = {"OPERATING_MODE": "flux_extracts"}


@probe("OPERATING_MODE", "flux_extracts")
def is_the_model_asked(world: ProbeWorld) -> object:
    from memory.extraction import mode

    return mode.on()


@probe("LLM_MODEL", "another:1b", stored=True, **MODE)
@probe("LLM_BASE_URL", "http://127.0.0.1:9", stored=True, **MODE)
def model_that_is_asked(world: ProbeWorld) -> object:
    from memory.extraction import circuit_breaker, prompt

    return circuit_breaker.server_name(), prompt.chat_request("rules", {}, {}, answer=1)["model"]


@probe("LLM_TIMEOUT_SECONDS", 60.0, stored=True, **MODE)
def seconds_the_model_has(world: ProbeWorld) -> object:
    from memory.extraction import ollama_client

    given: list[float] = []
    ask = ollama_client.ask_model

    def noted(base: str, body: dict[str, object], *, seconds: float, **more: object) -> object:
        given.append(seconds)
        return ask(base, body, seconds=seconds, **more)  # type: ignore[arg-type]

    world.patch.setattr(ollama_client, "ask_model", noted)
    with running() as model:
        _extract(world, model, 1)
    world.patch.setattr(ollama_client, "ask_model", ask)
    return given


@probe("LLM_CALLS_PER_DAY", 1, stored=True, **MODE)
@probe("LLM_TOKENS_PER_DAY", 700, stored=True, **MODE)
@probe("LLM_AGENT_SHARE", 0.01, first=1.0, stored=True, LLM_CALLS_PER_DAY=100, **MODE)
def calls_of_the_model(world: ProbeWorld) -> object:
    with running() as model:
        _extract(world, model, 3)
        return len(model.calls)


def _extract(world: ProbeWorld, model: Ollama, texts: int) -> None:
    from accounts.models import Space
    from fluxcore import config
    from memory.extraction import extract

    here = config.current()
    world.set(**{key: getattr(here, key) for key in config.FIELDS if key != "LLM_BASE_URL"}, LLM_BASE_URL=model.url)
    memory = world.memory()
    Memory(space=Space.objects.get(pk=memory.principal.space).name, agent="bob")  # shares are for several agents
    for number in range(texts):
        extract.extract(memory.principal, content=f"The {number}th ferry leaves at nine.")
    worker.drain()


@probe("LLM_QUERY_WORDS_ENABLED", True, **MODE)
@probe("LLM_QUERY_MILLISECONDS", 20.0, LLM_QUERY_WORDS_ENABLED=True, **MODE)
def seconds_a_question_waits_for_the_model(world: ProbeWorld) -> object:
    from memory.extraction import mode

    return mode.question_seconds()


@probe("EMBEDDING_MODEL_NAME", "none")
def encoder_of_the_settings(world: ProbeWorld) -> object:
    """What a process that starts with such a file takes for its encoder."""
    from fluxcore import config

    with TemporaryDirectory() as home:
        (Path(home) / "default").mkdir(mode=0o700)
        (Path(home) / "default" / "config.yaml").write_text(config.render(config.current()))
        return python("from fluxsite import settings; print(settings.ENCODER)", FLUX_HOME=home).stdout


# Monitoring ---------------------------------------------------------------------------------------

ALERTS = {
    "ALERTS_ENABLED": True,
    "ALERT_WEBHOOK_URL": "http://127.0.0.1:9/hook",
    "ALERT_WEBHOOK_SECRET": "s" * 16,
    "ALERT_PRIVATE_ADDRESSES": True,
}


@probe("HEALTH_TICK_MINUTES", 0.0)
@probe("CLEANUP_INTERVAL_HOURS", 12.0)
def periods_of_recurring_jobs(world: ProbeWorld) -> object:
    return {chore.name: chore.seconds() for chore in schedule.recurring()}


@probe("ALERTS_ENABLED", True, stored=True)
@probe("ALERT_LEAST_SEVERITY", "CRITICAL", stored=True, **ALERTS)
@probe("ALERT_MIN_INTERVAL_HOURS", 0.0, stored=True, **ALERTS)
def alerts_of_two_warnings(world: ProbeWorld) -> object:
    from fluxcore.models import Job
    from memory.health import alerts
    from memory.health import jobs as health_jobs
    from memory.health.signals import SIGNALS, WARNING, ReadingState, SignalReading
    from memory.health.warning_rules import SignalStatus

    space = world.memory().principal.space
    reading = SignalReading(SIGNALS[0], 1.0, 0.0, 0.5, ReadingState.HIGH, WARNING)
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)

    def ask() -> None:
        held = alerts.request_alert(space, reading, SignalStatus(severity=WARNING), "opened", now)
        alerts.request_alert(space, reading, held, "opened", now)

    booth.write(ask, lock=write_locks.lock_name(space))
    return Job.objects.filter(kind=health_jobs.ALERT, space=space).count()


def _changed(key: str) -> dict[str, object]:
    return {name: value for name, value in ALERTS.items() if name != key}


@probe("ALERT_WEBHOOK_URL", "http://127.0.0.1:9/hook", **_changed("ALERT_WEBHOOK_URL"))
@probe("ALERT_WEBHOOK_SECRET", "s" * 16, **_changed("ALERT_WEBHOOK_SECRET"))
def problem_of_alerts(world: ProbeWorld) -> object:
    from memory.health import alerts

    return alerts.alert_problem()


@probe("ALERT_PRIVATE_ADDRESSES", True, **_changed("ALERT_PRIVATE_ADDRESSES"))
def why_a_local_webhook_is_not_called(world: ProbeWorld) -> object:
    from fluxcore import config
    from memory.health import webhook

    here = config.current()
    try:
        webhook.post_signed(
            here.ALERT_WEBHOOK_URL, b"{}", secret=here.ALERT_WEBHOOK_SECRET, at=0, private=here.ALERT_PRIVATE_ADDRESSES
        )
    except webhook.AlertUndeliverable as error:
        return str(error)
    return None


@probe("AUDIT_CHECKPOINT_MINUTES", 0, stored=True)
def checkpoints_of_a_minute(world: ProbeWorld) -> object:
    """Number of checkpoints that a sweep makes after its commit."""
    from accounts.audit.checkpoints import schedule as checkpoint_schedule

    world.patch.setattr(checkpoint_schedule, "_last_check", None)
    made: list[object] = []
    world.patch.setattr(checkpoint_schedule, "_make_if_due", made.append)
    booth.write(checkpoint_schedule.checkpoint_if_due)
    return len(made)
