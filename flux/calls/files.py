"""Declared calls on files of stores. Handlers: `memory/artifacts/`.

Bodies of files are sent and answered as they are, so `GET`, `PUT`, `POST` and `DELETE /stores/{store}/files/{path}` are
written by hand (`memory/api/files.py`). The calls without an address are tools and commands for texts.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from flux.calls.base import Answers, Call
from flux.calls.store_answers import (
    FileContent,
    FileFacts,
    FilePage,
    FilesMoved,
    FilesRemoved,
    FileWritten,
    FoundLines,
    VersionDiff,
    VersionList,
)
from flux.calls.stores import CREATE, STORE, Actor, Count, FilePath, StoreRead, StoreRef, StoreWrite
from flux.calls.types import Cursor, SearchCursor, Sha256

MAX_FILES_PAGE, MAX_VERSIONS_PAGE, MAX_MATCHES = 1000, 1000, 200
Provenance = Literal["user_stated", "ai_stated", "ai_inferred", "external_source"]
ContentType = Annotated[str, Field(min_length=3, max_length=127)]
_PATH = Field(description="Path in the store, for example notes/today.md.")
_ACTOR = Field(None, description="Label of the writer, kept beside the authenticated one.")
_EXPECTED = Field(None, description="SHA-256 the file must have now; empty: there must be no such file.")
_PROVENANCE = Field(None, description="Provenance of the content. Default: what stored memories have by default.")


class FileWrite(StoreWrite):
    """A call that writes files."""

    store: StoreRef = STORE
    actor: Actor | None = _ACTOR


class ReadFile(StoreRead, Answers[FileContent]):
    """Read a file of a store: its text, or some of its lines, with version and SHA-256."""

    sdk, verb, tool = "", "files.read", "artifact_read"
    title, shell = "Read a file", ("read {store} {path}",)

    store: StoreRef = STORE
    path: FilePath = _PATH
    version: Count | None = Field(None, description="An earlier version. Default: the current one.")
    first: Count | None = Field(None, description="First line to read, from 1.")
    last: Count | None = Field(None, description="Last line to read.")


class WriteFile(FileWrite, Answers[FileWritten]):
    """Write a text file. With expected_sha nothing is written if the file has changed since you read it."""

    sdk, verb, tool = "", "files.write", "artifact_write"
    title, repeats, shell = "Write a file", True, ("write {store} {path} {text}",)

    path: FilePath = _PATH
    text: str = Field(description="The whole content.")
    expected_sha: Sha256 | None = _EXPECTED
    content_type: ContentType | None = Field(None, description="Default: by the ending of the path.")
    provenance: Provenance | None = _PROVENANCE
    create: bool | None = CREATE


class AppendFile(FileWrite, Answers[FileWritten]):
    """Add text to the end of a file, which is created if it does not exist. Nothing that others append is lost."""

    sdk, verb, tool = "", "files.append", "artifact_append"
    title, shell = "Append to a file", ("append {store} {path} {text}",)

    path: FilePath = _PATH
    text: str = Field(description="What is added.")
    expected_sha: Sha256 | None = _EXPECTED
    provenance: Provenance | None = _PROVENANCE
    create: bool | None = CREATE


class ListFiles(StoreRead, Answers[FilePage]):
    """List files in order of their paths, page by page; only those you may read."""

    sdk, verb, rest, tool = "list_files", "files.list", "GET /stores/{store}/files", "artifact_list"
    title, shell = "List files", ("ls {store}",)
    by_position = ("prefix",)
    example = {"store": "notes"}

    store: StoreRef = STORE
    prefix: Annotated[str, Field(max_length=1024)] | None = Field(None, description="Only this folder, or this file.")
    recursive: bool | None = Field(None, description="Files of folders below, too. Default true.")
    limit: Annotated[int, Field(ge=1, le=MAX_FILES_PAGE)] | None = Field(None, description="Page size. Default 100.")
    cursor: Cursor | None = Field(None, description="next_cursor of the previous page.")


class GetFileFacts(StoreRead, Answers[FileFacts]):
    """Version, SHA-256, size, type and writers of a file, without its content."""

    sdk, verb, rest = "file_facts", "files.facts", "GET /stores/{store}/meta/{path}"
    title = "Facts of a file"
    example = {"store": "notes", "path": "a.md"}

    store: StoreRef = STORE
    path: FilePath = _PATH


class MoveFiles(FileWrite, Answers[FilesMoved]):
    """Rename or copy a file, or with recursive a folder. Existing files are replaced only with overwrite."""

    sdk, verb, rest = "move_files", "files.move", "POST /stores/{store}/move"
    needs: ClassVar[tuple[str, ...]] = ("artifacts.read", "artifacts.write")
    title, shell = "Rename or copy files", ("mv {store} {path} {to}", "cp {store} {path} {to} keep=true")
    example = {"store": "notes", "path": "a.md", "to": "moved.md", "keep": True}

    path: FilePath = _PATH
    to: FilePath = Field(description="The new path.")
    keep: bool | None = Field(None, description="Keep the original. Default false.")
    recursive: bool | None = Field(None, description="Move all files of a folder. Default false.")
    overwrite: bool | None = Field(None, description="Replace files that exist there. Default false.")
    expected_sha: Sha256 | None = Field(None, description="SHA-256 the file at path must have now.")


class DeleteFiles(FileWrite, Answers[FilesRemoved]):
    """Delete a folder with all its files, at most 1,000. Kept versions can be restored."""

    sdk, verb, rest = "delete_files", "files.delete_folder", "POST /stores/{store}/delete"
    title, shell = "Delete a folder", ("rm {store} {path}",)
    example = {"store": "notes", "path": "old"}

    path: FilePath = Field(description="A folder, or a file.")


class ListVersions(StoreRead, Answers[VersionList]):
    """List the versions of a file, newest first, those of deleted files too."""

    sdk, verb, rest = "file_versions", "files.versions", "GET /stores/{store}/versions/{path}"
    tool, title, shell = "artifact_history", "History of a file", ("history {store} {path}",)
    example = {"store": "notes", "path": "a.md"}

    store: StoreRef = STORE
    path: FilePath = _PATH
    limit: Annotated[int, Field(ge=1, le=MAX_VERSIONS_PAGE)] | None = Field(None, description="Default 20.")
    before: Count | None = Field(None, description="Only versions before this one, for the next page.")


class RestoreVersion(FileWrite, Answers[FileWritten]):
    """Write the content of an earlier version again, as a new version."""

    sdk, verb, rest = "restore_file", "files.restore", "POST /stores/{store}/restore/{path}"
    title, shell = "Restore a version", ("restore {store} {path} {version}",)
    example = {"store": "notes", "path": "a.md", "version": 1}

    path: FilePath = _PATH
    version: Count = Field(description="The version to write again.")
    expected_sha: Sha256 | None = _EXPECTED


class DiffVersions(StoreRead, Answers[VersionDiff]):
    """Compare two versions of a text or JSON file."""

    sdk, verb, rest = "diff_file", "files.diff", "GET /stores/{store}/diff/{path}"
    title, shell = "Compare versions", ("diff {store} {path}",)
    example = {"store": "notes", "path": "a.md"}

    store: StoreRef = STORE
    path: FilePath = _PATH
    old: Count | None = Field(None, description="Default: the version before `new`.")
    new: Count | None = Field(None, description="Default: the newest version.")


class SearchFiles(StoreRead, Answers[FoundLines]):
    """Find lines with a text in the text files of a store, whatever their case. Follow next_cursor until it is null: a
    page ends after 8 MiB, so it may have fewer lines, or none.
    """

    sdk, verb, rest = "search_files", "files.search", "GET /stores/{store}/search"
    tool, title, shell = "artifact_search", "Search files", ("search {store} {query}",)
    example = {"store": "notes", "query": "a"}

    store: StoreRef = STORE
    query: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="The text to find.")
    prefix: Annotated[str, Field(max_length=1024)] | None = Field(None, description="Only this folder, or this file.")
    limit: Annotated[int, Field(ge=1, le=MAX_MATCHES)] | None = Field(None, description="Default 50.")
    cursor: SearchCursor | None = Field(None, description="next_cursor of the previous page.")


HANDLERS = "memory.artifacts.handlers"
CALLS: tuple[type[Call], ...] = (
    ReadFile,
    WriteFile,
    AppendFile,
    ListFiles,
    GetFileFacts,
    MoveFiles,
    DeleteFiles,
    ListVersions,
    RestoreVersion,
    DiffVersions,
    SearchFiles,
)
