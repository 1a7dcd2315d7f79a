"""Answer types of calls on stores, their files and their transcripts. Without pydantic, as `flux/calls/answers.py`."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from flux.calls.answers import Identifier, Moment


class StoreFacts(TypedDict):
    store: Identifier
    org: str
    project: str
    domain: str
    key: str
    path: Annotated[str, "Address of the store, as flyte computes it below its storage root."]
    read_only_prefixes: list[str]
    staging_prefix: Annotated[str | None, "Folder of proposals; null: the store takes none."]
    audit: Annotated[bool, "false: the store's own log of changes is empty. The audit chain of the space is not."]
    keep_versions: bool
    max_versions: int | None
    max_files: int | None
    max_bytes: int | None
    retention_days: float | None
    recallable: bool
    ephemeral: bool
    files: int
    bytes: Annotated[int, "Bytes of the files, each content once."]
    history_bytes: Annotated[int, "Bytes that only earlier versions have, each content once."]
    messages: int
    created_at: Moment
    created_by: str
    deleted_at: Moment | None


class OpenedStore(StoreFacts):
    created: Annotated[bool, "false: the store existed; its own policy is in force."]


class StoreList(TypedDict):
    stores: list[StoreFacts]
    count: int
    next_cursor: str | None


class StoreDeleted(TypedDict):
    store: Identifier
    deleted: bool
    kept_until: Moment | None


class FileFacts(TypedDict):
    path: str
    version: int
    sha: Annotated[str, "SHA-256 of the bytes."]
    bytes: int
    content_type: str
    provenance: str
    created_at: Moment
    created_by: str
    updated_at: Moment
    updated_by: str
    actor: Annotated[str, "Label the writer gave itself."]
    reason: str


class FileWritten(TypedDict):
    path: str
    version: int
    sha: NotRequired[
        Annotated[
            str, "Left out, like bytes, content_type and updated_at, if you may not read what others wrote of it."
        ]
    ]
    bytes: NotRequired[int]
    content_type: NotRequired[str]
    updated_at: NotRequired[Moment]
    created: Annotated[bool, "true: there was no such file."]
    changed: Annotated[bool, "false: the file had these bytes already, and no version was made."]
    proposal: NotRequired[Annotated[Identifier, "Id of the review item: the file waits for a decision."]]


class FileContent(FileFacts):
    text: NotRequired[Annotated[str, "The content, or the requested lines, of a text file."]]
    base64: NotRequired[Annotated[str, "The content of a file that is not UTF-8 text."]]
    lines: NotRequired[Annotated[int, "Number of lines of the whole text."]]
    truncated: Annotated[bool, "true: there is more than one answer may hold. Read the rest by lines, or over REST."]


class FilePage(TypedDict):
    files: list[FileFacts]
    folders: Annotated[list[str], "Folders of this level, when not recursive."]
    count: int
    next_cursor: str | None


class FilesRemoved(TypedDict):
    deleted: Annotated[list[str], "Paths of the deleted files."]
    count: int


class FilesMoved(TypedDict):
    moved: list[FileWritten]
    count: int


class FileVersion(TypedDict):
    version: int
    op: Annotated[str, "create, update, append, rename, copy, restore, delete, and for proposals promote or deny."]
    sha: Annotated[str, "Empty: the file was deleted in this version."]
    bytes: int
    content_type: str
    kept: Annotated[bool, "Whether the bytes can still be read and restored."]
    at: Moment
    by: str
    actor: str
    reason: str


class VersionList(TypedDict):
    path: str
    version: Annotated[int, "The newest version; 0: there never was such a file."]
    versions: list[FileVersion]
    count: int


class ChangedValue(TypedDict):
    op: Literal["added", "removed", "changed"]
    at: Annotated[str, "JSON pointer of the value."]
    old: NotRequired[Any]
    new: NotRequired[Any]


class VersionDiff(TypedDict):
    path: str
    old: int
    new: int
    same: bool
    diff: Annotated[str, "Unified diff of two texts; empty if they are equal, or not text."]
    changes: NotRequired[Annotated[list[ChangedValue], "Changed values, if both versions are JSON."]]


class FoundLine(TypedDict):
    path: str
    line: int
    text: str


class FoundLines(TypedDict):
    matches: list[FoundLine]
    count: int
    next_cursor: Annotated[str | None, "Given if something was not searched yet, also when the page is empty."]


class StoreEvent(TypedDict):
    ts: Moment
    op: str
    path: Annotated[str, "messages.json: the transcript."]
    old_sha: str
    new_sha: str
    actor: str
    reason: str
    version_file: Annotated[str, "Name of the kept version in an exported tree; empty: none is kept."]
    outcome: Annotated[str, "done, noop, or the code of the refusal."]
    principal: Annotated[str, "The authenticated writer."]
    version: int


class StoreTail(TypedDict):
    events: list[StoreEvent]
    count: int
    next_before: Annotated[int | None, "Give it as before to read earlier events; null: there are none."]


class StoredMessage(TypedDict):
    seq: int
    message: dict[str, Any]
    role: str
    session: str
    speaker: str
    said_at: Moment | None
    at: Moment
    by: str
    actor: Annotated[str, "Label the writer gave itself."]


class MessagePage(TypedDict):
    messages: list[StoredMessage]
    count: int
    total: Annotated[int, "Messages of the transcript."]
    next_after: Annotated[int | None, "Give it as after to read on."]


class MessagesAppended(TypedDict):
    seqs: Annotated[list[int], "Numbers of the messages, in order."]
    count: int
    total: int


class MessagesRemoved(TypedDict):
    removal: Annotated[str, "Give it to undo."]
    seqs: NotRequired[Annotated[list[int], "Numbers of the removed messages; not given when all were removed."]]
    messages: Annotated[list[StoredMessage], "The removed messages, for those who may read the transcript."]
    count: int
    total: int


class MessagesRestored(TypedDict):
    count: int
    total: int
