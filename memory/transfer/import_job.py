"""The job of an import: takes its pieces one by one, each in one commit with its mark, so that a kill costs at most
one piece and none is imported twice."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import F

from accounts import roles
from accounts.capabilities import parsed
from accounts.models import Space, User
from accounts.principals import Principal
from accounts.verbs import RunningCall
from fluxcore import clock, events
from fluxcore.errors import FluxError, Forbidden, Invalid
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks
from memory.grains.import_export import imported_link, write_batch
from memory.transfer.formats.source import SourceItem
from memory.transfer.importer import ImportTally, ItemOutcome, import_grains, import_links, refused_outcome
from memory.transfer.models import Import, ImportPiece

_LOST = "The person who started this import may no longer import into the space."


def take_next_piece(run: Run) -> Apply | None:
    whole = Import.objects.filter(uuid=uuid.UUID(str(run.args.get("import", ""))), finished_at=None).first()
    if whole is None:
        return None
    call = RunningCall(_asker(whole), "grains.import", f"import of {whole.source}"[:200])
    known: dict[str, str] = {}
    for number in whole.pieces.order_by("place").values_list("pk", flat=True):
        piece = ImportPiece.objects.get(pk=number)
        if not piece.taken:
            booth.write(partial(_taken, call, whole, piece, known), lock=write_locks.lock_name(whole.space_id))
        if not piece.links:
            known |= {key: grain for _, key, _, grain, _, _ in piece.report if key and grain}
    run.say(f"{whole.source}: import finished.")
    return lambda: _finish(whole)


def _asker(whole: Import) -> Principal:
    """Principal of the person who started the import with a fresh code: the job writes as them, up to their ceiling."""
    space = Space.objects.get(pk=whole.space_id)
    return Principal(
        kind="user", name=whole.by, space=space.pk, chain=space.uuid.hex, capabilities=parsed(()), ceiling=whole.ceiling
    )


def _may_still(whole: Import) -> bool:
    """Authorise again before every piece: an import can take hours, and rights may be removed meanwhile."""
    user = User.objects.filter(username=whole.by, is_active=True).first()
    return user is not None and roles.allows(roles.roles_of(user).get(whole.space_id, ""), "import")


def _taken(call: RunningCall, whole: Import, piece: ImportPiece, known: dict[str, str]) -> None:
    """Import a piece inside one write: its grains or links, their results, and the mark that it is done."""
    if not ImportPiece.objects.filter(pk=piece.pk, taken=False).update(taken=True):
        piece.refresh_from_db()
        return  # another worker has taken it
    some = [_incoming(*one) for one in piece.items]

    def bring(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return write_batch.write_items(call, *write_batch.check_items(given, ceiling=whole.ceiling), whole.source)

    def tie(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return imported_link.write_links(call, *imported_link.check_links(given), whole.source)

    if not _may_still(whole):
        outcomes = [refused_outcome(one, one.problem or Forbidden(_LOST), link=piece.links) for one in some]
    else:
        outcomes = import_links(some, known, tie) if piece.links else import_grains(some, bring)
    piece.report, piece.items, piece.taken = [_row(one) for one in outcomes], [], True
    ImportPiece.objects.filter(pk=piece.pk).update(report=piece.report, items=[])
    tally = ImportTally()
    tally.add(outcomes)
    counts = tally.shape()
    Import.objects.filter(pk=whole.pk).update(
        done=F("done") + len(outcomes), **{name: F(name) + count for name, count in counts.items()}
    )


def _incoming(place: str, key: str, given: dict[str, Any], problem: list[str] | None) -> SourceItem:
    error: FluxError | None = None
    if problem is not None:
        error = Invalid(problem[1])
    return SourceItem(place, given, key, error)


def _row(one: ItemOutcome) -> list[Any]:
    return [one.place, one.key, one.status, one.grain_id, one.code, one.message]


def _finish(whole: Import) -> None:
    Import.objects.filter(pk=whole.pk).update(finished_at=clock.now())
    whole.refresh_from_db()
    events.append(
        "import.done",
        space=whole.space_id,
        actor=f"user:{whole.by}",
        subject=str(whole.uuid),
        data={"grains": whole.stored, "refused": whole.refused, "source": whole.source},
    )
