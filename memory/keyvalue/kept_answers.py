"""Large answers as they are kept for a retry: without their values, which are read again where they are stored.

A kept answer counts in no quota. Versions and tasks do, so a value stays there and nowhere else; once it is gone, a
retry is answered with `value_omitted` in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.principals import Principal
from accounts.verbs import LargeAnswers
from fluxcore.errors import NotFound
from memory.keyvalue import history, namespaces, statements
from memory.keyvalue.models import Task
from memory.keyvalue.namespaces import OpenNamespace
from memory.keyvalue.validation import value_of

_VALUE, _OMITTED = "value", "value_omitted"


def _without_values(answer: Any) -> Any:
    """An answer of a write, or of a batch of them."""
    if isinstance(answer.get("results"), list):
        return {**answer, "results": [_without_values(one) for one in answer["results"]]}
    return _replaced(answer, _VALUE, _OMITTED, True)


def _with_values(answer: Any, value_in: Callable[[Any], str | None]) -> Any:
    """The answer as it was first given, as far as its values are still there: `value_in` has their texts."""
    if isinstance(answer.get("results"), list):
        return {**answer, "results": [_with_values(one, value_in) for one in answer["results"]]}
    text = value_in(answer) if _OMITTED in answer else None
    return answer if text is None else _replaced(answer, _OMITTED, _VALUE, value_of(text))


def _replaced(answer: dict[str, Any], name: str, by: str, held: Any) -> dict[str, Any]:
    """Another member in the place of one, so that the order stays."""
    return dict((by, held) if one == name else (one, value) for one, value in answer.items())


def _read_versions(principal: Principal, arguments: dict[str, Any], answer: Any) -> Any:
    try:
        namespace = namespaces.find_namespace(principal, namespaces.place(arguments.get("place")))
    except NotFound:
        namespace = None
    return answer if namespace is None else _with_values(answer, lambda one: _version(namespace, one))


def _version(namespace: OpenNamespace, answer: Any) -> str | None:
    key, version = answer["key"], answer["version"]
    try:
        return history.read_version(namespace, key, version).text
    except NotFound:  # no history is kept: the key itself may still have that version
        held = statements.current(namespace.id, key, namespace.now)
        return held.text if held is not None and held.version == version else None


def _read_task(principal: Principal, arguments: dict[str, Any], answer: Any) -> Any:
    task = Task.objects.filter(uuid=answer["task"])
    return _with_values(answer, lambda one: task.values_list("value", flat=True).first())


OF_KEYS = LargeAnswers(_without_values, _read_versions)
OF_TASKS = LargeAnswers(_without_values, _read_task)
