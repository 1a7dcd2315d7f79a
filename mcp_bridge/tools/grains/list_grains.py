"""flux_list_grains: pages of grains with filters."""

from __future__ import annotations

from typing import Any

from accounts.origins import AUTHORITY
from accounts.principals import Principal
from mcp_bridge import compact
from mcp_bridge.registry import Tool
from mcp_bridge.schemas import gives, many, moment, one_of, text, whole, yes_or_no
from mcp_bridge.tools.grains.fields import BUDGET, STATUS, pick_given
from mcp_bridge.tools.grains.retrieve import RESULT
from memory.grains import sizes

# Fields that a grain has in a list but not in a recall; the last three are flux-memory's.
_LISTED = {
    "recorded_at": moment(),
    "status": one_of(STATUS),
    "content_snippet": text("The first 120 characters."),
    "created_at": moment("The same as recorded_at."),
}


def _list(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.grains import select

    budget = compact.text_budget(given.get("max_tokens"))
    filters = {name: value for name, value in given.items() if name != "max_tokens"}
    page = select.page(principal, **{"limit": 20, **filters})
    grains = [{**compact.compact_grain(grain), **pick_given(grain, *_LISTED)} for grain in page["grains"]]
    fitting, omitted = compact.fit_grains(grains, budget)
    found = {"grains": fitting, "count": page["count"]}
    if omitted:
        found["omitted"] = omitted
    if page["next_cursor"] is not None:
        found["next_cursor"] = page["next_cursor"]
    return found


LIST = Tool(
    "flux_list_grains",
    "List what is remembered",
    "List grains, newest first, page by page, with optional filters. For a question use flux_retrieve instead.",
    _list,
    takes={
        "status": one_of(STATUS, "Default active."),
        "limit": whole("Grains per page. Default 20.", low=1, high=sizes.MAX_PAGE),
        "cursor": text("next_cursor of the previous page."),
        "session": text(longest=sizes.MAX_NAME),
        "speaker": text(longest=sizes.MAX_NAME),
        "tag": text(longest=sizes.MAX_TAG),
        "origin": one_of(AUTHORITY),
        "writer": text(longest=sizes.MAX_WRITER),
        "pinned": yes_or_no(),
        "since": moment("Only grains from this time on."),
        "until": moment("Only grains from before this time."),
        "max_tokens": BUDGET,
    },
    gives=gives(
        ("grains", "count"),
        count=whole("Grains of this page, left out ones included."),
        omitted=whole("Grains left out to keep max_tokens."),
        grains=many({**RESULT, "properties": {**RESULT["properties"], **_LISTED}}),
        next_cursor=text("For the next page."),
    ),
    needs=("grains.read",),
    reads=True,
    repeats=True,
)
