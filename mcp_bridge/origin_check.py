"""Checks of Host and Origin on the MCP server, made before authentication, and the headers of all its answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from fluxcore.errors import BadHost, BadOrigin, FluxError

HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


def hostile_request_error(scope: dict[str, Any]) -> FluxError | None:
    """The error for a Host that is not ours (DNS rebinding) or an Origin of another site; None if both are allowed.

    Each is checked on its own: an attacker who rebinds a name chooses both headers.
    """
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return BadHost()
    origin = headers.get(b"origin")
    if origin is not None and not _is_own_origin(origin.decode("latin-1").lower(), (scope.get("server") or ("", 0))[1]):
        return BadOrigin()
    return None


def _is_own_origin(origin: str, own_port: int) -> bool:
    """Whether the origin is this server: one of its names, with its port or behind the proxy's TLS."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or parts.path or parts.query or "@" in parts.netloc:
        return False
    name = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    behind_tls = settings.HTTPS and parts.scheme == "https" and port in (None, 443)
    return validate_host(name, settings.ALLOWED_HOSTS) and (behind_tls or port == own_port)
