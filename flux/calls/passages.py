"""Declared calls that lead from a file, a message or a key to what recall has of it. Handlers: `memory/passages/`."""

from typing import Annotated, ClassVar

from pydantic import Field

from flux.calls.base import Answers, Call, Read
from flux.calls.passage_answers import PassagePage
from flux.calls.stores import STORE, FilePath, StoreRef
from flux.calls.types import Cursor, Key, Place, Version

MAX_PASSAGES_PAGE = 200


class PassageRead(Read):
    """A call that lists what recall has of one thing."""

    group: ClassVar[str] = "artifacts"
    tool: ClassVar[str | None] = None

    earlier: bool | None = Field(None, description="true: also what only earlier versions have. Default false.")
    limit: Annotated[int, Field(ge=1, le=MAX_PASSAGES_PAGE)] | None = Field(None, description="Page size. Default 50.")
    cursor: Cursor | None = Field(None, description="next_cursor of the previous page.")


class FilePassages(PassageRead, Answers[PassagePage]):
    """The passages of a file that recall finds, in order, with the numbers of their recalls and votes."""

    sdk, verb, rest = "file_passages", "passages.of_file", "GET /stores/{store}/passages/{path}"
    needs, command, shell = ("grains.read", "artifacts.read"), "files", ("passages {store} {path}",)
    example = {"store": "notes", "path": "kept.txt"}

    store: StoreRef = STORE
    path: FilePath = Field(description="The file.")


class MessagePassages(PassageRead, Answers[PassagePage]):
    """What recall finds of a message of a transcript, with the numbers of recalls and votes."""

    sdk, verb, rest = "message_passages", "passages.of_message", "GET /stores/{store}/passages"
    needs, command, shell = ("grains.read", "transcript.read"), "transcript", ("passages {store} {message}",)
    example = {"store": "notes", "message": 1}

    store: StoreRef = STORE
    message: Version = Field(description="Number of the message.")


class KeyPassages(PassageRead, Answers[PassagePage]):
    """What recall finds of the value of a key, with the numbers of recalls and votes."""

    sdk, verb, rest = "{word}_passages", "passages.of_key", "GET /{place}/passages/{key}"
    needs, shell = ("grains.read", "{domain}.read"), ("passages {key}",)

    place: Place = Field(description="agents/NAME or boards/NAME.")
    key: Key = Field(description="The key.")


HANDLERS = "memory.passages.listing"  # module of the server, imported with the first call
CALLS: tuple[type[Call], ...] = (FilePassages, MessagePassages, KeyPassages)
