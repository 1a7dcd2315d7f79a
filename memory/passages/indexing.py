"""Indexing of stores: what is in files and transcripts becomes grains, and what is gone from them is recalled no more.

Handlers of jobs. They read and split outside of any transaction and write what differs from what is indexed, so that a
job that runs again changes nothing. A new version keeps the grains of the passages it shares with the old one, with
what was learned about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fluxcore import clock, raw_sql
from fluxcore.work.run import Apply, Run
from memory.artifacts import content_types, contents, proposals
from memory.artifacts.models import File, Message, Store
from memory.artifacts.transcripts import stored_message, texts_of
from memory.grains import made
from memory.grains.made import MadeText
from memory.passages import jobs
from memory.passages.citing import MESSAGE, PASSAGE, file_session, message_session
from memory.passages.models import GrainSource
from memory.passages.splitting import Passage, split_text

MAX_BYTES = 4 * 1024 * 1024  # of a file; the rest is not indexed
FILES, MESSAGES = 200, 500  # of one job
COLUMNS = (
    "space",
    "grain",
    "store",
    "file",
    "message",
    "version",
    "first_line",
    "last_line",
    "heading",
    "session",
    "current",
    "removed",
)


def index_file(run: Run) -> Apply | None:
    """The handler of `passages.index_file`: the passages of a file's newest version replace the earlier ones."""
    file = File.objects.select_related("store").filter(pk=run.args["file"]).first()
    if file is None or run.space is None:
        return None
    # What is proposed is not recalled: nobody has accepted it yet.
    recalled = _is_recalled(file.store) and not proposals.is_staged(file.store, file.path)
    found = _passages(file) if recalled else []
    space, deleted = run.space, not file.sha or not recalled
    return lambda: _write_passages(space, file, found, deleted=deleted)


def _is_recalled(store: Store) -> bool:
    return store.recallable and store.deleted_at is None


def _passages(file: File) -> list[Passage]:
    """The passages of a text file; none of a deleted one, and none of bytes."""
    if file.content_id is None or not content_types.may_be_text(file.content_type):
        return []
    try:
        data = contents.read_all(file.content_id, MAX_BYTES)
    except contents.ReplacedContent:
        return []  # the content was released meanwhile: the write that did it asks for another job
    if not content_types.is_text(data):
        return []
    return split_text(data.decode(errors="ignore"))


def _write_passages(space: int, file: File, found: Sequence[Passage], *, deleted: bool) -> None:
    """Make grains of passages, inside the write of the job, unless the file has changed meanwhile."""
    if not File.objects.filter(pk=file.pk, version=file.version).exists():
        return  # that write has asked for another job
    now, known = clock.now(), GrainSource.objects.filter(file=file.pk, message=None)
    texts = [MadeText(one.text, file.origin, file_session(file), writer=file.writer) for one in found]
    numbers = made.insert_made(space, PASSAGE, texts, now)
    places = dict(zip(reversed(numbers), reversed(found), strict=True))  # of equal passages the first
    over = list(known.filter(current=True).exclude(grain__in=numbers).values_list("grain_id", flat=True))
    made.close_made(space, over, now)
    known.exclude(grain__in=numbers).update(current=False)
    if deleted:
        known.update(removed=True)
    _note(space, file, places)


def _note(space: int, file: File, places: dict[int, Passage]) -> None:
    """Write where passages are now."""
    held = {row.grain_id: row for row in GrainSource.objects.filter(file=file.pk, grain__in=list(places))}
    new = [
        (space, number, file.store_id, file.pk, None, file.version, one.first, one.last, one.heading, "", True, False)
        for number, one in places.items()
        if number not in held
    ]
    raw_sql.insert(GrainSource, COLUMNS, new)
    for number, row in held.items():
        place = places[number]
        row.version, row.first_line, row.last_line = file.version, place.first, place.last
        row.heading, row.current, row.removed = place.heading, True, False
    fields = ["version", "first_line", "last_line", "heading", "current", "removed"]
    GrainSource.objects.bulk_update(held.values(), fields, batch_size=200)


