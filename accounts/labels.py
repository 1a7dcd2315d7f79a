"""Labels of callers within an agent (`caller_id`, `client`, `role`), which are not authenticated."""

from __future__ import annotations

import re

from fluxcore.canonical_json import refuse_surrogates
from fluxcore.errors import Invalid

# Names of the labels, as in flux-memory, with their maximum length.
LABELS = {"caller_id": 128, "client": 60, "role": 60}
# Pattern of a label: no control characters and none that reorder or hide text.
LABEL = r"^[^\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$"
_LABEL = re.compile(LABEL)


def check_label(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > LABELS[name] or not _LABEL.fullmatch(value):
        raise Invalid(f"{name} must have at most {LABELS[name]} characters, all of them visible.", field=name)
    refuse_surrogates(value, name=name)
    return value
