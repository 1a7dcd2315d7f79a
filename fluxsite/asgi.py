"""The people's door and the MCP door: one process, two sockets, told apart by the port that took the call."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "people"

from fluxsite import loading

loading.begins()

from django.core.asgi import get_asgi_application  # noqa: E402

django_application = get_asgi_application()

from dashboard.live import live_door  # noqa: E402
from dashboard.moving import MAX_UPLOAD  # noqa: E402
from fluxcore import bell  # noqa: E402
from fluxsite import bodies, celery, checks, threads  # noqa: E402
from mcp_bridge import http, local_socket  # noqa: E402
from mcp_bridge.door import mcp_door  # noqa: E402

checks.refuse_unfit()
celery.configure()
bell.on_ring(celery.ring)
threads.take_short_turns()


people_door = bodies.bounded(django_application, MAX_UPLOAD + bodies.FORM)


def _mcp_port() -> int:
    return int(os.environ.get("FLUX_MCP_PORT") or 0)


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif _mcp_port() and (scope.get("server") or ("", 0))[1] == _mcp_port():
        await mcp_door(scope, receive, send)
    elif scope["type"] == "websocket":
        await live_door(scope, receive, send)
    else:
        await people_door(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup" and _mcp_port():
            await http.open_()
            await local_socket.listen()
        if message["type"] == "lifespan.shutdown":
            await local_socket.close()
            await http.close()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