@dataclass(frozen=True)
class _Said:
    """A part of a message that is to be a grain."""

    message: int
    session: str
    made: MadeText


def index_messages(run: Run) -> Apply | None:
    """The handler of `passages.index_messages`: new messages become grains, removed ones are recalled no more."""
    store = Store.objects.filter(pk=run.args["store"]).first()
    if store is None or run.space is None:
        return None
    space, after, everything = run.space, int(run.args["after"]), "all" in run.args
    recalled = _is_recalled(store)
    gone = _gone(store, recalled) if everything and after == 0 else []
    rows = _not_indexed(store, after) if recalled else []
    new = [said for row in rows for said in _said(store, row)]

    def apply() -> None:
        _write_messages(space, store, gone, new)
        if len(rows) == MESSAGES and everything:
            jobs.ask_for_transcript(space, store.pk, rows[-1].seq)
        elif len(rows) == MESSAGES:
            jobs.ask_for_new_messages(space, store.pk, rows[-1].seq)

    return apply


def _not_indexed(store: Store, after: int) -> list[Message]:
    indexed = GrainSource.objects.filter(store=store.pk, file=None, removed=False, message__gt=after)
    waiting = Message.objects.filter(store=store.pk, removal="", seq__gt=after)
    return list(waiting.exclude(seq__in=indexed.values("message")).order_by("seq")[:MESSAGES])


def _gone(store: Store, recalled: bool) -> list[int]:
    """Numbers of indexed messages that are there no more."""
    indexed = GrainSource.objects.filter(store=store.pk, file=None, removed=False)
    if recalled:
        present = Message.objects.filter(store=store.pk, removal="").values("seq")
        indexed = indexed.exclude(message__in=present)
    return [number for number in indexed.values_list("message", flat=True).distinct() if number is not None]


def _said(store: Store, row: Message) -> list[_Said]:
    """The parts of a message, each with its speaker and time. A message without words is indexed as nothing."""
    speaker, session = row.speaker or row.role, message_session(store, row.session)
    text = "\n".join(texts_of(stored_message(row)["message"]))
    said_at = row.said_at or row.at
    return [
        _Said(row.seq, row.session, MadeText(part.text, row.origin, session, speaker, said_at, row.writer))
        for part in split_text(text)
    ]


def _write_messages(space: int, store: Store, gone: Sequence[int], new: Sequence[_Said]) -> None:
    """Make grains of messages, inside the write of the job."""
    now = clock.now()
    over = GrainSource.objects.filter(store=store.pk, file=None, message__in=gone)
    numbers = list(over.filter(current=True).values_list("grain_id", flat=True))
    over.update(current=False, removed=True)
    said_elsewhere = GrainSource.objects.filter(grain__in=numbers, removed=False).values_list("grain_id", flat=True)
    made.close_made(space, sorted(set(numbers) - set(said_elsewhere)), now)
    grains = made.insert_made(space, MESSAGE, [said.made for said in new], now)
    rows = [
        (space, grain, store.pk, None, said.message, 0, 0, 0, "", said.session, True, False)
        for grain, said in zip(grains, new, strict=True)
    ]
    raw_sql.insert(GrainSource, COLUMNS, rows)


def index_store(run: Run) -> Apply | None:
    """The handler of `passages.index_store`: ask for every file and the transcript, after the store itself changed."""
    store = Store.objects.filter(pk=run.args["store"]).first()
    if store is None or run.space is None:
        return None
    space, after = run.space, int(run.args.get("after", 0))
    files = File.objects.filter(store=store.pk, pk__gt=after).order_by("pk")
    numbers = list(files.values_list("pk", flat=True)[:FILES])

    def apply() -> None:
        for number in numbers:
            jobs.ask_for_file(space, number)
        if after == 0:
            jobs.ask_for_transcript(space, store.pk)
        if len(numbers) == FILES:
            jobs.ask_for_store(space, store.pk, numbers[-1])

    return apply
