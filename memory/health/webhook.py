"""Webhook client: posts one signed message to the configured address, with a time limit and without redirects.

The host name is resolved once, all its addresses are checked, and the connection uses a checked one, so that a name
that resolves differently a moment later (DNS rebinding) has no effect.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import queue
import socket
import ssl
import threading
from urllib.parse import urlsplit

SECONDS = 5.0
LEAST_SECRET = 16
_HEADER = "X-Flux-Signature"
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


class AlertUndeliverable(Exception):
    """Reason why an alert was not delivered, without secrets of the address."""


def webhook_problem(url: str, secret: str) -> str | None:
    """Problem with the address of the webhook, or None."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "ALERT_WEBHOOK_URL is not an address"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "ALERT_WEBHOOK_URL must begin with http:// or https:// and name a host"
    if parts.username is not None or parts.password is not None:
        return "ALERT_WEBHOOK_URL must not contain a password: messages are signed instead"
    if any(ord(sign) <= 32 or ord(sign) > 126 for sign in url):
        return "ALERT_WEBHOOK_URL must be plain ASCII"
    if len(secret) < LEAST_SECRET:
        return f"ALERT_WEBHOOK_SECRET must have at least {LEAST_SECRET} characters"
    return None


def signature(secret: str, at: int, body: bytes) -> str:
    """Signature header `t=<seconds>,v1=<hex>`, an HMAC of `<seconds>.<body>` that the receiver can check."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={digest.hexdigest()}"


def post_signed(url: str, body: bytes, *, secret: str, at: int, private: bool) -> int:
    """Post a message; returns the status of the answer, which is 2xx. Takes at most five seconds in total."""
    answer: queue.Queue[int | Exception] = queue.Queue()

    def send() -> None:
        try:
            answer.put(_send(url, body, {_HEADER: signature(secret, at, body)}, private))
        except Exception as error:
            answer.put(error)

    # In a separate thread, because a name look-up cannot be interrupted.
    threading.Thread(target=send, name="webhook", daemon=True).start()
    try:
        found = answer.get(timeout=SECONDS)
    except queue.Empty:
        raise AlertUndeliverable(f"no answer within {SECONDS:g} seconds") from None
    if isinstance(found, AlertUndeliverable):
        raise found
    if isinstance(found, Exception):
        raise AlertUndeliverable(f"no connection ({type(found).__name__})")
    if not 200 <= found < 300:
        raise AlertUndeliverable(f"the answer was {found}")
    return found


def _send(url: str, body: bytes, headers: dict[str, str], private: bool) -> int:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    line = http.client.HTTPConnection(host, port, timeout=SECONDS)
    line.sock = socket.create_connection((_address(host, port, private), port), timeout=SECONDS)
    if parts.scheme == "https":
        line.sock = ssl.create_default_context().wrap_socket(line.sock, server_hostname=host)
    try:
        where = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        all_headers = {
            "Content-Type": "application/json",
            "User-Agent": "flux-memory",
            "Connection": "close",
            **headers,
        }
        line.request("POST", where, body, all_headers)
        return line.getresponse().status  # redirects are not followed
    finally:
        line.close()


def _address(host: str, port: int, private: bool) -> str:
    found = [info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for one in found:
        if not address_allowed(str(one), private=private):
            raise AlertUndeliverable(
                "the address is on this machine or its network: set ALERT_PRIVATE_ADDRESSES to allow that"
            )
    return str(found[0])


def address_allowed(address: str, *, private: bool) -> bool:
    """Whether alerts may be sent to an address. Never to link-local ones: cloud machines serve credentials on one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.sixtofour or found.teredo or found in _TRANSLATED:
            return False  # an IPv6 form of an IPv4 address
        found = found.ipv4_mapped or found
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        return False
    return found.is_global or (private and (found.is_private or found.is_loopback))
