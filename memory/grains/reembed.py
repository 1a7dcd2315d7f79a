"""Change of the encoder during operation: new vectors are added page by page, then old ones are deleted.

Vectors have the name of their encoder and arenas read only those of the active one, so both kinds can exist
meanwhile. It can be interrupted at any time and continues with the grains that have no vector yet.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from accounts.verbs import Change, RunningCall, verb
from fluxcore.errors import Invalid
from memory.arena.changes import Changes
from memory.embedding.encoder import Encoder
from memory.engine.index.dense import quantise
from memory.grains.enrich import encode_page
from memory.grains.models import Grain, JudgedQuestion, Vector
from memory.grains.vectors import existing_grains, save_vectors

PAGE = 256
_DROPPED = 5_000  # rows deleted at once, so that no write waits long
_GRAINS, _VECTORS = Grain._meta.db_table, Vector._meta.db_table
_WITHOUT = (
    f"FROM {_GRAINS} g LEFT JOIN {_VECTORS} v ON v.space_id = g.space_id AND v.encoder = %s AND v.grain_id = g.id "
    "WHERE g.space_id = %s AND v.id IS NULL AND g.id > %s"
)
_PAGE = f"SELECT g.id, g.text, g.digest {_WITHOUT} ORDER BY g.id LIMIT %s"
_COUNT = f"SELECT COUNT(*) {_WITHOUT}"
_ASKED = (
    f"SELECT id, query, '0' FROM {JudgedQuestion._meta.db_table} "  # noqa: S608
    "WHERE space_id = %s AND encoder <> %s AND id > %s ORDER BY id LIMIT %s"
)
_KEEP = f"UPDATE {JudgedQuestion._meta.db_table} SET encoder = %s, scale = %s, data = %s WHERE id = %s"  # noqa: S608
_DROP = f"DELETE FROM {_VECTORS} WHERE id IN (SELECT id FROM {_VECTORS} WHERE space_id = %s AND encoder <> %s LIMIT %s)"  # noqa: S608


def count_left(space: int, encoder: str, after: int = 0) -> int:
    """How many grains of a space have no vector of an encoder."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [encoder, space, after])
        return int(cursor.fetchone()[0])


@verb("grains.reembed", needs="grains.manage")
def reembed(call: RunningCall, *, encoder: Encoder, after: int = 0) -> Change:
    """Encode the next page of grains that have no vector of this encoder, in the order of their numbers."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")
    with connection.cursor() as cursor:
        cursor.execute(_PAGE, [encoder.name, space, after, PAGE])
        found = list(cursor.fetchall())
    page, last = encode_page(encoder, found)

    def change() -> dict[str, Any]:
        existing = existing_grains(space, page.numbers)
        kept = [row for row, number in enumerate(page.numbers) if number in existing]
        numbers = [page.numbers[row] for row in kept]
        save_vectors(space, encoder.name, numbers, *quantise(page.vectors[kept]))
        call.record("", encoder=encoder.name, grains=len(numbers))
        if numbers:
            data = {"grains": len(numbers), "conduits": 0, "encoder": encoder.name}
            call.event("grains.enriched", "", data, Changes(tuple(numbers)).pack())
        return {"encoded": len(numbers), "seen": sum(number <= last for number, _, _ in found), "last": last}

    return change


@verb("grains.reembed_questions", needs="grains.manage")
def reembed_questions(call: RunningCall, *, encoder: Encoder, after: int = 0) -> Change:
    """Encode the next page of judged questions, so that votes still affect similar questions.

    A question has one vector: only for the active encoder, not for one that is prepared in advance.
    """
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")
    with connection.cursor() as cursor:
        cursor.execute(_ASKED, [space, encoder.name, after, PAGE])
        found = list(cursor.fetchall())
    page, last = encode_page(encoder, found)
    data, scale = quantise(page.vectors)

    def change() -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.executemany(
                _KEEP,
                [
                    (encoder.name, float(one), numbers.tobytes(), number)
                    for number, numbers, one in zip(page.numbers, data, scale, strict=True)
                ],
            )
        call.record("", encoder=encoder.name, questions=len(page.numbers))
        if page.numbers:
            summary = {"questions": len(page.numbers), "encoder": encoder.name}
            call.event("questions.encoded", "", summary, Changes(judged=tuple(page.numbers)).pack())
        return {"encoded": len(page.numbers), "seen": sum(number <= last for number, _, _ in found), "last": last}

    return change


@verb("grains.drop_vectors", needs="grains.manage")
def drop_others(call: RunningCall, *, encoder: str) -> Change:
    """Delete some of the vectors of other encoders; returns their number, 0 if none are left."""
    space = call.principal.space

    def change() -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute(_DROP, [space, encoder, _DROPPED])
            dropped = cursor.rowcount
        call.record("", kept=encoder, dropped=dropped)
        return {"dropped": dropped}

    return change
