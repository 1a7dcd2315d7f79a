"""agentd's request envelopes over REST: `{"MemoryWriteCas": {…}}`, each answered by the verb it names.

agentd's programs keep their requests; HTTP replaces the frames of its socket, and the token says who calls. `agent_id`
is the name of an agent: of the one whose memory it is, or of the caller itself in the envelopes of the blackboard.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.principals import Principal
from fluxcore.errors import Invalid
from memory.api import common_serializers, parsers
from memory.api.views import RestView, json_answer, principal, write_options
from memory.keyvalue import listing, reads, verbs
from memory.keyvalue.namespaces import MAIN

# Envelope -> its fields. All are required but ttl_secs, pattern and the caller's own agent_id.
ENVELOPES: dict[str, tuple[str, ...]] = {
    "MemoryRead": ("agent_id", "key"),
    "MemoryWrite": ("agent_id", "key", "value", "ttl_secs"),
    "MemoryWriteCas": ("agent_id", "key", "expected_version", "value", "ttl_secs"),
    "MemoryDelete": ("agent_id", "key"),
    "MemoryList": ("agent_id", "pattern"),
    "BlackboardRead": ("agent_id", "key"),
    "BlackboardWrite": ("agent_id", "key", "value", "ttl_secs"),
    "BlackboardCas": ("agent_id", "key", "expected", "new_value", "ttl_secs"),
    "BlackboardDelete": ("agent_id", "key"),
    "BlackboardList": ("agent_id", "pattern"),
}
_OPTIONAL = ("ttl_secs", "pattern")


def _shaped(shape: dict[str, Any], says: str, **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    @extend_schema_field(shape)
    class ShapedField(serializers.JSONField):
        pass

    return ShapedField(help_text=says, **options)


class EnvelopesSerializer(common_serializers.LabelledSerializer):
    """Exactly one of these envelopes in each request."""

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, known in ENVELOPES.items():
            object_ = {"type": "object", "properties": {field: {} for field in known}, "additionalProperties": False}
            fields[name] = _shaped(object_, f"{', '.join(known)}.", required=False)
        return fields


class IpcView(RestView):
    @extend_schema(
        operation_id="ipc",
        request=EnvelopesSerializer,
        responses=_shaped({"type": "object"}, "The answer of the call that the envelope names."),
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Run one request of agentd's memory or blackboard, in its JSON envelope."""
        body = parsers.body(request, (*ENVELOPES, "reason", "idempotency_key"))
        name, given = _opened(body)
        caller = principal(request, body)
        return json_answer(_answer(caller, name, given, write_options(request, body)))


def _opened(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and fields of the request's envelope; unknown and missing fields are refused."""
    names = [name for name in body if name in ENVELOPES]
    if len(names) != 1:
        raise Invalid(f"Send one envelope: {', '.join(ENVELOPES)}.", field="body")
    name, given = names[0], body[names[0]]
    if not isinstance(given, dict):
        raise Invalid(f"{name} must be an object with {', '.join(ENVELOPES[name])}.", field=name)
    for field in given:
        if field not in ENVELOPES[name]:
            raise Invalid(f"{name} has no field {field[:64]!r}. It takes: {', '.join(ENVELOPES[name])}.", field=name)
    for field in ENVELOPES[name]:
        own = field == "agent_id" and name.startswith("Blackboard")
        missing = field not in given or (field == "expected_version" and given[field] is None)
        if missing and field not in _OPTIONAL and not own:
            raise Invalid(f"{name} needs the field {field!r}.", field=field)
    return name, given


def _answer(caller: Principal, name: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    where = _place(caller, name, given)
    if name.endswith("List"):
        return dict(listing.list_keys(caller, place=where, **_given(given, "pattern")))
    if name.endswith("Read"):
        return dict(reads.get_key(caller, place=where, key=given["key"]))
    if name.endswith("Delete"):
        deleted: dict[str, Any] = verbs.delete_key(caller, place=where, key=given["key"], **options)
        return deleted
    expected = {field: given[agentd_field] for field, agentd_field in _EXPECTED if agentd_field in given}
    written: dict[str, Any] = verbs.set_key(
        caller,
        place=where,
        key=given["key"],
        value=given.get("value", given.get("new_value")),
        **_given(given, "ttl_secs"),
        **expected,
        **options,
    )
    return written


_EXPECTED = (("expected_version", "expected_version"), ("expected_value", "expected"))


def _given(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: given[name]} if given.get(name) is not None else {}


def _place(caller: Principal, name: str, given: dict[str, Any]) -> str:
    agent = given.get("agent_id")
    if name.startswith("Memory"):
        return f"agents/{agent}" if isinstance(agent, str) else "agents/"
    if agent is not None and agent != caller.name:
        raise Invalid(f"agent_id must be {caller.name!r}, the caller itself, or be left out.", field="agent_id")
    return f"boards/{MAIN}"


CALLS = [("ipc", IpcView.as_view())]
