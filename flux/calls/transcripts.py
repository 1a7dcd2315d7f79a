"""Declared calls on the transcript of a store. Handlers: `memory/artifacts/transcripts.py`."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from flux.calls.base import Answers, Call, Read, Write
from flux.calls.files import Provenance
from flux.calls.store_answers import MessagePage, MessagesAppended, MessagesRemoved, MessagesRestored
from flux.calls.stores import CREATE, STORE, Actor, StoreRef
from flux.calls.types import LINE_PATTERN, ONE_LINE, STORABLE, VersionOrNone, matches

MAX_MESSAGES = 1000  # of one call
Label = Annotated[str, Field(max_length=128), ("pattern", LINE_PATTERN), ONE_LINE]
_REMOVAL = "^[0-9a-f]{32}$"
Removal = Annotated[str, ("pattern", _REMOVAL), matches(_REMOVAL, "what the removal returned")]


class TranscriptRead(Read):
    """A call that reads a transcript."""

    needs: ClassVar[tuple[str, ...]] = ("transcript.read",)
    group: ClassVar[str] = "artifacts"
    command: ClassVar[str] = "transcript"
    tool: ClassVar[str | None] = None

    store: StoreRef = STORE


class TranscriptWrite(Write):
    """A call that changes a transcript."""

    needs: ClassVar[tuple[str, ...]] = ("transcript.write",)
    group: ClassVar[str] = "artifacts"
    command: ClassVar[str] = "transcript"
    tool: ClassVar[str | None] = None

    store: StoreRef = STORE
    actor: Actor | None = Field(None, description="Label of the writer, kept beside the authenticated one.")


class AppendMessages(TranscriptWrite, Answers[MessagesAppended]):
    """Add messages to the end of a transcript: objects with role and content, tool calls and whatever else they have.
    Messages of several writers interleave; none is overwritten."""

    sdk, verb, rest = "append_messages", "transcript.append", "POST /stores/{store}/messages"
    tool, title, shell = "transcript_append", "Append to a transcript", ("say {store} {messages}",)
    example = {"store": "notes", "messages": [{"role": "user", "content": "hello"}]}

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_MESSAGES)] = Field(
        description="Messages in order, for example {role: user, content: ...}."
    )
    session: Label | None = Field(None, description="Conversation the messages belong to.")
    speaker: Label | None = Field(None, description="Who says them, where a message has no name or speaker.")
    provenance: Provenance | None = Field(None, description="Provenance of the messages.")
    create: bool | None = CREATE


class ReadMessages(TranscriptRead, Answers[MessagePage]):
    """Read messages in order: the newest, or those after or before a number, or those that contain a text."""

    sdk, verb, rest = "read_messages", "transcript.read", "GET /stores/{store}/messages"
    tool, title, shell = "transcript_read", "Read a transcript", ("show {store}",)
    example = {"store": "notes"}

    after: VersionOrNone | None = Field(None, description="Only messages with a higher number; the oldest come first.")
    before: VersionOrNone | None = Field(None, description="Only messages with a lower number.")
    session: Label | None = Field(None, description="Only messages of this conversation.")
    query: Annotated[str, Field(min_length=1, max_length=500), STORABLE] | None = Field(
        None, description="Only messages that contain this text, whatever its case."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_MESSAGES)] | None = Field(None, description="Default 50.")


class PopMessages(TranscriptWrite, Answers[MessagesRemoved]):
    """Remove the newest messages, or those with given numbers. It can be undone. Readers get them back."""

    sdk, verb, rest = "pop_messages", "transcript.pop", "POST /stores/{store}/messages/pop"
    title, shell = "Remove the newest messages", ("pop {store}",)
    example = {"store": "notes"}

    count: Annotated[int, Field(ge=1, le=MAX_MESSAGES)] | None = Field(None, description="How many. Default 1.")
    seqs: Annotated[list[VersionOrNone], Field(min_length=1, max_length=MAX_MESSAGES)] | None = Field(
        None, description="Numbers of the messages to remove, instead of the newest ones."
    )


class ClearMessages(TranscriptWrite, Answers[MessagesRemoved]):
    """Remove all messages. It can be undone."""

    sdk, verb, rest = "clear_messages", "transcript.clear", "POST /stores/{store}/messages/clear"
    title, shell = "Clear a transcript", ("clear {store}",)
    example = {"store": "notes"}


class RestoreMessages(TranscriptWrite, Answers[MessagesRestored]):
    """Bring back messages that were removed, at their old places."""

    sdk, verb, rest = "restore_messages", "transcript.restore", "POST /stores/{store}/messages/restore"
    title, shell = "Undo a removal", ("undo {store} {removal}",)
    example = {"store": "notes", "removal": "0" * 32}

    removal: Removal = Field(description="As the removal returned it.")


HANDLERS = "memory.artifacts.handlers"
CALLS: tuple[type[Call], ...] = (AppendMessages, ReadMessages, PopMessages, ClearMessages, RestoreMessages)
