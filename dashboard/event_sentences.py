"""Events in the words of a page: one table of sentences, read here and by `live.js` for what arrives later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from fluxcore.events import Position
from memory.recall.traces import RECALLED

# Filters of the page, in its order. An event belongs to the first group that has its kind or its kind's first word.
GROUPS = {
    "recalls": "Recalls",
    "stores": "Stores",
    "votes": "Votes",
    "lifecycle": "Lifecycle",
    "clusters": "Clusters",
    "jobs": "Jobs",
    "health": "Health",
    "exact": "Keys and locks",
    "people": "People and agents",
}
_GROUP_OF_KIND = {
    "grain.stored": "stores",
    "grain.corroborated": "stores",
    "grain.duplicate": "stores",
    "grain.blocked": "stores",
    "grain.extracted": "stores",
    "grains.recalled": "recalls",
    "grains.enriched": "stores",
    "grains.imported": "stores",
    "links.imported": "stores",
    "import.asked": "stores",
    "import.done": "stores",
    "questions.encoded": "votes",
    "weights.attuned": "votes",
}
_GROUP_OF_WORD = {
    "grain": "lifecycle",
    "grains": "lifecycle",
    "conduits": "lifecycle",
    "vote": "votes",
    "votes": "votes",
    "cluster": "clusters",
    "clusters": "clusters",
    "context": "clusters",
    "job": "jobs",
    "warning": "health",
    "health": "health",
    "kv": "exact",
    "lock": "exact",
    "queue": "exact",
    "board": "exact",
}
_OTHERS = "people"
# What an event says after who did it. {name} is a value of its data and {name|word} so many words of it; a kind
# without a sentence says its own words.
SENTENCES = {
    "recall": "asked: {grains|grain}, {confidence}% sure, {hops|hop}",
    "grain.stored": "stored a grain, {origin}",
    "grain.corroborated": "said again what a grain says",
    "grain.blocked": "stored a text again that a person removed: it is {status}",
    "grain.extracted": "found {grains|statement} in a grain",
    "grain.pinned": "pinned a grain",
    "grain.unpinned": "unpinned a grain",
    "grain.closed": "said that a grain is true until {valid_to}",
    "grain.promoted": "promoted a grain to core: {why}",
    "grain.demoted": "took a grain back from core: {why}",
    "grain.dormant": "let a grain fall dormant: {why}",
    "grain.archived": "archived a grain: {why}",
    "grain.quarantined": "held a grain back: {why}",
    "grain.pending_deletion": "marked a grain for deletion: {why}",
    "grain.revived": "brought a grain back: {why}",
    "grain.purged": "purged a grain",
    "grains.purged": "purged {grains|grain} with all that was learned from them",
    "grains.followed": "moved {grains|memory} with the same text too",
    "grains.imported": "imported {grains|grain} from {source}",
    "links.imported": "imported {links|link} from {source}",
    "import.asked": "asked to import {items|item} from {source}",
    "import.done": "has imported {source}: {grains|grain}, {refused} refused",
    "grains.rewired": "linked {grains|grain} anew",
    "conduits.cut": "cut {conduits|faded link}",
    "warning.raised": "raised a warning: {signal}, {severity}",
    "warning.raised_again": "raised a warning again: {signal}, {severity}",
    "warning.cleared": "cleared the warning about {signal}",
    "votes.implied": "took {votes|weak vote} from what askers did next",
    "vote.recorded": "judged a grain: {verdict}",
    "vote.withdrawn": "took a vote back",
    "votes.applied": "learned from {votes|vote}",
    "votes.undone": "undid {votes|vote}",
    "clusters.computed": "worked out what hangs together, run {run}",
    "context.shifted": "noticed that the subject has changed: {recalls|recall} look wider",
    "context.settled": "looks no wider than usual again",
    "kv.set": "wrote {key} in {in}, version {version}",
    "kv.deleted": "deleted {key} in {in}",
    "kv.forgotten": "purged {key} in {in} with {versions|version}",
    "kv.touched": "set how long {key} in {in} lasts",
    "kv.expired": "let {key} in {in} expire",
    "lock.acquired": "took the lock {key} on {in}, token {token}",
    "lock.renewed": "renewed the lock {key} on {in}",
    "lock.released": "let the lock {key} on {in} go",
    "lock.broken": "broke the lock {key} on {in}",
    "queue.added": "added a task to {key} on {in}",
    "queue.claimed": "claimed a task of {key} on {in}",
    "queue.renewed": "kept a task of {key} on {in}",
    "queue.released": "gave a task of {key} on {in} back",
    "queue.done": "finished a task of {key} on {in}",
    "board.made": "made {in}",
    "board.cleared": "emptied {in}",
    "board.deleted": "deleted {in}",
    "job.done": "finished {job} in {seconds} s",
    "job.failed": "failed at {job}, try {tries}; it is tried again",
    "job.parked": "gave up {job} after {tries|try}: it waits for somebody to look",
    "job.running": "still at {job} after {seconds} s",
}
# Where the subject of an event is shown: by the first word of its kind.
_PAGES = {"recall": "replay", "grain": "grain", "vote": "grain", "job": "job", "import": "import"}
_MANY = {"try": "tries", "memory": "memories"}
_PLAIN = {"origin", "why", "signal", "status"}  # names that are read without their underscores
_GONE = "grain.purged"  # leads nowhere
_NOBODY = "00000000-0000-0000-0000-000000000000"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


@dataclass(frozen=True)
class EventLine:
    """One thing that happened."""

    key: str = ""  # the event's position, and for a recall its trace: what tells a line from every other
    kind: str = ""
    group: str = ""
    at: datetime | None = None
    actor: str = ""
    says: str = ""
    address: str = ""
    leads: str = ""  # what the address shows
    touches: str = ""  # a grain


def event_group(kind: str) -> str:
    return _GROUP_OF_KIND.get(kind) or _GROUP_OF_WORD.get(kind.partition(".")[0], _OTHERS)


def event_lines(
    position: Position,
    kind: str,
    at: datetime,
    actor: str,
    subject: str,
    data: dict[str, Any],
    *,
    mine: str,
    all_traces: bool,
) -> Iterator[EventLine]:
    """An event as lines, newest first: one, or one for each recall of a flush."""
    if kind != RECALLED:
        yield _line(str(position), kind, at, actor, subject, data, linked=True)
        return
    for recall in reversed(data["recalls"]):
        linked = all_traces or recall["actor"] == mine
        yield _line(f"{position}/{recall['trace']}", kind, at, recall["actor"], recall["trace"], recall, linked=linked)


def _line(
    key: str, kind: str, at: datetime, actor: str, subject: str, data: dict[str, Any], *, linked: bool
) -> EventLine:
    word = "recall" if kind == RECALLED else kind.partition(".")[0]
    page = _PAGES.get(word, "") if linked and kind != _GONE and _UUID.fullmatch(subject) else ""
    return EventLine(
        key=key,
        kind=kind,
        group=event_group(kind),
        at=at,
        actor=actor or "somebody",
        says=event_sentence(kind, data),
        address=reverse(page, args=[subject]) if page else "",
        leads=page,
        touches=subject if page == "grain" else "",
    )


def event_sentence(kind: str, data: dict[str, Any]) -> str:
    known = SENTENCES.get("recall" if kind == RECALLED else kind)
    values = _values(data)
    if known is None or any(name not in values for name, _ in _PLACE.findall(known)):
        told = " · ".join(f"{name} {value}" for name, value in data.items() if isinstance(value, str | int | float))
        return f"{kind.replace('.', ' ').replace('_', ' ')}{f': {told}' if told else ''}"
    return _PLACE.sub(lambda match: _said(values[match.group(1)], match.group(2)), known)


def _said(value: Any, word: str | None) -> str:
    if word is None:
        return str(value)
    return f"{value} {word if value == 1 else _MANY.get(word, f'{word}s')}"


def _values(data: dict[str, Any]) -> dict[str, Any]:
    """Data as sentences take it: chances in percent, a vote in words."""
    values = {name: value for name, value in data.items() if isinstance(value, str | int | float)}
    if "confidence" in values:
        values["confidence"] = round(100 * float(values["confidence"]))
    if "useful" in values:
        values["verdict"] = "missed" if values.get("missed") else "useful" if values["useful"] else "not useful"
    for name in _PLAIN & set(values):
        values[name] = str(values[name]).replace("_", " ")
    return values


def sentence_table() -> dict[str, Any]:
    """The same for the browser."""
    return {
        "kinds": _GROUP_OF_KIND,
        "words": _GROUP_OF_WORD,
        "others": _OTHERS,
        "sentences": SENTENCES,
        "pages": {word: [page, reverse(page, args=[_NOBODY])] for word, page in _PAGES.items()},
        "many": _MANY,
        "plain": sorted(_PLAIN),
        "gone": _GONE,
        "recalled": RECALLED,
        "nobody": _NOBODY,
    }
