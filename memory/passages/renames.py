"""Which file a renamed file was before, so that its passages keep what was learned about them."""

from __future__ import annotations

from django.db.models import Max

from memory.artifacts.models import File, FileChange
from memory.passages.models import GrainSource

MAX_RENAMES = 16  # one after the other before a job looks at the file


def grains_to_take_over(file: File) -> list[int]:
    """Grains of the file that was renamed to this one, as it was indexed last; none once this one is indexed itself."""
    number, before = file.pk, file.version + 1
    for _ in range(MAX_RENAMES):
        came, given_up = _rename_to(number, before)
        if came is None or GrainSource.objects.filter(file=number, last__gte=came.version).exists():
            return []
        if given_up is None or given_up.file_id is None:
            return []
        number, before = given_up.file_id, given_up.version
        sources = GrainSource.objects.filter(file=number, last__lt=before)
        newest = sources.aggregate(version=Max("last"))["version"]
        if newest is not None:
            return list(sources.filter(last=newest).values_list("grain_id", flat=True))
    return []


def _rename_to(number: int, before: int) -> tuple[FileChange | None, FileChange | None]:
    """The last rename to a file before a version, and the change of the old path.

    Both are of one moment: the old path gives its content up, and the new one gets it.
    """
    changes = FileChange.objects.filter(op="rename", version__gt=0)
    came = changes.filter(file=number, version__lt=before).exclude(new_sha="").order_by("-version").first()
    if came is None:
        return None, None
    given_up = changes.filter(store=came.store_id, at=came.at, old_sha=came.new_sha, new_sha="").exclude(file=number)
    # Files of a folder with the same content keep their names.
    return came, max(given_up, key=lambda one: _shared_end(one.path, came.path), default=None)


def _shared_end(one: str, other: str) -> int:
    """How many names both paths have at their end."""
    shared = 0
    for left, right in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if left != right:
            break
        shared += 1
    return shared
