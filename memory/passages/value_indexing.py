"""Indexing of values of keys: what is under recallable keys becomes grains, and what is gone is recalled no more.

Handlers of jobs, which change nothing when they run again. A value that comes back is the grain it was, with what was
learned about it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore import clock, raw_sql
from fluxcore.work.run import Apply, Run
from memory.grains import made
from memory.grains.made import MadeText
from memory.keyvalue import expiry_clock
from memory.keyvalue.models import Item, Namespace
from memory.keyvalue.namespaces import is_recalled
from memory.passages import jobs
from memory.passages.models import ValueSource
from memory.passages.splitting import split_text
from memory.passages.value_sources import VALUE, session_of, tags_of
from memory.passages.value_texts import text_of_value

ITEMS = 200  # of one job
UNKNOWN = "unknown"  # provenance of values from before it was kept
COLUMNS = ("space", "grain", "namespace", "item", "version", "current")


@dataclass(frozen=True)
class _Indexed:
    """A key as a job found it, and the texts to be recalled; none if it has no value, or is not recallable."""

    item: int
    namespace: int
    version: int
    texts: list[MadeText]


def index_value(run: Run) -> Apply | None:
    """The handler of `passages.index_value`: the passages of a key's value replace the earlier ones."""
    space, number = run.space, int(run.args["item"])
    if space is None:
        return None
    item = Item.objects.select_related("namespace").filter(pk=number).first()
    if item is None:
        found = _Indexed(number, 0, 0, [])
    else:
        found = _Indexed(number, item.namespace_id, item.version, _texts(item) if _is_indexed(item) else [])
    return lambda: _write(space, found)


def _is_indexed(item: Item) -> bool:
    lives = item.value is not None and (item.expires is None or item.expires > expiry_clock.current())
    return lives and is_recalled(item.namespace.recalled, item.key)


def _texts(item: Item) -> list[MadeText]:
    origin, session, tags = item.origin or UNKNOWN, session_of(item.pk), tags_of(str(item.namespace))
    return [
        MadeText(one.text, origin, session, said_at=item.written_at, writer=item.writer, tags=tags)
        for one in split_text(text_of_value(item.key, item.value or ""))
    ]


def _write(space: int, found: _Indexed) -> None:
    """Make grains of a value, inside the write of the job, unless the key has changed meanwhile."""
    now, known = clock.now(), ValueSource.objects.filter(item=found.item)
    if found.texts and not Item.objects.filter(pk=found.item, version=found.version, value__isnull=False).exists():
        return  # that write has asked for another job
    numbers = list(dict.fromkeys(made.insert_made(space, VALUE, found.texts, now)))
    over = list(known.filter(current=True).exclude(grain__in=numbers).values_list("grain_id", flat=True))
    made.close_made(space, over, now)
    known.exclude(grain__in=numbers).update(current=False)
    held = set(known.filter(grain__in=numbers).values_list("grain_id", flat=True))
    known.filter(grain__in=numbers).update(version=found.version, current=True)
    new = [(space, one, found.namespace, found.item, found.version, True) for one in numbers if one not in held]
    raw_sql.insert(ValueSource, COLUMNS, new)


def index_place(run: Run) -> Apply | None:
    """The handler of `passages.index_place`: ask for every key of a namespace, and for those indexed earlier."""
    space, namespace, after = run.space, int(run.args["namespace"]), int(run.args["after"])
    if space is None:
        return None
    row = Namespace.objects.filter(pk=namespace).first()
    recalled = row.recalled if row is not None else None
    present = Item.objects.filter(namespace=namespace, value__isnull=False, pk__gt=after).order_by("pk")
    page = list(present.values_list("pk", "key")[:ITEMS]) if recalled is not None else []
    known = ValueSource.objects.filter(namespace=namespace, item__gt=after, current=True).order_by("item")
    indexed = list(known.values_list("item", flat=True).distinct()[:ITEMS])
    last = min((rows[-1] for rows in ([pk for pk, _ in page], indexed) if len(rows) == ITEMS), default=None)
    wanted = {*indexed, *(pk for pk, key in page if is_recalled(recalled, key))}
    numbers = sorted(pk for pk in wanted if last is None or pk <= last)

    def apply() -> None:
        for number in numbers:
            jobs.ask_for_value(space, number)
        if last is not None:
            jobs.ask_for_place(space, namespace, last)

    return apply
