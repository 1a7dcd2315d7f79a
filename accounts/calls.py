"""Handlers of declared calls (`flux/calls/`): verbs and selectors whose declaration checks their arguments.

    @handles(calls.SetKey, asks=writes)
    def set_key(call: RunningCall, request: calls.SetKey) -> Change: ...

The handler of a call that reads gets the principal instead of the running call and returns the answer. The order is
that of `accounts/verbs.py`: first the authorisation, then the check of the arguments, then the change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

from pydantic import ValidationError

from accounts.principals import Principal
from accounts.verbs import Asks, LargeAnswers, Refused, RunningCall, selector, verb
from flux.calls import schema
from flux.calls.base import PLACES, Call, CallAtPlace
from fluxcore.errors import Invalid

FOR_EVERY_AGENT = "self.read"
C = TypeVar("C", bound=Call)
Handler = Callable[..., Any]  # of a principal and the fields of the call by name
_handlers: dict[type[Call], Handler] = {}
_asks: dict[type[Call], Asks] = {}


def handles(
    call: type[Call], *, asks: Asks | None = None, large: LargeAnswers | None = None, refused: Refused | None = None
) -> Callable[[Callable[..., Any]], Handler]:
    """Make a function the handler of a declared call: its verb or selector."""

    def decorate(body: Callable[..., Any]) -> Handler:
        @wraps(body)
        def check_first(first: RunningCall | Principal, /, **given: Any) -> Any:
            return body(first, checked(call, given))

        if call.reads:
            wrapped: Handler = selector(call.verb, needs=needed(call), asks=asks)(check_first)
        else:
            wrapped = verb(call.verb, needs=needed(call), asks=asks, large=large, refused=refused)(check_first)
        return register(call, wrapped, asks=asks)

    return decorate


def register(call: type[Call], handler: Handler, *, asks: Asks | None = None) -> Handler:
    """Register the handler of a call directly, such as a function that chooses between several verbs."""
    _handlers[call] = handler
    _asks[call] = asks or (lambda principal, given: [(needed(call), None)])
    return handler


def handler(call: type[Call]) -> Handler:
    """The handler of a call, whose module is imported when it is first needed."""
    if call not in _handlers:
        import_module(sys.modules[call.__module__].HANDLERS)
    return _handlers[call]


def asked_by(call: type[Call]) -> Asks:
    """Function that returns the operations a call needs, of its principal and fields."""
    handler(call)
    return _asks[call]


def needed(call: type[Call]) -> str:
    """The capability a verb is registered with. A call that names none is for every agent."""
    needs = CallAtPlace(call, PLACES[0] if "place" in call.model_fields else None).needs
    return needs[-1] if needs else FOR_EVERY_AGENT


def checked(call: type[C], given: dict[str, Any]) -> C:
    """The typed call, or a refusal that names the field and what is allowed."""
    try:
        return call.model_validate(given)
    except ValidationError as error:
        raise _refusal(call, error) from None


def _refusal(call: type[Call], error: ValidationError) -> Invalid:
    first = error.errors(include_url=False, include_input=False)[0]
    kind, where, context = first["type"], first["loc"], first.get("ctx", {})
    shape: dict[str, Any] = {"properties": schema.properties(call)}
    name, details = "", dict[str, Any]()
    for step in where:
        if isinstance(step, int):  # the error is about this element of a list
            name, shape, details["index"] = "", shape["items"], step
        elif isinstance(shape.get("additionalProperties"), dict):
            name, shape = f"{name}.{str(step)[:64]}", shape["additionalProperties"]
        elif "properties" not in shape:
            break  # an alternative of a union; the field is known already
        elif step not in shape["properties"]:
            unknown = Invalid.unknown(step, shape["properties"])
            unknown.details |= details
            return unknown
        else:
            name, shape = f"{name}.{step}" if name else step, shape["properties"][step]
    field = str(name.partition(".")[0] or where[0])
    if kind == "missing":
        says = "is missing; null is a value." if schema.takes_any_json(shape) else "is missing."
        return Invalid(f"{name} {says}", field=field, **details)
    limit = next((context[bound] for bound in ("max_length", "le", "limit") if bound in context), None)
    if limit is not None:
        details["limit"] = limit
    words = context["error"] if kind == "value_error" else first["msg"] if kind in _OWN_WORDS else allowed(shape)
    element = f"{field}[{details['index']}]" if "index" in details else field
    return Invalid(f"{name or element} must be {words}.", field=field, **details)


_OWN_WORDS = ("seconds",)  # errors of `flux/calls/types.py` that have their own sentence
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def allowed(shape: dict[str, Any]) -> str:
    """What a schema allows, in words that complete "FIELD is ..."."""
    if "enum" in shape:
        return f"one of {', '.join(str(value) for value in shape['enum'] if value is not None)}"
    kind = schema.kind(shape)
    words = _WORDS.get(kind, "JSON")
    if kind == "object":
        fields = ", ".join(shape.get("properties", ()))
        return f"{words} with {fields}" if fields else words
    if kind in ("string", "array"):
        low, high = (shape.get(f"{bound}{'Length' if kind == 'string' else 'Items'}") for bound in ("min", "max"))
        unit = " characters" if kind == "string" else ""
        return f"{words} of {low} to {high}{unit}" if low else f"{words} of at most {high}{unit}" if high else words
    above, low, high = (shape.get(bound) for bound in ("exclusiveMinimum", "minimum", "maximum"))
    if above is not None:
        return f"{words} above {above}" + (f" and at most {high}" if high is not None else "")
    return f"{words} from {low} to {high}" if low is not None else words
