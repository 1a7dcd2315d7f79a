"""OpenAPI of declared calls: extensions of drf-spectacular that read the declarations."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.calls import checked
from flux.calls import schema
from flux.calls.base import Call, answer_of
from flux.calls.types import NAME
from memory.api import common_serializers

if TYPE_CHECKING:
    from memory.api.calls import Endpoint

LARGEST_IN_QUERY = 999_999_999  # a number in a query string has at most nine digits
_IF_MATCH = [
    OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description='"v3", or the SHA-256 of the value.'),
    OpenApiParameter(
        "If-None-Match",
        {"type": "string", "enum": ["*"]},
        OpenApiParameter.HEADER,
        description="*: only if the key does not exist.",
    ),
]


class CallSerializer(serializers.BaseSerializer[Any]):
    """DRF serializer of a declared call: `is_valid` checks by the declaration, `validated_data` is the typed call."""

    call: type[Call]
    fields_in_body: tuple[str, ...] = ()

    def to_internal_value(self, data: Any) -> Any:
        return checked(self.call, data)

    def to_representation(self, instance: Call) -> dict[str, Any]:
        return instance.model_dump(exclude_unset=True)


class AnswerSerializer(serializers.BaseSerializer[Any]):
    """DRF serializer of a declared call's answer, a TypedDict that is sent unchanged."""

    answer: Any

    def to_representation(self, instance: Any) -> Any:
        return instance


# A class for each call and each answer: drf-spectacular tells components apart by their classes.
@cache
def call_serializer(call: type[Call], fields: tuple[str, ...]) -> type[CallSerializer]:
    return type(call.__name__, (CallSerializer,), {"call": call, "fields_in_body": fields})


@cache
def answer_serializer(answer: Any) -> type[AnswerSerializer]:
    return type(answer.__name__, (AnswerSerializer,), {"answer": answer})


class CallExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    target_class = CallSerializer
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return str(self.target.call.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        call, fields = self.target.call, self.target.fields_in_body
        labels = auto_schema._map_serializer(common_serializers.LabelledSerializer(), direction)["properties"]
        known = schema.properties(call)
        required = [name for name in fields if name in schema.required(call)]
        body = {"type": "object", "properties": {**{name: known[name] for name in fields}, **labels}}
        return {**body, "required": required} if required else body


class AnswerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    target_class = AnswerSerializer
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return str(self.target.answer.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return schema.answer_schema(self.target.answer)


class CallSchema(AutoSchema):
    """OpenAPI operations of the views that `memory/api/calls.py` makes."""

    @property
    def endpoint(self) -> Endpoint:
        endpoint: Endpoint = self.view.endpoints[self.method.lower()]  # type: ignore[attr-defined]  # set by calls._view
        return endpoint

    def get_operation_id(self) -> str:
        return self.endpoint.offer.sdk

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular asks without arguments
        return self.endpoint.offer.says

    def get_request_serializer(self) -> Any:
        return call_serializer(self.endpoint.call, self.endpoint.fields) if self.endpoint.has_body else None

    def get_response_serializers(self) -> Any:
        return {200: answer_serializer(answer_of(self.endpoint.call))}

    def get_override_parameters(self) -> list[Any]:
        endpoint = self.endpoint
        parameters = [self._in_path(name) for name in endpoint.offer.in_path]
        if not endpoint.has_body:
            parameters += [self._in_query(name) for name in endpoint.fields]
        headers = [
            *(_IF_MATCH if endpoint.expects else ()),
            *(common_serializers.WRITE_HEADERS if endpoint.writes else ()),
        ]
        return [*parameters, *headers]

    def _in_path(self, name: str) -> OpenApiParameter:
        at = self.endpoint.offer.place
        if at is not None and name == at.field:
            shape = {"type": "string", "pattern": NAME}
            return OpenApiParameter(name, shape, OpenApiParameter.PATH, description=f"Name of the {name}.")
        shape = dict(schema.properties(self.endpoint.call)[name])
        return OpenApiParameter(name, shape, OpenApiParameter.PATH, description=shape.pop("description", ""))

    def _in_query(self, name: str) -> OpenApiParameter:
        shape = schema.without_null(schema.properties(self.endpoint.call)[name])
        shape = {key: value for key, value in shape.items() if key != "description"}
        if "enum" in shape:
            shape["enum"] = [value for value in shape["enum"] if value is not None]
        if shape["type"] == "boolean":
            shape = {"type": "string", "enum": ["true", "false"]}
        if "maximum" in shape:
            shape["maximum"] = min(shape["maximum"], LARGEST_IN_QUERY)
        says = schema.properties(self.endpoint.call)[name].get("description", "")
        needed = name in schema.required(self.endpoint.call)
        return OpenApiParameter(name, shape, OpenApiParameter.QUERY, required=needed, description=says)
