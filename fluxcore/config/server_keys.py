"""Keys of config.yaml about the servers: addresses, ports and connections."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class ServerKeys:
    """Keys of the servers' addresses, ports and connections."""

    OPERATING_MODE: str = key(
        "caller_extracts",
        "who extracts the features of a text: the caller or the local model",
        allowed=("caller_extracts", "flux_extracts"),
    )
    REST_HOST: str = key("127.0.0.1", "address of the REST server")
    REST_PORT: int = key(7465, "port of the REST server; 0 picks a free one", low=0, high=65535)
    REST_OPEN_TO_LOOPBACK: str = key("", "agent used for local programs without a token; empty: none", hot=True)
    MCP_HOST: str = key("127.0.0.1", "address of the MCP server")
    MCP_SERVER_NAME: str = key("flux-memory", "name of the MCP server")
    MCP_PORT: int = key(7464, "port of the MCP server; 0 picks a free one", low=0, high=65535)
    DASHBOARD_HOST: str = key("127.0.0.1", "address of the dashboard")
    DASHBOARD_PORT: int = key(7462, "port of the dashboard; 0 picks a free one", low=0, high=65535)
    REQUEST_SECONDS: float = key(
        10.0,
        "seconds a request's headers may take; its body may take longer by its size",
        low=0.5,
        high=600,
    )
    MAX_CONNECTIONS: int = key(1024, "open connections of a server process", low=16, high=100_000)
    MAX_CONNECTIONS_PER_SOURCE: int = key(
        512, "open connections of one source address to the dashboard and MCP servers", low=8, high=100_000
    )
