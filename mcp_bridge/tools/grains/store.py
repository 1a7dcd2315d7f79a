"""flux_store: store one text or several."""

from __future__ import annotations

from typing import Any

from accounts.origins import AUTHORITY, CLAIMABLE
from accounts.principals import Principal
from fluxcore.errors import Invalid
from mcp_bridge import schemas
from mcp_bridge.registry import Tool
from mcp_bridge.schemas import gives, identifier, many, moment, one_of, record, text, whole
from mcp_bridge.tools.grains.fields import ERROR, KEY, REASON, pick_given, write_options
from memory.grains import sizes

ITEM = {
    "content": text("One fact, a whole sentence with its names and dates."),
    "provenance": one_of(CLAIMABLE, "Provenance: who states it. Default ai_stated."),
    "session": text("The conversation the text belongs to.", longest=sizes.MAX_NAME),
    "speaker": text("The speaker's name.", longest=sizes.MAX_NAME),
    "time": moment("When it was said or happened, with a UTC offset."),
    "tags": many(text(longest=sizes.MAX_TAG), "Tags. A recall can be limited to them.", most=sizes.MAX_TAGS),
    "valid_from": moment("Start of the time in which it is true."),
    "valid_to": moment("End of the time in which it is true."),
}
STORED = {
    "grain_id": identifier(),
    "status": one_of(
        ("stored", "corroborated", "quarantined", "pending_deletion", "refused"),
        "quarantined, pending_deletion: the text was removed before and is not recalled.",
    ),
    "action": one_of(
        ("stored_wired", "duplicate", "quarantined", "pending_deletion"), "The status by its name in flux-memory."
    ),
    "provenance": one_of(AUTHORITY),
    "reason": text("Why the text is not recalled."),
}


def _store(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.grains import grain_input, store

    more = write_options(given)
    if given.get("items") is None:
        fields = pick_given(given, *grain_input.FIELDS)
        answer: dict[str, Any] = store.store(principal, **{"content": None, "provenance": None, **fields}, **more)
        return answer
    if any(given.get(name) is not None for name in grain_input.FIELDS):
        raise Invalid("Give one text as content, or several as items, not both.", field="items")
    answer = store.store_batch(principal, items=given["items"], **more)
    return {
        "results": [
            {name: value for name, value in result.items() if value is not None} for result in answer["results"]
        ],
        "count": answer["count"],
        "refused": answer["refused"],
    }


STORE = Tool(
    "flux_store",
    "Remember",
    "Store a fact in long-term memory, or several at once with items. Call it when you learn something that will "
    "matter later. One fact per text. A text that is stored already is counted, not stored twice.",
    _store,
    takes={
        **ITEM,
        "items": many(
            record(("content",), **schemas.bare(ITEM)),
            "Several texts instead of content; each is stored or refused on its own.",
            most=100,
        ),
        "reason": REASON,
        "idempotency_key": KEY,
    },
    gives=gives(
        (),
        **STORED,
        count=whole("Number of texts stored."),
        refused=whole(),
        results=many(record(("index", "status"), index=whole(), **STORED, error=ERROR)),
    ),
    needs=("grains.write",),
    one_by_one=("items",),
)
