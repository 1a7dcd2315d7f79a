"""Addresses of keyed stores: organisation, project, domain and key, as flyte joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flux import paths
from flux.calls.store_answers import StoreFacts
from flux.client import FluxClient
from flux.memory.errors import MemoryStoreError, translated
from flux.memory.keyed import client_of
from fluxcore.errors import Forbidden, NotFound


class Coordinates(NamedTuple):
    """Where a key is; None: the space of the token, and `default`."""

    org: str | None = None
    project: str | None = None
    domain: str | None = None


def coordinates_in(remote_path: str, key: str) -> Coordinates:
    """Organisation, project and domain in an address."""
    *_, org, project, domain, name = ["", "", "", "", *remote_path.split("/")]
    if not remote_path.endswith(paths.remote_path("", org, project, domain, key)) or name != key:
        raise MemoryStoreError(f"{remote_path!r} is not the address of a store with the key {key!r}.")
    return Coordinates(org, project, domain)


def address_of(key: str, where: Coordinates, storage_root: str, client: FluxClient | None) -> str:
    """The address of a store. Without an organisation the server is asked for the space."""
    with translated():
        paths.checked_key(key)
        return paths.remote_path(
            paths.storage_root(storage_root),
            paths.checked_name(where.org, "org") if where.org else client_of(client).me()["space"],
            paths.checked_name(where.project or paths.DEFAULT, "project"),
            paths.checked_name(where.domain or paths.DEFAULT, "domain"),
            key,
        )


def find_store(key: str, where: Coordinates, client: FluxClient | None) -> StoreFacts | None:
    """The store with that key, if there is one that the token may read something of."""
    with translated():
        paths.checked_key(key)
        server = client_of(client)
        if where == Coordinates():
            try:
                found = server.get_store(key)
            except NotFound:
                return None
            return found if found["key"] == key else None  # the key of one store may be the id of another
        page = server.list_stores(
            key=key,
            org=where.org or server.me()["space"],
            project=where.project or paths.DEFAULT,
            domain=where.domain or paths.DEFAULT,
            limit=1,
        )
        return next(iter(page["stores"]), None)


def open_store(
    client: FluxClient, key: str, where: Coordinates, prefixes: Sequence[str], policy: dict[str, bool], *, create: bool
) -> StoreFacts:
    """Create a store, or open it; a token that may only read opens one that exists."""
    make = client.create_store if create else client.open_store
    try:
        return make(
            key,
            read_only_prefixes=list(prefixes) or None,
            audit=policy["audit"],
            keep_versions=policy["keep_versions"],
            org=where.org,
            project=where.project,
            domain=where.domain,
        )
    except Forbidden:
        found = None if create else find_store(key, where, client)
        if found is None:
            raise
        return found
