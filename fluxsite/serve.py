"""The server processes that `flux_start` runs: `python -m fluxsite.serve rest|people|worker [QUEUE …]`."""

from __future__ import annotations

import os
import socket
import sys

from fluxsite.run import parent_watch


def rest(host: str, port: int, processes: int) -> None:
    """Run the REST server on granian: bodies are read in its event loop, requests answered in threads."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    if os.environ.get("FLUX_LEASH"):
        os.environ["FLUX_LEASH"] = str(
            os.getpid()
        )  # granian's workers end with granian, which ends with the supervisor
    logging = _granian_logging()
    from fluxcore import config

    Granian(
        "fluxsite.rsgi:served",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        http=HTTPModes.http1,  # unencrypted HTTP/2 would bypass the header limits below
        websockets=False,
        workers=processes,
        backlog=1024,
        backpressure=config.current().MAX_CONNECTIONS,
        workers_kill_timeout=2,
        log_level=LogLevels.error,  # its start-up messages repeat those of the supervisor
        log_dictconfig=logging,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(config.current().REQUEST_SECONDS * 1000), max_buffer_size=64 * 1024
        ),
    ).serve()


def _granian_logging() -> dict[str, object]:
    """Logging settings for granian: its messages go to our log, in our format."""
    os.environ["FLUX_DOOR"] = "rest"
    from django.conf import settings

    return {**settings.LOGGING, "loggers": {"_granian": {"level": "ERROR", "propagate": True}}}


def people(host: str, port: int, mcp_host: str, mcp_port: int) -> None:
    """Run the dashboard server and the MCP server on uvicorn: one process, two ports."""
    import uvicorn

    os.environ["FLUX_MCP_PORT"] = str(mcp_port)
    # Imported here and not by uvicorn in its event loop: setting up Django queries the database.
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
            ws_max_size=4096,  # bytes; the live feed takes no messages
            ws_per_message_deflate=False,  # compression would need 300 kB per socket for small gains
            timeout_graceful_shutdown=2,
            timeout_keep_alive=75,
        )
    )
    server.run(sockets=[listening(host, port), listening(mcp_host, mcp_port)])


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # the supervisor has reserved the port
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A peer that reads nothing for 10 s is disconnected, also while a closed connection's last data is sent.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000)
    listener.bind((host, port))
    return listener


def worker(*queues: str) -> None:
    """Run a Celery worker for these queues, or for all."""
    from fluxsite.run import gc_pause

    gc_pause.pause_gc()
    import django

    django.setup()
    from fluxcore.work.kinds import QUEUES
    from fluxsite import worker as process

    unknown = set(queues) - set(QUEUES)
    if unknown:
        raise SystemExit(f"unknown queue {min(unknown)!r}; allowed: {', '.join(QUEUES)}")
    process.start(queues or QUEUES)


def _allow_open_files() -> None:
    """Raise the limit of open files to what MAX_CONNECTIONS needs; many systems allow only 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
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
        worker(*rest_of)
    else:
        raise SystemExit(f"unknown server {kind!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
