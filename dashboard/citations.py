"""Where results of recall that were made from files, messages and keys lead: to the lines, the message or the key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from accounts.principals import Principal
from accounts.verbs import selector
from dashboard.store_pages import address
from memory.engine.kinds import MADE_KINDS
from memory.grains import sources
from memory.grains.models import Grain


@dataclass(frozen=True)
class CitationLink:
    """The source of one result, as a link."""

    kind: str
    says: str
    address: str = ""


@selector("grains.citations", needs="grains.read")
def find_citations(principal: Principal, results: Iterable[dict[str, Any]]) -> dict[str, CitationLink]:
    """Citations of a trace's results by id of the grain; of those the caller may see. Memories have none."""
    outside = {one["grain_id"] for one in results}
    made = Grain.objects.filter(space=principal.space, uuid__in=outside, status__in=MADE_KINDS)
    rows = list(made.values_list("pk", "uuid", "status"))
    if not rows:
        return {}
    found = sources.citations(principal, principal.space or 0, [(number, kind) for number, _, kind in rows])
    return {str(name): cite(kind, found[number]) for number, name, kind in rows if number in found}


def cite(kind: str, found: dict[str, Any]) -> CitationLink:
    """A citation as answers of recall have it, as a link."""
    if "path" in found:
        first, last = found.get("first_line") or None, found.get("last_line") or None
        lines = "" if first is None else f", line {first}" if first == last else f", lines {first} to {last}"
        where = address(
            "file",
            found["store"],
            found["path"],
            fragment=f"L{first}" if first else "",
            version=found.get("version"),
            first=first,
            last=last,
        )
        return CitationLink(kind, f"{found['path']} in {found['key']}{lines}, version {found.get('version')}", where)
    if found.get("message") is not None:
        number = found["message"]
        where = address("transcript", found["store"], fragment=f"m{number}", at=number)
        return CitationLink(kind, f"message {number} of {found['key']}", where)
    where = f"{reverse('admin:keyvalue_item_changelist')}?{urlencode({'q': found['key']})}"
    return CitationLink(kind, f"{found['key']} of {found['place']}, version {found['version']}", where)
