"""The server processes that `flux_start` runs: `python -m fluxsite.serve rest|people|worker`."""

from __future__ import annotations

import os
import socket
import sys
import threading

from fluxsite.run import parent_watch


def rest(host: str, port: int, processes: int) -> None:
    """REST on granian: bodies are read in its event loop, requests answered in threads; persistent connections."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    if os.environ.get("FLUX_LEASH"):
        os.environ["FLUX_LEASH"] = str(os.getpid())  # granian's workers follow granian, which follows the supervisor
    logging = _granian_logging()
    from fluxcore import config

    Granian(
        "fluxsite.rsgi:served",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        http=HTTPModes.http1,  # HTTP/2 in clear would go around the header limits below
        websockets=False,
        workers=processes,
        backlog=1024,
        backpressure=config.current().MAX_CONNECTIONS,
        workers_kill_timeout=2,
        log_level=LogLevels.error,  # its start-up lines say nothing that the supervisor does not
        log_dictconfig=logging,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(config.current().REQUEST_SECONDS * 1000), max_buffer_size=64 * 1024
        ),
    ).serve()


def _granian_logging() -> dict[str, object]:
    """Granian's own lines go where ours go, in our format."""
    os.environ["FLUX_DOOR"] = "rest"
    from django.conf import settings

    return {**settings.LOGGING, "loggers": {"_granian": {"level": "ERROR", "propagate": True}}}


def people(host: str, port: int, mcp_host: str, mcp_port: int) -> None:
    """The people's and the MCP door on uvicorn: one process, two sockets."""
    import uvicorn

    os.environ["FLUX_MCP_PORT"] = str(mcp_port)
    # Imported here and not by uvicorn inside its event loop: setting up Django asks the database.
    from fluxsite.asgi import application
    from fluxsite.run.http_connections import BoundedProtocol

    server = uvicorn.Server(
        uvicorn.Config(
            application,
            http=BoundedProtocol,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws_max_size=4096,  # the live feed speaks and does not listen
            ws_per_message_deflate=False,  # 300 kB a socket, for messages that hardly shrink
            timeout_graceful_shutdown=2,
            timeout_keep_alive=75,
        )
    )
    server.run(sockets=[listening(host, port), listening(mcp_host, mcp_port)])


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # the supervisor holds the port for us
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Who takes nothing for ten seconds is cut off, also when we have hung up and only the rest is to be sent.
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000)
    door.bind((host, port))
    return door


def worker() -> None:
    """One Celery worker with its beat: runs the jobs the bell announces."""
    import warnings

    from fluxsite.run import gc_pause

    gc_pause.pause_gc()
    import django
    from celery.beat import EmbeddedService
    from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # missing from its stubs

    from fluxsite import celery

    django.setup()
    celery.configure()
    from django.conf import settings

    from fluxcore import bell
    from fluxcore.config import ConfigError
    from memory.embedding import active_encoder

    if settings.CONFIG_PROBLEM:
        raise ConfigError(settings.CONFIG_PROBLEM)
    bell.on_ring(celery.ring)
    settings.HOME.queue.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The very first start builds what the encoder needs from its weights: not while a job waits for it.
    active_encoder.load_soon()
    bell.ring()  # whatever was waiting while nobody worked
    # Celery warns root about pickled tasks; ours are two names in JSON.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=SecurityWarning)
    threading.Thread(target=celery.sweep_without_the_broker, name="minute", daemon=True).start()
    # Celery's own --beat is a process, which a killed worker would leave behind.
    EmbeddedService(celery.app, thread=True).start()  # type: ignore[union-attr]  # a thread, as asked
    # Its own command line would load a terminal's worth of libraries, and Django's checks whose outcome it drops.
    os.environ.update(CELERY_SKIP_CHECKS="yes")
    work = celery.app.Worker(
        pool="threads",
        concurrency=2,
        queues=["flux"],
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    work.start()
    raise SystemExit(work.exitcode)


def _allow_open_files() -> None:
    """As many as MAX_CONNECTIONS needs besides databases and logs; many systems begin at 1,024."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 8192:
        wanted = 8192 if hard == resource.RLIM_INFINITY else min(hard, 8192)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def main(arguments: list[str]) -> None:
    parent_watch.exit_with_parent()
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    _allow_open_files()
    kind, rest_of = arguments[0], arguments[1:]
    if kind == "rest":
        rest(rest_of[0], int(rest_of[1]), int(rest_of[2]))
    elif kind == "people":
        people(rest_of[0], int(rest_of[1]), rest_of[2], int(rest_of[3]))
    elif kind == "worker":
        worker()
    else:
        raise SystemExit(f"unknown server {kind!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
