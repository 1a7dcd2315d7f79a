"""Indexing of transcripts: messages become grains one by one, and removed ones are recalled no more.

Each job goes on where the transcript is indexed up to, so that none of them is ever the only one to know of a message.
It reads and splits outside of any transaction; inside its write it looks again at all that may have changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from fluxcore import clock, raw_sql
from fluxcore.work.run import Apply, Run
from memory.artifacts.models import Message, Store
from memory.artifacts.transcripts import stored_message, texts_of
from memory.grains import made
from memory.grains.made import MadeText
from memory.passages import jobs, transcript_marks
from memory.passages.citing import MESSAGE, message_session
from memory.passages.indexing import COLUMNS, close_unused, is_recalled
from memory.passages.models import GrainSource
from memory.passages.splitting import split_text

MESSAGES, GONE = 500, 1_000  # of one job: messages to index, and sources to close


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
    space, mark, newest = run.space, transcript_marks.read(store.pk), store.next_seq - 1
    rows = _waiting(store, mark.upto) if is_recalled(store) else []
    new = [said for row in rows for said in _said(store, row)]
    upto = rows[-1].seq if len(rows) == MESSAGES else max(newest, mark.upto)
    gone = list(_gone(store).values_list("pk", flat=True)[:GONE]) if "all" in run.args else []

    def apply() -> None:
        if not Store.objects.filter(pk=store.pk, recallable=True, deleted_at=None).exists():
            _forget_all(space, store)
            return
        if gone:
            _close(space, list(_gone(store).filter(pk__in=gone)))
        if transcript_marks.read(store.pk) == mark:
            _write(space, store, new)
            if upto != mark.upto:
                transcript_marks.advance(store.pk, upto)
            if len(rows) == MESSAGES:
                jobs.ask_for_new_messages(space, store.pk)
        else:
            jobs.ask_for_new_messages(space, store.pk)  # another job was faster, or messages came back
        if len(gone) == GONE:
            jobs.ask_for_transcript(space, store.pk)

    return apply


def _sources(store: Store) -> QuerySet[GrainSource]:
    return GrainSource.objects.filter(store=store.pk, file=None, current=True)


def _waiting(store: Store, upto: int) -> list[Message]:
    """The next messages behind the mark that are there and not indexed."""
    indexed = _sources(store).filter(message=OuterRef("seq"))
    waiting = Message.objects.filter(store=store.pk, removal="", seq__gt=upto)
    return list(waiting.filter(~Exists(indexed)).order_by("seq")[:MESSAGES])


def _gone(store: Store) -> QuerySet[GrainSource]:
    """Sources of messages that are there no more."""
    present = Message.objects.filter(store=store.pk, removal="", seq=OuterRef("message"))
    return _sources(store).filter(~Exists(present)).order_by("pk")


def _said(store: Store, row: Message) -> list[_Said]:
    """The parts of a message, each with its speaker and time. A message without words is indexed as nothing."""
    speaker, session = row.speaker or row.role, message_session(store, row.session)
    text = "\n".join(texts_of(stored_message(row)["message"]))
    said_at = row.said_at or row.at
    return [
        _Said(
            row.seq, row.session, MadeText(part.text, row.origin, session, speaker, said_at, row.writer, by_time=True)
        )
        for part in split_text(text)
    ]


def _write(space: int, store: Store, new: Sequence[_Said]) -> None:
    """Make grains of the messages that are still there, inside the write of the job."""
    read = {said.message for said in new}
    there = Message.objects.filter(store=store.pk, seq__in=read, removal="")
    present = set(there.values_list("seq", flat=True))
    kept = [said for said in new if said.message in present]
    grains = made.insert_made(space, MESSAGE, [said.made for said in kept], clock.now())
    # What was indexed before it was removed has its sources still.
    known = GrainSource.objects.filter(store=store.pk, file=None, message__in=present)
    held = set(known.values_list("grain_id", "message"))
    known.filter(grain__in=grains).update(current=True)
    wanted = {(grain, said.message): said.session for grain, said in zip(grains, kept, strict=True)}
    rows = [
        (space, grain, store.pk, None, message, 0, 0, 0, 0, "", session, True)
        for (grain, message), session in wanted.items()
        if (grain, message) not in held
    ]
    raw_sql.insert(GrainSource, COLUMNS, rows)


def _close(space: int, sources: Sequence[GrainSource]) -> None:
    """End sources inside a write, and the grains that have no other."""
    GrainSource.objects.filter(pk__in=[one.pk for one in sources]).update(current=False)
    close_unused(space, {one.grain_id for one in sources})


def _forget_all(space: int, store: Store) -> None:
    """Close everything of a transcript that is not recallable, a part in each job."""
    sources = list(_sources(store).order_by("pk")[:GONE])
    _close(space, sources)
    transcript_marks.begin_anew(store.pk)
    if len(sources) == GONE:
        jobs.ask_for_transcript(space, store.pk)
