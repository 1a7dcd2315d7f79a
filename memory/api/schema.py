"""Hooks for the OpenAPI document: only versioned paths, and the responses that all calls share."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from fluxcore import config
from fluxcore.errors import table


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "memory.api.authentication.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An agent's token: `flux_...`."}


def only_versioned_paths(endpoints: list[Any], **kwargs: Any) -> list[Any]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/v1/")]


# Statuses that only calls with a body return.
_OF_WRITES = {409, 411, 413, 415, 507}


def add_common_answers(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add what all calls share: the error responses of the error table, and that unknown fields are refused."""
    components = result["components"]
    schemas = components.setdefault("schemas", {})
    schemas["Error"] = {
        "type": "object",
        "required": ["code", "message", "details", "request_id"],
        "properties": {
            "code": {"type": "string", "enum": sorted(row.code for row in table())},
            "message": {"type": "string"},
            "details": {"type": "object", "additionalProperties": True},
            "request_id": {"type": "string"},
        },
    }
    refusals = _refusals()
    components["responses"] = {str(status): answer for status, answer in refusals.items()}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation and method != "delete" and not _may_be_empty(path):
                operation["requestBody"]["required"] = True
            for status in refusals:
                if _meets(status, path=path, method=method, operation=operation):
                    operation["responses"].setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    for name, schema in schemas.items():
        if name.endswith("Request"):
            schema["additionalProperties"] = False
            for field in schema["properties"].values():
                if "pattern" in field:
                    field.pop(
                        "minLength", None
                    )  # guessed by the framework; the pattern decides whether empty is allowed
    if "StoreBatchRequest" in schemas:  # `check` also builds the schema in processes that serve no REST
        items = schemas["StoreBatchRequest"]["properties"]["items"]
        items["maxItems"] = config.current().MAX_GRAINS_PER_CALL
        items["description"] = "Each is stored or refused on its own; a refused item does not affect the others."
    return result


def _refusals() -> dict[int, dict[str, Any]]:
    """One response per status, described by the most general row of the error table."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    rows = sorted((row for row in table() if row.status != 500), key=lambda row: (row.status, len(row.__mro__)))
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(row.status, {"description": row.message, "content": content})
    return found


# Calls that name a grain or trace in the body or query: feedback, and a graph around a grain.
_NAMES_SOMETHING = ("/api/v1/feedback", "/api/v1/graph/export")


def _may_be_empty(path: str) -> bool:
    """Whether a call has no required field in its body."""
    return path.endswith(("/pin", "/unpin", "/close"))


def _meets(status: int, *, path: str, method: str, operation: dict[str, Any]) -> bool:
    if status in _OF_WRITES:
        return method != "get"
    if status == 410:
        return path.endswith("/watch")
    if status in (401, 429):  # refused requests are limited too, so a read can exceed a limit
        return bool(operation.get("security"))
    # A body or a parameter may name a board that does not exist.
    named = path in _NAMES_SOMETHING or path.startswith(("/api/v1/locks", "/api/v1/queues", "/api/v1/watch"))
    return status != 404 or named or "{" in path
