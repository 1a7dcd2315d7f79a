"""Welcome text of a started instance: addresses, token, and example commands."""

from __future__ import annotations

import re
import socket
import struct
import sys
from typing import Any

from django.conf import settings
from rich.console import Console
from rich.text import Text

from fluxcore.command_names import typed_command

_SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")


def lan_addresses() -> list[str]:
    """Addresses of this machine that others on its network can reach. Nothing is sent to find out."""
    found = _interface_addresses() if sys.platform == "linux" else _routed_address()
    return sorted(address for address in found if not address.startswith("127."))


def _interface_addresses() -> set[str]:
    """Addresses of interfaces from the kernel, because a look-up of our host name could contact a name server."""
    import fcntl

    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an IPv4 address
            found.add(socket.inet_ntoa(answer[20:24]))
    return found


def _routed_address() -> set[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket only asks the routing table; no packet leaves.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return set()  # no network: only loopback
        return {str(probe.getsockname()[0])}


def lan_names() -> list[str]:
    """Host names of this machine: those of FLUX_ALLOWED_HOSTS and its own."""
    names = [name.lower() for name in (*settings.ALLOWED_HOSTS, socket.gethostname()) if name not in _LOOPBACK]
    return [name for name in dict.fromkeys(names) if _HOST.fullmatch(name)]


def welcome(console: Console, state: dict[str, Any], *, broadcast: bool) -> None:
    urls, token, link = state["urls"], state["token"], state["enrolment"]
    console.print()
    console.print(f"[bold green]Flux Memory is running[/] (instance {state['name']})")
    console.print()
    console.print(f"  Dashboard  {urls['people']}/")
    if broadcast:
        for host in dict.fromkeys([*lan_addresses(), *lan_names()]):
            console.print(f"             http://{host}:{state['ports']['people']}/")
        console.print(f"             phone preview: {urls['people']}/mobile-preview")
    console.print(f"  REST       {urls['rest']}/      docs: {urls['rest']}/api/v1/docs")
    console.print(f"  MCP        {urls['mcp']}/mcp")
    console.print()
    if state["encoder"] is not None:
        console.print(Text(f"Encoder: {state['encoder']}", "yellow"))
        console.print()
    if link is not None:
        console.print("[bold]Become the administrator[/] (works once, 24 hours):")
        console.print(f"  {link}")
        if broadcast:
            console.print("  From another machine: the same path at one of the addresses above.")
        console.print()
    if token is not None:
        console.print("[bold]Token of the agent 'assistant'[/] (shown only once):")
        console.print(f"  {token}")
        console.print()
    _example(console, urls, token, state["mint"])
    console.print(f"[dim]Stop it with Ctrl-C or {typed_command('flux_stop')}.[/]")


def _example(console: Console, urls: dict[str, str], token: str | None, mint: str | None) -> None:
    """Example commands that can be pasted. Without provenance, so that every token may run them."""
    if token is None and mint is None:
        console.print(f"[bold]Connect a program:[/] create an agent at {urls['people']}/agents")
        console.print()
        return
    console.print("[bold]Try it[/] in another terminal:" if token else "[bold]Try it[/] with a new token:")
    console.print(f"  export FLUX_TOKEN={token or f'$({mint})'}", markup=False)
    console.print(f'  curl {urls["rest"]}/store -H "Authorization: Bearer $FLUX_TOKEN" \\', markup=False)
    console.print("""       --json '{"content": "The launch is on Friday"}'""", markup=False)
    console.print()
