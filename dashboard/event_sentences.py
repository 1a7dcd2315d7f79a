"""Sentences for events, one table for the server and for `live.js`, which writes events that arrive later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from fluxcore.events import Position
from memory.grains.lifecycle.rules import reason_text, reason_texts
from memory.recall.traces import RECALLED

# Filters of the Live page, in their order. An event is in the group of its kind, or of the first word of its kind.
GROUPS = {
    "recalls": "Recalls",
    "stores": "New memories",
    "votes": "Feedback",
    "lifecycle": "Lifecycle",
    "clusters": "Clusters",
    "jobs": "Jobs",
    "health": "Health",
    "exact": "Keys and locks",
    "files": "Files and transcripts",
    "review": "Review",
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
    "store": "files",
    "file": "files",
    "messages": "files",
    "review": "review",
}
_OTHERS = "people"
# The sentence of each event kind, after the name of who did it. {name} is a value of its data, and {name|word} a number
# with that word in singular or plural; a kind without a sentence is shown by its own name.
SENTENCES = {
    "recall": "recalled {grains|memory}, confidence {confidence} %, {hops|hop}",
    "grain.stored": "stored a memory, provenance {origin}",
    "grain.corroborated": "stored a memory again that exists already",
    "grain.blocked": "stored a memory again that a person removed: it is {status}",
    "grain.extracted": "extracted {grains|memory} from a text",
    "grain.pinned": "pinned a memory",
    "grain.unpinned": "unpinned a memory",
    "grain.closed": "ended the validity of a memory at {valid_to}",
    "grain.promoted": "promoted a memory to core: {why}",
    "grain.demoted": "removed a memory from core: {why}",
    "grain.dormant": "made a memory dormant: {why}",
    "grain.archived": "archived a memory: {why}",
    "grain.quarantined": "quarantined a memory: {why}",
    "grain.pending_deletion": "marked a memory for deletion: {why}",
    "grain.revived": "restored a memory: {why}",
    "grain.purged": "purged a memory",
    "grains.purged": "purged {grains|memory} and everything learned from them",
    "grains.followed": "changed {grains|memory} with the same text too",
    "grains.imported": "imported {grains|memory} from {source}",
    "links.imported": "imported {links|link} from {source}",
    "import.asked": "started an import of {items|record} from {source}",
    "import.done": "finished the import of {source}: {grains|memory} stored, {refused|record} refused",
    "grains.rewired": "linked {grains|memory} again",
    "conduits.cut": "removed {conduits|link} that had faded",
    "warning.raised": "raised a warning: {signal}, {severity}",
    "warning.raised_again": "raised a warning again: {signal}, {severity}",
    "warning.cleared": "cleared the warning about {signal}",
    "votes.implied": "inferred weak feedback on {votes|result} from later queries",
    "vote.recorded": "gave feedback on a memory: {verdict}",
    "vote.withdrawn": "withdrew feedback",
    "votes.applied": "learned from feedback on {votes|result}",
    "votes.undone": "undid feedback on {votes|result}",
    "clusters.computed": "computed the clusters, run {run}",
    "context.shifted": "detected a change of subject: the next {recalls|recall} search wider",
    "context.settled": "ended the wider search after a change of subject",
    "kv.set": "wrote {key} in {in}, version {version}",
    "kv.deleted": "deleted {key} in {in}",
    "kv.forgotten": "purged {key} in {in} with {versions|version}",
    "kv.touched": "changed the expiry of {key} in {in}",
    "kv.expired": "removed {key} in {in}: it expired",
    "lock.acquired": "took the lock {key} on {in}, token {token}",
    "lock.renewed": "renewed the lock {key} on {in}",
    "lock.released": "released the lock {key} on {in}",
    "lock.broken": "broke the lock {key} on {in}",
    "queue.added": "added a task to {key} on {in}",
    "queue.claimed": "claimed a task of {key} on {in}",
    "queue.renewed": "renewed the claim on a task of {key} on {in}",
    "queue.released": "returned a task to {key} on {in}",
    "queue.done": "finished a task of {key} on {in}",
    "board.made": "created {in}",
    "board.cleared": "emptied {in}",
    "board.deleted": "deleted {in}",
    "store.created": "created the store {key}",
    "store.deleted": "deleted the store {key}",
    "store.restored": "restored the store {key}",
    "store.policy": "changed the policy of the store {key}",
    "file.written": "wrote {path}, version {version}",
    "file.deleted": "deleted {path}, version {version}",
    "messages.appended": "added messages {first} to {last} to a transcript",
    "messages.removed": "removed {count|message} from a transcript",
    "messages.restored": "restored {count|message} of a transcript",
    "review.opened": "proposed a change: {title}",
    "review.updated": "changed a proposal: {title}",
    "review.decided": "{decision} a proposal: {title}",
    "review.withdrawn": "withdrew a proposal: {title}",
    "job.done": "finished {job} in {seconds} s",
    "job.failed": "failed at {job}, try {tries}; it will be tried again",
    "job.parked": "parked {job} after {tries|try}: somebody has to look at it",
    "job.running": "still running {job} after {seconds} s",
}
# Words on pages for names of events and of their data.
WORDS = {
    "grain": "memory",
    "grains": "memories",
    "conduits": "links",
    "vote": "feedback",
    "votes": "feedback",
    "origin": "provenance",
    "kv": "key",
}
# URL name of the page that shows the subject of an event, by the first word of its kind.
_PAGES = {
    "recall": "replay",
    "grain": "grain",
    "vote": "grain",
    "job": "job",
    "import": "import",
    "review": "review-item",
}
_LABELS = {
    "replay": "trace",
    "grain": "memory",
    "review-item": "proposal",
}  # labels of links to those pages; other links have the page's name
_MANY = {"try": "tries", "memory": "memories"}
_PLAIN = {"origin", "why", "signal", "status"}  # names that are read without their underscores
_GONE = "grain.purged"  # has no link: the grain has no page any more
_NOBODY = "00000000-0000-0000-0000-000000000000"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


@dataclass(frozen=True)
class EventLine:
    """One event, or one recall of an event, as a line of the page."""

    key: str = ""  # unique: the position of the event, and for a recall its trace too
    kind: str = ""
    group: str = ""
    at: datetime | None = None
    actor: str = ""
    says: str = ""
    address: str = ""
    leads: str = ""  # label of the link
    touches: str = ""  # id of the grain that the event is about


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
        actor=actor or "unknown",
        says=event_sentence(kind, data),
        address=reverse(page, args=[subject]) if page else "",
        leads=_LABELS.get(page, page),
        touches=subject if page == "grain" else "",
    )


def event_sentence(kind: str, data: dict[str, Any]) -> str:
    known = SENTENCES.get("recall" if kind == RECALLED else kind)
    values = _values(data)
    if known is None or any(name not in values for name, _ in _PLACE.findall(known)):
        details = " · ".join(
            f"{plain(name)} {value}" for name, value in data.items() if isinstance(value, str | int | float)
        )
        return f"{plain(kind)}{f': {details}' if details else ''}"
    return _PLACE.sub(lambda match: _counted(values[match.group(1)], match.group(2)), known)


def plain(name: str) -> str:
    """The name of an event kind or of a field of its data, as words of a page."""
    return " ".join(WORDS.get(word, word) for word in re.split(r"[._]", name))


def _counted(value: Any, word: str | None) -> str:
    if word is None:
        return str(value)
    return f"{value} {word if value == 1 else _MANY.get(word, f'{word}s')}"


def _values(data: dict[str, Any]) -> dict[str, Any]:
    """Data of an event for its sentence: confidence in percent, feedback in words."""
    values = {name: value for name, value in data.items() if isinstance(value, str | int | float)}
    if "confidence" in values:
        values["confidence"] = round(100 * float(values["confidence"]))
    if "useful" in values:
        values["verdict"] = "missed" if values.get("missed") else "useful" if values["useful"] else "not useful"
    if "why" in values:
        values["why"] = reason_text(str(values["why"]))
    for name in _PLAIN & set(values):
        values[name] = str(values[name]).replace("_", " ")
    return values


def sentence_table() -> dict[str, Any]:
    """All tables, for live.js."""
    return {
        "kinds": _GROUP_OF_KIND,
        "words": _GROUP_OF_WORD,
        "others": _OTHERS,
        "sentences": SENTENCES,
        "pages": {word: [_LABELS.get(page, page), reverse(page, args=[_NOBODY])] for word, page in _PAGES.items()},
        "names": WORDS,
        "many": _MANY,
        "reasons": reason_texts(),
        "plain": sorted(_PLAIN),
        "gone": _GONE,
        "recalled": RECALLED,
        "nobody": _NOBODY,
    }
