"""OAuth protected resource metadata (RFC 9728), and the WWW-Authenticate header that points to it."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from accounts.capabilities import OPERATIONS

ADDRESS = "/.well-known/oauth-protected-resource"
ADDRESSES = (ADDRESS, f"{ADDRESS}/mcp")


def metadata(scope: dict[str, Any]) -> dict[str, Any]:
    """The metadata document. The URL has the request's Host, which was checked before."""
    return {
        "resource": f"{_origin(scope)}/mcp",
        "resource_name": f"Flux Memory ({settings.HOME.name})",
        # No `authorization_servers`: people mint tokens in the dashboard or the shell, and no server issues them.
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(OPERATIONS),
    }


def challenge(scope: dict[str, Any], error: str = "", missing: str = "") -> str:
    """Value of WWW-Authenticate: the address of the metadata, and what was wrong."""
    parts = [f'resource_metadata="{_origin(scope)}{ADDRESS}/mcp"']
    if error:
        parts.insert(0, f'error="{error}"')
    if missing and missing.isascii() and missing.isprintable() and not {'"', "\\"} & set(missing):
        parts.append(f'scope="{missing}"')
    return f"Bearer {', '.join(parts)}"


def _host(scope: dict[str, Any]) -> str:
    found: bytes = dict(scope["headers"]).get(b"host", b"")
    return found.decode("latin-1").lower()


def _origin(scope: dict[str, Any]) -> str:
    return f"{'https' if settings.HTTPS else 'http'}://{_host(scope)}"
