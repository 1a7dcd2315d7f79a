"""What this door refuses before it asks who is calling, and the headers of all its answers."""

from __future__ import annotations

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from fluxcore.errors import BadHost, BadOrigin, FluxError

HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


def hostile(headers: dict[bytes, bytes]) -> FluxError | None:
    """A page of another origin, or a name this server does not answer to (DNS rebinding)."""
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return BadHost()
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
        return BadOrigin()
    return None
