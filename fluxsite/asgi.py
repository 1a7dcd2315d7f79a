"""The people's door and the MCP door: one process, two sockets, told apart by the port that took the call."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "people"

from fluxsite.run import gc_pause

gc_pause.pause_gc()

from django.core.asgi import get_asgi_application  # noqa: E402

django_application = get_asgi_application()

from dashboard.imports import MAX_UPLOAD  # noqa: E402
from dashboard.live import live_door  # noqa: E402
from fluxcore import bell  # noqa: E402
from fluxsite import celery, checks  # noqa: E402
from fluxsite.run import body_limit, threads  # noqa: E402
from mcp_bridge import http, local_socket  # noqa: E402
from mcp_bridge.asgi import mcp_app  # noqa: E402

checks.refuse_failed_checks()
celery.configure()
bell.on_ring(celery.ring)
threads.set_switch_interval()


people_door = body_limit.limit_body(django_application, MAX_UPLOAD + body_limit.FORM_BYTES)


def _mcp_port() -> int:
    return int(os.environ.get("FLUX_MCP_PORT") or 0)


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif _mcp_port() and (scope.get("server") or ("", 0))[1] == _mcp_port():
        await mcp_app(scope, receive, send)
    elif scope["type"] == "websocket":
        await live_door(scope, receive, send)
    else:
        await people_door(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup" and _mcp_port():
            await http.open_sessions()
            await local_socket.listen()
        if message["type"] == "lifespan.shutdown":
            await local_socket.close()
            await http.close_sessions()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
