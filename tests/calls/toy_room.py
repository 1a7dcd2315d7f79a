"""A room with all that a declaration can say: declared and handled here, and registered by the tests in one line.

Its notes are kept in memory; everything else (authorisation, audit, idempotency, limits of fields) is the real thing.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls.base import Answers, Call, Read, Write
from flux.calls.registry import Room
from flux.calls.types import Key, Name, Place, VersionOrNone
from fluxcore.errors import NotFound
from fluxcore.writes.preconditions import Precondition
from memory.keyvalue.models import Item
from memory.keyvalue.namespaces import place
from memory.keyvalue.reads import reads
from tests.calls.toy_answers import Greeting, Length, Messages, Note, NoteGone, Notes, Page

Tags = Annotated[list[Annotated[str, Field(max_length=10)]], Field(max_length=3)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class MeasureKey(Read, Answers[Length]):
    """How many bytes the value under a key has, times a factor."""

    sdk, verb, rest = "{word}_measure", "kv.measure", "GET /{place}/measure/{key}"
    title, needs = "Measure {whose}", ("{domain}.read",)
    shell = ("measure {key}",)

    place: Place
    key: Key
    factor: int | None = Field(None, ge=1, le=10, description="Default 1.")


class ToyRead(Read):
    """A call that looks at notes."""

    needs: ClassVar[tuple[str, ...]] = ("artifacts.read",)
    group: ClassVar[str] = "toy"


class ToyWrite(Write):
    """A call that changes a note."""

    needs: ClassVar[tuple[str, ...]] = ("artifacts.write",)
    group: ClassVar[str] = "toy"

    note: Name
    expected_version: VersionOrNone | None = Field(None, description="The version you saw; 0: nothing is there.")


class FindNotes(ToyRead, Answers[Notes]):
    """Notes that have all these tags and weigh enough."""

    sdk, verb, rest = "find_notes", "notes.find", "GET /notes"
    title, shell = "Find notes", ("find",)

    tags: Tags | None = Field(None, description="All of these.")
    levels: list[Literal[1, 2, 3]] | None = Field(None, description="Any of these.")
    above: Finite | None = Field(None, description="Heavier than this.")
    newest: bool | None = Field(None, description="The newest first.")


class GetNote(ToyRead, Answers[Note]):
    """A note."""

    sdk, verb, rest, tagged = "get_note", "notes.get", "GET /notes/{note}", True
    title, shell = "Read a note", ("read {note}",)

    note: Name


class WriteNote(ToyWrite, Answers[Note]):
    """Write a note."""

    sdk, verb, rest, tagged = "write_note", "notes.write", "PUT /notes/{note}", True
    title, repeats, shell = "Write a note", True, ("write {note} {text}", "count {note} {text} {counts}")
    example = {"note": "one", "text": "by the table"}

    text: str
    weight: Finite | None = None
    tags: Tags | None = None
    level: Literal[1, 2, 3] | None = None
    counts: dict[str, int] | None = Field(None, description="How often each word was seen.")


class ReadPage(ToyRead, Answers[Page]):
    """A page of a note, by its path."""

    sdk, verb, rest = "read_page", "notes.page", "GET /notes/{note}/pages/{path}"
    title, shell = "Read a page", ("page {note} {path}",)
    example = {"note": "one", "path": "first/page", "lines": 3}

    note: Name
    path: Key
    lines: int


class AddMessages(ToyWrite, Answers[Messages]):
    """Add messages, each an object of any fields."""

    sdk, verb, rest = "add_messages", "notes.messages", "POST /notes/{note}/messages"
    title, shell = "Add messages", ("say {note} {messages}",)
    example = {"note": "one", "messages": [{"role": "user", "content": ["hello"]}]}

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=2)]


class RemoveNote(ToyWrite, Answers[NoteGone]):
    """Remove a note with these tags."""

    sdk, verb, rest = "remove_note", "notes.remove", "DELETE /notes/{note}"
    title, destroys, shell = "Remove a note", True, ("remove {note}",)
    confirms = {"remove": ("note", "This removes the note for good.")}
    not_over_rest = ("counts",)

    tags: Tags | None = None
    counts: dict[str, int] | None = None


class Greet(Read, Answers[Greeting]):
    """A greeting, for every agent."""

    sdk, verb, rest, group = "greet", "notes.greet", "GET /greet", "toy"
    title, shell = "Greet", ("greet",)


NOTES: dict[str, dict[str, Any]] = {}


@handles(MeasureKey, asks=reads)
def measure_key(principal: Principal, request: MeasureKey) -> dict[str, Any]:
    where = place(request.place)
    item = Item.objects.get(namespace__kind=where.kind, namespace__name=where.name, key=request.key)
    return {"key": item.key, "bytes": item.size * (request.factor or 1)}


def _shown(note: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in note.items() if name != "level"}


@handles(FindNotes)
def find_notes(principal: Principal, request: FindNotes) -> dict[str, Any]:
    found = [
        note
        for note in NOTES.values()
        if set(request.tags or ()) <= set(note["tags"])
        and note["level"] in (request.levels or (1, 2, 3))
        and note["weight"] > (-1 if request.above is None else request.above)
    ]
    return {"notes": [_shown(note) for note in (reversed(found) if request.newest else found)]}


@handles(GetNote)
def get_note(principal: Principal, request: GetNote) -> dict[str, Any]:
    if request.note not in NOTES:
        raise NotFound(f"There is no note {request.note}.")
    return _shown(NOTES[request.note])


@handles(WriteNote)
def write_note(call: RunningCall, request: WriteNote) -> Change:
    def change() -> dict[str, Any]:
        version = NOTES.get(request.note, {"version": 0})["version"]
        Precondition(expected_version=request.expected_version).check(sha="", version=version)
        NOTES[request.note] = {
            "name": request.note,
            "text": request.text,
            "weight": request.weight or 0.0,
            "tags": request.tags or [],
            "counts": request.counts or {},
            "level": request.level or 1,
            "version": version + 1,
        }
        call.record(f"note:{request.note}", version=version + 1)
        return _shown(NOTES[request.note])

    return change


@handles(ReadPage)
def read_page(principal: Principal, request: ReadPage) -> dict[str, Any]:
    return {"path": request.path, "lines": request.lines}


@handles(AddMessages)
def add_messages(call: RunningCall, request: AddMessages) -> Change:
    return lambda: {"messages": request.messages}


@handles(RemoveNote)
def remove_note(call: RunningCall, request: RemoveNote) -> Change:
    def change() -> dict[str, Any]:
        note = NOTES.get(request.note)
        found = note is not None and set(request.tags or ()) <= set(note["tags"])
        Precondition(expected_version=request.expected_version).check(sha="", version=note["version"] if note else 0)
        if found:
            del NOTES[request.note]
        return {"removed": found}

    return change


@handles(Greet)
def greet(principal: Principal, request: Greet) -> dict[str, Any]:
    return {"hello": principal.name}


HANDLERS = __name__
CALLS: tuple[type[Call], ...] = (MeasureKey, FindNotes, GetNote, WriteNote, ReadPage, AddMessages, RemoveNote, Greet)
# The one line that a new room adds.
ROOM = Room("toy", "Toy", "A toy.", "toy.md", {__name__: ("memory", "board", "toy")})
