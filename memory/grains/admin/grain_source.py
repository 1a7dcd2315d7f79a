"""Section of a memory's admin page with the file, message or key that a passage, message or value is from."""

from __future__ import annotations

from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode

from accounts.adminsite import formatting
from accounts.adminsite.modeladmin import Section

_PLACES = {
    "store": "store",
    "place": "agent or board",
    "path": "file",
    "message": "message",
    "key": "key",
    "version": "version",
}


def sections(particulars: dict[str, Any]) -> list[Section]:
    """The section, of what was made from something; none for a memory."""
    cited = particulars.get("citation")
    if cited is None:
        return []
    shown = {**cited, "store": cited["key"]} if "store" in cited else cited
    names = [name for name in _PLACES if name in shown and (name, "store" in cited) != ("key", True)]
    rows = [(_PLACES[name], shown[name]) for name in names]
    if cited.get("first_line"):
        rows.append(("lines", f"{cited['first_line']} to {cited['last_line']}"))
    page = _page(cited)
    return [
        Section("Source", ("what", "which"), [*rows, *([("page", formatting.link(page, "Open"))] if page else [])], "")
    ]


def _page(cited: dict[str, Any]) -> str:
    """Page of the source on the dashboard; empty on a server that has none."""
    try:
        if "place" in cited:
            return f"{reverse('admin:keyvalue_item_changelist')}?{urlencode({'q': cited['key']})}"
        if "path" in cited:
            query = urlencode({"version": cited["version"], "first": cited["first_line"], "last": cited["last_line"]})
            return f"{reverse('file', args=[cited['store'], cited['path']])}?{query}#L{cited['first_line']}"
        number = cited["message"]
        return f"{reverse('transcript', args=[cited['store']])}?{urlencode({'at': number})}#m{number}"
    except NoReverseMatch:
        return ""
