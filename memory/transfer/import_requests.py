"""Requests of imports by people: the file is read and checked at once, stored in pieces, and imported by a job."""

from __future__ import annotations

import uuid
from itertools import islice
from typing import Any

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import canonical_json, clock, raw_sql
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxcore.work.jobs import enqueue
from memory.grains.import_export.write_batch import AT_ONCE
from memory.transfer.formats.source import Source, SourceItem
from memory.transfer.importer import split_into_batches, with_default_provenance
from memory.transfer.models import Import, ImportPiece

KIND = "transfer.import"
MOST = 200_000  # items of one import in the browser; flux_import has no limit
SHOWN = 20  # imports on the page
_PIECE = ("whole", "place", "links", "items", "report", "taken")


@verb("transfer.import", needs="import")
def begin(call: RunningCall, *, source: Source, provenance: str | None, ceiling: str) -> Change:
    """Store a source in pieces and request the job that imports them."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space to import into is missing.", field="space")
    items = list(islice(with_default_provenance(source.items(), provenance), MOST + 1))
    ties = list(islice(source.links(), MOST + 1))
    if not items:
        raise Invalid(f"{source.name} contains nothing to import.", field="file")
    if len(items) + len(ties) > MOST:
        raise Invalid(
            f"The file has more than {MOST} memories. {typed_command('flux_import PATH')} has no size limit.",
            field="file",
            limit=MOST,
        )
    pieces = [(links, some) for links, all_ in ((False, items), (True, ties)) for some in split_into_batches(all_)]

    def change() -> dict[str, Any]:
        identity = uuid.uuid4()
        row = Import.objects.create(
            uuid=identity,
            space_id=space,
            by=call.principal.name,
            source=source.name[:200],
            format=source.format,
            ceiling=ceiling,
            total=len(items) + len(ties),
            asked_at=clock.now(),
            job=enqueue(KIND, {"import": str(identity)}, space=space),
        )
        values: list[tuple[Any, ...]] = [
            (row.pk, place, links, [_laid(one) for one in some], [], False)
            for place, (links, some) in enumerate(pieces)
        ]
        for start in range(0, len(values), AT_ONCE):
            raw_sql.insert(ImportPiece, _PIECE, values[start : start + AT_ONCE])
        call.record(str(identity), source=source.name[:200], format=source.format, items=len(items), links=len(ties))
        call.event("import.asked", str(identity), {"items": len(items), "source": source.name[:200]})
        return {"id": str(identity), "items": len(items), "links": len(ties)}

    return change


def _laid(one: SourceItem) -> list[Any]:
    """Item as JSON for the database; one that cannot be stored is refused by itself."""
    place, problem = one.place.replace("\0", "\ufffd").encode(errors="replace").decode(), one.problem
    if not _fits([one.key, one.given]):
        problem = problem or Invalid("It contains a number or a character that cannot be stored.", field="content")
        return [place, "", {}, [problem.code, problem.message]]
    return [place, one.key, one.given, [problem.code, problem.message] if problem else None]


def _fits(value: Any) -> bool:
    """Whether both databases can store a value: no NaN, no lone surrogates, no NUL."""
    try:
        text = canonical_json.dumps(value)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return "\\u0000" not in text.replace("\\\\", "")


@selector("transfer.list", needs="jobs.read")
def imports(principal: Principal) -> list[Import]:
    """The newest imports of the space."""
    return list(Import.objects.filter(space=principal.space).order_by("-id")[:SHOWN])


@selector("transfer.show", needs="jobs.read")
def shown(principal: Principal, wanted: uuid.UUID) -> Import | None:
    return Import.objects.filter(space=principal.space, uuid=wanted).first()


@selector("transfer.report", needs="jobs.read")
def report(principal: Principal, wanted: uuid.UUID, *, most: int) -> list[dict[str, Any]]:
    """Refused items, in the order of the file."""
    found = ImportPiece.objects.filter(whole__space=principal.space, whole__uuid=wanted, taken=True).order_by("place")
    refused = (
        {"place": place, "code": code, "message": message}
        for piece in found.values_list("report", flat=True).iterator()
        for place, _, status, _, code, message in piece
        if status == "refused"
    )
    return list(islice(refused, most))
