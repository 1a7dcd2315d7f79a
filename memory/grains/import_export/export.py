"""Export of a space's grains and learned conduits, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock
from memory.engine.kinds import MADE_KINDS
from memory.grains import hydrate
from memory.grains.models import Conduit, DecayClass, Entry, Grain, Relation

PAGE = 2_000
_GRAIN, _ENTRY, _CONDUIT = (model._meta.db_table for model in (Grain, Entry, Conduit))
_LEAVING = Grain.Status.PENDING_DELETION.value
_NO_MEMORY = ", ".join(f"'{status}'" for status in (_LEAVING, *MADE_KINDS))  # not exported
_GRAINS = (
    f"SELECT {hydrate.COLUMNS} FROM {_GRAIN} WHERE space_id = %s AND id > %s AND status NOT IN ({_NO_MEMORY}) "  # noqa: S608
    "ORDER BY id LIMIT %s"
)
# Conduits that were stated, or changed by votes or use. Those made by a store are made again by the import.
_TAUGHT = (Relation.SUPPORTS, Relation.CONTRADICTS, Relation.SUPERSEDES, Relation.CAUSED_BY)
_CONDUITS = (
    "SELECT c.id, f.uuid, e.kind, e.feature, t.uuid, c.relation, c.weight, c.affinity, c.decay_class, c.made_at, "  # noqa: S608
    f"c.used_at, c.use_count FROM {_CONDUIT} c JOIN {_GRAIN} t ON t.id = c.to_grain_id "
    f"AND t.status NOT IN ({_NO_MEMORY}) "
    f"LEFT JOIN {_GRAIN} f ON f.id = c.from_grain_id LEFT JOIN {_ENTRY} e ON e.id = c.from_entry_id "
    "WHERE c.space_id = %s AND c.id > %s AND (c.base IS NOT NULL OR c.use_count > 0 "
    f"OR c.relation IN ({', '.join(str(int(one)) for one in _TAUGHT)})) "
    f"AND (f.id IS NULL OR f.status NOT IN ({_NO_MEMORY})) ORDER BY c.id LIMIT %s"
)
_RELATIONS = {int(one): one.name.lower() for one in Relation}
_CLASSES = {int(one): one.name.lower() for one in DecayClass}
_LEFT_OUT = ("origin",)  # the same as provenance


@selector("grains.export", needs="graph.export")
def export_grains(principal: Principal) -> Iterator[dict[str, Any]]:
    """Every grain that is not pending deletion, oldest first."""
    return _grains(principal.space or 0)


@selector("grains.export_links", needs="graph.export")
def export_links(principal: Principal) -> Iterator[dict[str, Any]]:
    """Every conduit that an import would not create by itself."""
    return _links(principal.space or 0)


@verb("grains.exported", needs="graph.export")
def record_export(call: RunningCall, *, grains: int, links: int, form: str) -> Change:
    """Record the export of a whole space in its audit chain."""

    def change() -> dict[str, Any]:
        call.record("", grains=grains, links=links, form=form)
        return {"grains": grains, "links": links}

    return change


def count_exported(principal: Principal) -> int:
    return Grain.objects.filter(space=principal.space).exclude(status__in=(_LEAVING, *MADE_KINDS)).count()


def _grains(space: int) -> Iterator[dict[str, Any]]:
    last = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_GRAINS, [space, last, PAGE])
            rows = cursor.fetchall()
        for row in rows:
            one = hydrate.grain_row(row)
            shown = {name: value for name, value in one.shape().items() if name not in _LEFT_OUT}
            shown |= {"confidence": one.confidence, "corroborations": one.corroborations, "writer": one.writer}
            yield shown
        if len(rows) < PAGE:
            return
        last = rows[-1][0]


def _links(space: int) -> Iterator[dict[str, Any]]:
    last = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_CONDUITS, [space, last, PAGE])
            rows = cursor.fetchall()
        for _, start, kind, feature, end, relation, weight, affinity, decay, made, used, uses in rows:
            begins: dict[str, Any] = {"entry": {"kind": kind, "feature": feature}} if kind else {"from": _id(start)}
            yield {
                **begins,
                "to": _id(end),
                "relation": _RELATIONS[relation],
                "weight": weight,
                "affinity": affinity,
                "decay_class": _CLASSES[decay],
                "made_at": _moment(made),
                "used_at": _moment(used),
                "use_count": uses,
            }
        if len(rows) < PAGE:
            return
        last = rows[-1][0]


def _id(value: Any) -> str:
    return hydrate.dashed_uuid(value) if isinstance(value, str) and len(value) == 32 else str(value)


def _moment(seconds: int) -> str | None:
    return clock.rfc3339(datetime.fromtimestamp(seconds, UTC))
