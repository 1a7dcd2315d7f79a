"""The server processes that `flux_start` runs: `python -m fluxsite.serve rest|people|worker [QUEUE …]`."""

from __future__ import annotations

import os
import socket
import sys

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


def worker(*queues: str) -> None:
    """A Celery worker for these queues, or for all: runs job rows."""
    from fluxsite.run import gc_pause

    gc_pause.pause_gc()
    import django

    django.setup()
    from fluxcore.work.kinds import QUEUES
    from fluxsite import worker as process

    unknown = set(queues) - set(QUEUES)
    if unknown:
        raise SystemExit(f"unknown queue {min(unknown)!r}; these are: {', '.join(QUEUES)}")
    process.start(queues or QUEUES)


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
        worker(*rest_of)
    else:
        raise SystemExit(f"unknown server {kind!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
