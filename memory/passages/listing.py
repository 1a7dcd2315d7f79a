"""Lists what recall has of a file, a message or a key: its grains, with the numbers of their recalls and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Asks
from flux.calls import passages as calls
from memory.artifacts import names, proposals
from memory.artifacts.models import File, Message, Store
from memory.artifacts.reading import existing_path
from memory.grains.models import TraceGrain, Vote
from memory.keyvalue import reads
from memory.keyvalue.models import Item
from memory.keyvalue.namespaces import find_namespace, is_recalled, place
from memory.passages import periods
from memory.passages.models import GrainSource, ValueSource

DEFAULT_LIMIT = 50
Facts = Callable[[Any], dict[str, Any]]


def _and_recall(asks: Asks) -> Asks:
    """Capabilities of a list: to read the thing itself, and to recall."""

    def of_call(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
        return [*asks(principal, given), ("grains.read", None)]

    return of_call


@handles(calls.FilePassages, asks=_and_recall(names.asks("artifacts.read", "path")))
def list_of_file(principal: Principal, request: calls.FilePassages) -> dict[str, Any]:
    store, path = _store(principal, request.store), existing_path(request.path)
    files = File.objects.filter(store=store, path=path).exclude(sha="")
    recalled = store.recallable and not proposals.is_staged(store, path)
    rows = GrainSource.objects.filter(store=store.pk, message=None, file__in=files.values("pk"))
    again = GrainSource.objects.filter(file=OuterRef("file"), grain=OuterRef("grain"), last__gt=OuterRef("last"))
    newest = periods.with_cited_version(rows.filter(~Exists(again)))  # each passage once
    return _page(principal, request, newest if recalled else rows.none(), _lines)


@handles(calls.MessagePassages, asks=_and_recall(names.asks_for_transcript("transcript.read")))
def list_of_message(principal: Principal, request: calls.MessagePassages) -> dict[str, Any]:
    store = _store(principal, request.store)
    there = Message.objects.filter(store=store, seq=request.message, removal="").exists()
    rows = GrainSource.objects.filter(store=store.pk, file=None, message=request.message)
    return _page(principal, request, rows if there and store.recallable else rows.none(), lambda row: {})


@handles(calls.KeyPassages, asks=_and_recall(reads.reads))
def list_of_key(principal: Principal, request: calls.KeyPassages) -> dict[str, Any]:
    namespace = find_namespace(principal, place(request.place))
    found = ValueSource.objects.none()
    if namespace is not None and is_recalled(namespace.recalled, request.key):
        live = Item.objects.filter(namespace=namespace.id, key=request.key, value__isnull=False)
        found = ValueSource.objects.filter(
            item__in=[
                pk for pk, expires in live.values_list("pk", "expires") if expires is None or expires > namespace.now
            ]
        )
    return _page(principal, request, found, lambda row: {"version": row.version})


def _store(principal: Principal, ref: str) -> Store:
    return names.find_store(principal, ref)


def _lines(row: Any) -> dict[str, Any]:
    return {"version": row.cited, "first_line": row.first_line, "last_line": row.last_line, "heading": row.heading}


def _page(principal: Principal, request: calls.PassageRead, rows: QuerySet[Any], facts: Facts) -> dict[str, Any]:
    """A page of grains, in the order in which they were indexed."""
    limit = request.limit or DEFAULT_LIMIT
    if not request.earlier:
        rows = rows.filter(current=True)
    if request.cursor is not None:
        rows = rows.filter(pk__gt=int(request.cursor))
    listed = list(rows.filter(space=principal.space).select_related("grain").order_by("pk")[: limit + 1])
    shown = listed[:limit]
    recalls, useful, not_useful = _counts(principal.space or 0, [row.grain_id for row in shown])
    passages = [
        {
            "id": str(row.grain.uuid),
            "content": row.grain.text,
            "provenance": row.grain.origin,
            **facts(row),
            "current": row.current,
            "recalls": recalls[row.grain_id],
            "useful": useful[row.grain_id],
            "not_useful": not_useful[row.grain_id],
        }
        for row in shown
    ]
    return {
        "passages": passages,
        "count": len(passages),
        "next_cursor": str(shown[-1].pk) if len(listed) > limit else None,
    }


def _counts(space: int, grains: list[int]) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Recalls, useful and not useful votes of grains."""
    traces = TraceGrain.objects.filter(space=space, grain__in=grains).values_list("grain_id")
    recalls = Counter(dict(traces.annotate(times=Count("id"))))
    votes = Vote.objects.filter(space=space, grain__in=grains, undone_at=None, implied=False)
    given = votes.values_list("grain_id", "useful").annotate(times=Count("id"))
    useful, not_useful = Counter[int](), Counter[int]()
    for grain, liked, times in given:
        (useful if liked else not_useful)[grain] += times
    return recalls, useful, not_useful
