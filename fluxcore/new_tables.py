"""A migration operation that makes all tables of an app at once."""

from __future__ import annotations

from typing import Any

from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateTables(Operation):
    """Does operations that make models, and add indexes and constraints to these, in one step.

    Between two steps Django renders every related model again, which takes most of the time until an empty database has
    its tables.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        vars(state).pop("apps", None)  # rendered once more when somebody asks
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in self._models():  # each has its indexes and constraints in `to_state`
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in reversed(self._models()):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def _models(self) -> list[CreateModel]:
        return [operation for operation in self.operations if isinstance(operation, CreateModel)]

    def describe(self) -> str:
        return "Make all tables"
