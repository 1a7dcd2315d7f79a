"""Declared calls on stores: create, open, list, delete. Handlers: `memory/artifacts/`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from flux.calls.base import Answers, Call, Read, Write
from flux.calls.rules import MAX_VERSION
from flux.calls.store_answers import OpenedStore, StoreDeleted, StoreFacts, StoreList, StoreTail
from flux.calls.types import LINE_PATTERN, ONE_LINE, STORABLE, Cursor

StoreRef = Annotated[str, Field(min_length=1, max_length=255), STORABLE]
Segment = Annotated[str, Field(min_length=1, max_length=255), STORABLE]
FilePath = Annotated[str, Field(min_length=1, max_length=1024)]
Count = Annotated[int, Field(ge=1, le=MAX_VERSION)]
Days = Annotated[float, Field(gt=0, le=36_500, allow_inf_nan=False), ("exclusiveMinimum", 0)]
Actor = Annotated[str, Field(max_length=128), ("pattern", LINE_PATTERN), ONE_LINE]
STORE = Field(description="The store: its id, or its key if org, project and domain are the default ones.")
CREATE = Field(None, description="true: create the store, named by its key, if there is none.")
MAX_STORES_PAGE, MAX_TAIL = 200, 1000


class StoreRead(Read):
    """A call that reads stores."""

    needs: ClassVar[tuple[str, ...]] = ("artifacts.read",)
    group: ClassVar[str] = "artifacts"
    command: ClassVar[str] = "files"
    tool: ClassVar[str | None] = None


class StoreWrite(Write):
    """A call that changes stores."""

    needs: ClassVar[tuple[str, ...]] = ("artifacts.write",)
    group: ClassVar[str] = "artifacts"
    command: ClassVar[str] = "files"
    tool: ClassVar[str | None] = None


class StorePolicy(StoreWrite):
    """A call that sets the policy of a store. Its creator does; later only an owner of the space changes it."""

    read_only_prefixes: Annotated[list[FilePath], Field(max_length=100)] | None = Field(
        None, description="Folders or files that agents cannot write: memory protects memory and memory/**."
    )
    staging_prefix: Segment | None = Field(
        None,
        description="Folder of proposals: a file written to PREFIX/PATH waits for a decision and then replaces PATH.",
    )
    audit: bool | None = Field(None, description="Whether the store has its own log of changes. Default true.")
    keep_versions: bool | None = Field(None, description="Whether earlier versions are kept. Default true.")
    max_versions: Count | None = Field(None, description="Earlier versions kept of each file. Default: all.")
    max_files: Count | None = Field(None, description="Files the store may hold.")
    max_bytes: Count | None = Field(None, description="Bytes the store may hold, earlier versions included.")
    retention_days: Days | None = Field(None, description="Days after which earlier versions are removed.")
    recallable: bool | None = Field(None, description="Whether recall finds what is in its files and messages.")
    ephemeral: bool | None = Field(None, description="Deleted whenever the instance starts.")


class NewStore(StorePolicy):
    """A call that makes a store: its coordinates and its policy."""

    key: Segment = Field(description="Name of the store: one path segment of any script.")
    org: Segment | None = Field(None, description="Default: the space.")
    project: Segment | None = Field(None, description="Default: default.")
    domain: Segment | None = Field(None, description="Default: default.")


class CreateStore(NewStore, Answers[StoreFacts]):
    """Create a store of files with a transcript. 409 if it exists."""

    sdk, verb, rest = "create_store", "stores.create", "POST /stores"
    title, shell = "Create a store", ("create {key}",)
    example = {"key": "notes"}


class OpenStore(NewStore, Answers[OpenedStore]):
    """Open a store, and create it if it does not exist. An existing store keeps its own policy."""

    sdk, verb, rest = "open_store", "stores.open", "PUT /stores"
    title, repeats = "Open a store", True
    example = {"key": "notes"}


class GetStore(StoreRead, Answers[StoreFacts]):
    """Coordinates, policy and counts of a store."""

    sdk, verb, rest = "get_store", "stores.get", "GET /stores/{store}"
    title, shell = "Show a store", ("show {store}",)
    example = {"store": "notes"}

    store: StoreRef = STORE


class ListStores(StoreRead, Answers[StoreList]):
    """List the stores you may read something of, oldest first."""

    sdk, verb, rest = "list_stores", "stores.list", "GET /stores"
    title, shell = "List stores", ("list",)

    key: Segment | None = Field(None, description="Only the store with this key.")
    org: Segment | None = Field(None, description="Only stores of this organisation.")
    project: Segment | None = Field(None, description="Only stores of this project.")
    domain: Segment | None = Field(None, description="Only stores of this domain.")
    deleted: bool | None = Field(None, description="true: deleted stores that can still be restored.")
    limit: Annotated[int, Field(ge=1, le=MAX_STORES_PAGE)] | None = Field(None, description="Page size. Default 50.")
    cursor: Cursor | None = Field(None, description="next_cursor of the previous page.")


class DeleteStore(StoreWrite, Answers[StoreDeleted]):
    """Delete a store with its files and messages. It can be restored for 30 days (STORE_UNDELETE_DAYS)."""

    sdk, verb, rest = "delete_store", "stores.delete", "DELETE /stores/{store}"
    title, shell = "Delete a store", ("delete {store}",)
    example = {"store": "notes"}

    store: StoreRef = STORE


class UndeleteStore(StoreWrite, Answers[StoreFacts]):
    """Restore a deleted store as it was."""

    sdk, verb, rest = "undelete_store", "stores.undelete", "POST /stores/{store}/undelete"
    title, shell = "Restore a deleted store", ("undelete {store}",)
    example = {"store": "notes"}

    store: StoreRef = STORE


class ChangePolicy(StorePolicy, Answers[StoreFacts]):
    """Change the policy of a store. Owners of the space and the command line do; agents only set it at creation."""

    sdk, verb = "", "stores.policy"
    needs, shell = ("policy",), ("policy {store}",)

    store: StoreRef = STORE
    without: list[Literal["max_versions", "max_files", "max_bytes", "retention_days", "staging_prefix"]] | None = Field(
        None, description="A limit to remove, or the staging prefix."
    )


class ReadStoreTail(StoreRead, Answers[StoreTail]):
    """The newest changes of a store, refused ones included, oldest first."""

    sdk, verb, rest = "store_audit", "stores.audit", "GET /stores/{store}/audit"
    title, shell = "Log of a store", ("audit {store}",)
    by_position = ("tail",)
    example = {"store": "notes"}

    store: StoreRef = STORE
    tail: Annotated[int, Field(ge=1, le=MAX_TAIL)] | None = Field(None, description="Number of events. Default 20.")
    before: Count | None = Field(None, description="next_before of the previous page, for earlier events.")


HANDLERS = "memory.artifacts.handlers"
CALLS: tuple[type[Call], ...] = (
    CreateStore,
    OpenStore,
    GetStore,
    ListStores,
    DeleteStore,
    UndeleteStore,
    ChangePolicy,
    ReadStoreTail,
)
