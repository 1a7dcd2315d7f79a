"""Indexing of files: what is in them becomes grains, and what is gone from them is recalled no more.

Handlers of jobs. They read and split outside of any transaction and write what differs from what is indexed, so that a
job that runs again changes nothing. A new version keeps the grains of the passages it shares with the old one, and a
renamed file those of its old name, with what was learned about them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db.models import Max

from fluxcore import clock, raw_sql
from fluxcore.work.run import Apply, Run
from memory.artifacts import content_types, contents, proposals
from memory.artifacts.models import File, FileChange, Store
from memory.grains import made
from memory.grains.made import MadeText
from memory.passages import jobs, renames
from memory.passages.citing import PASSAGE, file_session
from memory.passages.models import GrainSource
from memory.passages.splitting import Passage, split_text

MAX_BYTES = 4 * 1024 * 1024  # of a file; the rest is not indexed
FILES = 200  # of one job
COLUMNS = (
    "space",
    "grain",
    "store",
    "file",
    "message",
    "version",
    "last",
    "first_line",
    "last_line",
    "heading",
    "session",
    "current",
)


def index_file(run: Run) -> Apply | None:
    """The handler of `passages.index_file`: the passages of a file's newest version replace the earlier ones."""
    file = File.objects.select_related("store").filter(pk=run.args["file"]).first()
    if file is None or run.space is None:
        return None
    space, found = run.space, _passages(file) if _is_indexed(file) else []
    return lambda: _write_passages(space, file, found)


def is_recalled(store: Store) -> bool:
    return store.recallable and store.deleted_at is None


def _is_indexed(file: File) -> bool:
    """Whether recall may find a file. What is proposed is not recalled: nobody has accepted it yet."""
    return file.sha != "" and is_recalled(file.store) and not proposals.is_staged(file.store, file.path)


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


def _write_passages(space: int, file: File, found: Sequence[Passage]) -> None:
    """Make grains of passages, inside the write of the job, unless file or store has changed meanwhile."""
    fresh = File.objects.select_related("store").filter(pk=file.pk, version=file.version).first()
    if fresh is None or (found and not _is_indexed(fresh)):
        return  # that write has asked for another job
    if found:
        made.move_made(space, renames.grains_to_take_over(file), file_session(file))
    texts = [MadeText(one.text, file.origin, file_session(file), writer=file.writer) for one in found]
    numbers = made.insert_made(space, PASSAGE, texts, clock.now())
    places = dict(zip(reversed(numbers), reversed(found), strict=True))  # of equal passages the first
    known = GrainSource.objects.filter(file=file.pk, message=None)
    over = set(known.filter(current=True).values_list("grain_id", flat=True)) - places.keys()
    _note(space, file, places)
    close_unused(space, over)


def close_unused(space: int, grains: Collection[int]) -> None:
    """End the validity of those grains, inside a write, that no file and no message has any more."""
    used = GrainSource.objects.filter(grain__in=grains, current=True).values_list("grain_id", flat=True)
    made.close_made(space, sorted(set(grains) - set(used)), clock.now())


def _note(space: int, file: File, places: dict[int, Passage]) -> None:
    """Write where passages are in a version; a source whose lines are the same as in the version before goes on."""
    known = GrainSource.objects.filter(file=file.pk, message=None)
    before = known.aggregate(version=Max("last"))["version"] or 0
    rows = known.filter(last=before).order_by("current", "pk") if _follows(file, before) else []
    kept = {row.grain_id: row for row in rows}
    going_on, new = list[int](), list[tuple[object, ...]]()
    for number, one in places.items():
        row, here = kept.get(number), (one.first, one.last, one.heading)
        if row is not None and here == (row.first_line, row.last_line, row.heading):
            going_on.append(row.pk)
        else:
            new.append((space, number, file.store_id, file.pk, None, file.version, file.version, *here, "", True))
    known.filter(current=True).exclude(pk__in=going_on).update(current=False)
    known.filter(pk__in=going_on).update(current=True, last=file.version)
    raw_sql.insert(GrainSource, COLUMNS, new)


def _follows(file: File, before: int) -> bool:
    """Whether no version between an indexed one and the present one can lack what both of them have.

    Versions that nobody indexed lie between if they were written fast. Appending removes nothing.
    """
    later = FileChange.objects.filter(file=file.pk, version__gt=before)
    between = later.filter(version__lt=file.version).exclude(content=None)
    return not between.exists() or not later.filter(version__lte=file.version).exclude(op="append").exists()


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
