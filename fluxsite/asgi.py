"""ASGI application of the dashboard server and the MCP server: one process, two ports."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "people"

from fluxsite.run import gc_pause

gc_pause.pause_gc()

from django.core.asgi import get_asgi_application  # noqa: E402

django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from dashboard import live as people_live  # noqa: E402
from dashboard.imports import MAX_UPLOAD  # noqa: E402
from fluxcore.log.live import feed  # noqa: E402
from fluxcore.work import wakeup  # noqa: E402
from fluxsite import announcements, celery, checks  # noqa: E402
from fluxsite.run import body_limit, threads  # noqa: E402
from mcp_bridge import http, local_socket  # noqa: E402
from mcp_bridge import live as agents_live  # noqa: E402
from mcp_bridge.asgi import mcp_app  # noqa: E402

checks.refuse_failed_checks()
wakeup.use(celery.wake)
celery.prepare_to_send()
threads.set_switch_interval()
feed.use(announcements.listen, from_everywhere=bool(settings.REDIS_URL))


people = ProtocolTypeRouter(
    {
        "http": body_limit.limit_body(django_application, MAX_UPLOAD + body_limit.FORM_BYTES),
        "websocket": people_live.websockets,
    }
)
agents = ProtocolTypeRouter({"http": mcp_app, "websocket": agents_live.websockets})


def _mcp_port() -> int:
    return int(os.environ.get("FLUX_MCP_PORT") or 0)


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif _mcp_port() and (scope.get("server") or ("", 0))[1] == _mcp_port():
        await agents(scope, receive, send)
    else:
        await people(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            announcements.from_this_loop()
        if message["type"] == "lifespan.startup" and _mcp_port():
            await http.open_sessions()
            await local_socket.listen()
        if message["type"] == "lifespan.shutdown":
            await local_socket.close()
            await http.close_sessions()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
