"""What a person sees when the doors are open: where to click, the token, the next thing to try."""

from __future__ import annotations

import socket
from typing import Any

from rich.console import Console


def lan_addresses() -> list[str]:
    """Addresses of this machine that others on its network can reach. Nothing is sent to find out."""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    except OSError:
        found = set()  # a host name nobody resolves
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        # Connecting a datagram socket only asks the routing table; no packet leaves.
        probe.connect(("192.0.2.1", 9))
        found.add(str(probe.getsockname()[0]))
    except OSError:
        pass  # no network: loopback is all there is
    finally:
        probe.close()
    return sorted(address for address in found if not address.startswith("127."))


def welcome(console: Console, state: dict[str, Any], *, broadcast: bool) -> None:
    urls, token, link = state["urls"], state["token"], state["enrolment"]
    console.print()
    console.print(f"[bold green]Flux Memory is running[/] (instance {state['name']})")
    console.print()
    console.print(f"  people   {urls['people']}/")
    if broadcast:
        for address in lan_addresses():
            console.print(f"           http://{address}:{state['ports']['people']}/")
    console.print(f"  REST     {urls['rest']}/      docs: {urls['rest']}/api/v1/docs")
    console.print(f"  MCP      {urls['mcp']}/")
    console.print()
    if link is not None:
        console.print("[bold]Become the administrator[/] (works once, 24 hours):")
        console.print(f"  {link}")
        console.print()
    if token is not None:
        console.print("[bold]Token of the agent 'assistant'[/] (shown only now):")
        console.print(f"  {token}")
        console.print()
        console.print("[bold]Try it:[/]")
        console.print(f"  export FLUX_TOKEN={token}")
    else:
        console.print("[bold]Try it[/] (a new token: manage.py flux_token mint assistant):")
    console.print(f'  curl {urls["rest"]}/store -H "Authorization: Bearer $FLUX_TOKEN" \\')
    console.print("""       --json '{"content": "The launch is on Friday", "provenance": "user_stated"}'""")
    console.print()
    console.print("[dim]Ctrl-C or flux_stop ends it.[/]")
