"""OpenAPI hooks: one path per call (the bare aliases are the same views) and the answers all calls share."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from fluxcore.errors import table


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "memory.api.authentication.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An agent's token: `flux_...`."}


def only_versioned_paths(endpoints: list[Any], **kwargs: Any) -> list[Any]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/v1/")]


def add_common_answers(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Every call may be refused; the document says how, from the one error table."""
    result["components"].setdefault("schemas", {})["Error"] = {
        "type": "object",
        "required": ["code", "message", "details", "request_id"],
        "properties": {
            "code": {"type": "string", "enum": [row.code for row in table()]},
            "message": {"type": "string"},
            "details": {"type": "object", "additionalProperties": True},
            "request_id": {"type": "string"},
        },
    }
    refusal = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    for path in result["paths"].values():
        for operation in path.values():
            answers = operation["responses"]
            for row in table():
                if 400 <= row.status != 500 and str(row.status) not in answers:
                    answers[str(row.status)] = {"description": row.message, **refusal}
    return result
