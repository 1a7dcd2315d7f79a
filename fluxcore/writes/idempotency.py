"""Idempotency keys: a repeated write runs once. Same key, same answer; same key with another body, 409."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction

from fluxcore import clock
from fluxcore.canonical_json import digest
from fluxcore.errors import IdempotencyKeyReused, Invalid
from fluxcore.models import IdempotencyKey

KEEP_FOR = timedelta(hours=24)
MAX_KEY = 128
KEPT_WHOLE = 4096  # bytes of an answer; a larger one is kept without the values that are stored elsewhere


def check_key(key: str) -> str:
    if not (isinstance(key, str) and 1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise Invalid(
            f"An idempotency key must have 1 to {MAX_KEY} printable ASCII characters.", field="idempotency_key"
        )
    return key


def run_once(
    owner: str,
    key: str | None,
    request: Any,
    work: Callable[[], Any],
    shorten: Callable[[Any], Any] | None = None,
) -> Any:
    """Run `work` unless this owner's key already has an answer. Call inside the write's transaction.

    Of an answer above KEPT_WHOLE bytes what `shorten` makes of it is kept; who asks again completes it.
    """
    if key is None:
        return work()
    wanted = digest(request)
    found = _find(owner, key, wanted, forget=True)
    if found is not None:
        return found[0]
    try:
        # The row is inserted first: a concurrent write with the same key waits for it on PostgreSQL; SQLite has none.
        with transaction.atomic():
            row = IdempotencyKey.objects.create(owner=owner, key=key, request=wanted, answer="", created_at=clock.now())
    except IntegrityError:
        found = _find(owner, key, wanted, forget=False)
        if found is None:
            raise
        return found[0]
    answer = work()
    kept = json.dumps(answer, ensure_ascii=False)
    if shorten is not None and len(kept.encode()) > KEPT_WHOLE:
        kept = json.dumps(shorten(answer), ensure_ascii=False)
    IdempotencyKey.objects.filter(pk=row.pk).update(answer=kept)
    return answer


def find_answer(owner: str, key: str, request: Any) -> tuple[Any] | None:
    """The stored answer for a retry, found without a write and before limits, which counted the first time."""
    return _find(owner, key, digest(request), forget=False)


def _find(owner: str, key: str, wanted: str, *, forget: bool) -> tuple[Any] | None:
    row = (
        IdempotencyKey.objects.filter(owner=owner, key=key).values_list("pk", "request", "answer", "created_at").first()
    )
    if row is None:
        return None
    pk, request, answer, created_at = row
    if clock.now() - created_at > KEEP_FOR:
        if forget:
            IdempotencyKey.objects.filter(pk=pk).delete()
        return None
    if request != wanted:
        raise IdempotencyKeyReused(key=key)
    return (json.loads(answer),)


def redact(owners: str, word: str, change: Callable[[Any], Any] | None = None) -> None:
    """Rewrite stored answers that contain `word` as a JSON text, of owners whose name begins with `owners`.

    Call inside a write. Of each changed answer, or of all without a `change`, the digest of the request is deleted too,
    because a text could be guessed from it. A retry is then refused and does not run again.
    """
    text = json.dumps(word, ensure_ascii=False)
    held = IdempotencyKey.objects.filter(owner__startswith=owners, answer__contains=text)
    for pk, answer in list(held.values_list("pk", "answer")):
        stored = json.loads(answer)
        redacted = change(stored) if change is not None else stored
        if change is None or redacted != stored:
            IdempotencyKey.objects.filter(pk=pk).update(answer=json.dumps(redacted, ensure_ascii=False), request="")


def forget_old() -> int:
    deleted, _ = IdempotencyKey.objects.filter(created_at__lt=clock.now() - KEEP_FOR).delete()
    return deleted
