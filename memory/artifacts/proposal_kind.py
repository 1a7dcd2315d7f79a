"""Proposed changes of files in the review queue: how they are shown, and what accepting and denying them does."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import RunningCall
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, FluxError, NotFound
from memory.artifacts import comparing, content_types, contents, file_rows, quotas
from memory.artifacts.change_log import Writer
from memory.artifacts.contents import NewContent
from memory.artifacts.file_rows import NewVersion
from memory.artifacts.files import of_text, origin_of
from memory.artifacts.models import File, FileChange, Store
from memory.artifacts.proposals import REVIEW
from memory.artifacts.states import FileState, StoreState, read_file, read_state
from memory.review.kinds import Effect, ReviewKind
from memory.review.models import ReviewItem

PROMOTE, DENY = "promote", "deny"


class Side(NamedTuple):
    """One side of a difference: a content, or nothing."""

    content: int | None = None
    sha: str = ""
    size: int = 0
    content_type: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        return {"sha": self.sha, "bytes": self.size, "content_type": self.content_type}


class ProposalKind(ReviewKind):
    """Changes of files that were written under the staging prefix of a store."""

    label, reads, decides = "Change of a file", "artifacts.read", REVIEW
    outdated = "The file has changed since this was proposed. The difference is from the file as it is now."

    def sees(self, principal: Principal, item: ReviewItem) -> bool:
        """To decide it, or to read the file and what was written for it: the difference shows both."""
        if may(principal, self.decides, item.target):
            return True
        where = item.target.removesuffix(item.details["path"])
        return all(may(principal, self.reads, where + item.details[name]) for name in ("path", "staged"))

    @contents.read_again
    def describe(self, item: ReviewItem) -> dict[str, Any]:
        store, shown = Store.objects.filter(pk=int(item.container)).first(), dict[str, Any]()
        if store is None:
            return {}  # deleted for good
        if item.state == "open":
            old, new = _current(item, "path"), _current(item, "staged")
            shown["seen"] = seen_state(item, old, new)
        else:
            old, new = _version(item, "path", "old_version"), _decided(item)
        base = item.details.get("base_sha", "")
        change: dict[str, Any] = {
            "store": item.details["store"],
            "store_key": store.key,
            "path": item.details["path"],
            "staged": item.details["staged"],
            "old": old.facts,
            "new": new.facts,
            "base_sha": base,
            "changed_since": base != old.sha,
        }
        return {**shown, "change": change | _difference(item, old, new)}

    def facts(self, state: str, change: dict[str, Any]) -> list[tuple[str, str]]:
        is_open = state == "open"
        missing = "does not exist" if is_open else "did not exist"
        return [
            ("Store", change["store_key"]),
            ("File now" if is_open else "File before", _size(change["old"]) or missing),
            ("Accepted" if state == "accepted" else "Proposed", _size(change["new"]) or "nothing"),
        ]

    def watched(self, change: dict[str, Any]) -> dict[str, str]:
        return {"kind": "file.", "store": change["store"], "path": change["path"]}

    def begins(self) -> str:
        return format_html(
            "A file that an agent writes under the staging prefix of a store is a proposal to change the file of that "
            "path. On the command line, <code>{}</code> makes a store that takes proposals.",
            typed_command("flux_files create KEY --staging-prefix proposals"),
        )

    def accept(self, call: RunningCall, item: ReviewItem, *, seen: str, text: str | None) -> Effect:
        edited = of_text(text) if text is not None else None
        if edited is not None:
            edited.check_size()
            edited.keep()
        ticket = quotas.share(call)

        def promote(row: ReviewItem) -> dict[str, Any]:
            ticket.take()
            place, staged, target = _states(call.principal, row)
            if seen != seen_state(row, _side(target), _side(staged)):
                raise Conflict(
                    "What is proposed, or the file that it changes, is not as you have seen it. Look at it again.",
                    item=str(row.uuid),
                    state="open",
                )
            new = _promoted(call, place, row.details["path"], staged, edited)
            writer = file_rows.writer_of(call, _author(row))
            _remove(call, place, row, staged, PROMOTE, writer)
            path = row.details["path"]
            if target is not None and (target.sha, target.content_type) == (new.sha, new.content_type):
                contents.release([new.content] if new.content is not None else [])
                answer = file_rows.unchanged(call, writer, place, path, target, PROMOTE)
            else:
                answer = file_rows.write(call, writer, place, path, target, new)
            old_version = target.version if target is not None and target.sha else 0
            return {"old_version": old_version, "new_version": answer["version"], "edited": edited is not None}

        return promote

    def deny(self, call: RunningCall, item: ReviewItem) -> Effect:
        ticket = quotas.share(call)

        def remove(row: ReviewItem) -> dict[str, Any]:
            ticket.take()
            place, staged, target = _states(call.principal, row)
            _remove(call, place, row, staged, DENY, file_rows.writer_of(call, ""))
            return {"old_version": target.version if target is not None and target.sha else 0}

        return remove


def seen_state(item: ReviewItem, old: Side, new: Side) -> str:
    """A name of what a reviewer sees: both contents, and how far the proposed one may be believed."""
    shown = (old.sha, new.sha, new.content_type, item.origin)
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()[:32]


def _states(principal: Principal, row: ReviewItem) -> tuple[StoreState, FileState, FileState | None]:
    """Store, staged file and target of an open item, inside the write that decides it."""
    place, staged = read_state(principal, row.details["store"], row.details["staged"])
    if staged is None or not staged.sha:
        raise NotFound(f"There is no file {row.details['staged']!r} any more.", path=row.details["staged"])
    return place, staged, read_file(place, row.details["path"])


def _promoted(
    call: RunningCall, place: StoreState, path: str, staged: FileState, edited: NewContent | None
) -> NewVersion:
    """What the target is to have. Its provenance is never above the proposal's, whoever accepts or edits it."""
    origin = origin_of(call.principal, None, content=staged.origin)
    if edited is not None:
        kind = content_types.kept_or_guessed(staged.content_type, path, edited.beginning)
        return file_rows.hold(place, PROMOTE, edited, kind, origin)
    if staged.content is None:
        raise NotFound(f"There is no content of {path!r} any more.", path=path)
    contents.use(staged.content)  # before the staged file gives it up
    return NewVersion(PROMOTE, staged.content, staged.sha, staged.size, staged.content_type, origin)


def _size(side: dict[str, Any]) -> str:
    return f"{filesizeformat(side['bytes'])}, {side['content_type']}" if side["sha"] else ""


def _author(row: ReviewItem) -> str:
    """The newest author, with the label it gave itself: nobody is named by a label alone."""
    return (f"{row.updated_by} as {row.label}" if row.label else row.updated_by)[:128]


def _remove(call: RunningCall, place: StoreState, row: ReviewItem, staged: FileState, op: str, writer: Writer) -> None:
    """Remove the staged file of a decided item. Its versions stay as long as the policy keeps them."""
    file_rows.write(call, writer, place, row.details["staged"], staged, NewVersion(op))


def _side(file: FileState | None) -> Side:
    return Side() if file is None else Side(file.content, file.sha, file.size, file.content_type if file.sha else "")


def _current(item: ReviewItem, name: str) -> Side:
    """A file as it is now."""
    file = File.objects.filter(store=int(item.container), path=item.details[name]).first()
    return _side(FileState.of(file) if file is not None else None)


def _version(item: ReviewItem, name: str, number: str) -> Side:
    """A file as it was in the version of that name; nothing if it did not exist."""
    version = item.details.get(number, 0)
    rows = FileChange.objects.filter(
        store=int(item.container), file__path=item.details[name], version=version, version__gt=0
    )
    row = rows.first()
    return Side() if row is None else Side(row.content_id, row.new_sha, row.size, row.content_type)


def _decided(item: ReviewItem) -> Side:
    """What was accepted, denied or withdrawn."""
    if item.state == "accepted":
        return _version(item, "path", "new_version")
    return _version(item, "staged", "version")


def _difference(item: ReviewItem, old: Side, new: Side) -> dict[str, Any]:
    """The difference of two sides, or why there is none."""
    if item.state == "withdrawn":
        return {"no_diff": "It was withdrawn before it was decided."}
    if any(side.sha and side.content is None for side in (old, new)):
        return {"no_diff": "The bytes of that version are no longer kept."}
    path = item.details["path"]
    try:
        before, after = comparing.text_of(old.content, path), comparing.text_of(new.content, path)
        difference = {"diff": comparing.unified_diff(path, before, after, "current", "proposed")}
    except contents.ReplacedContent:
        raise  # it is read again
    except FluxError as refusal:
        return {"no_diff": refusal.message}
    changes = comparing.json_changes(before, after)
    shown = {"text": after} if item.state == "open" else {}
    return {**difference, **shown, **({} if changes is None else {"changes": changes})}
