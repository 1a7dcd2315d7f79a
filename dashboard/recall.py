"""The Recall page: recall as any agent of the space would, and see the results with their reasons.

A query is sent as a form and is never part of an address: it may be private, and addresses are saved in the browser's
history and in logs of proxies. Recent recalls are read from the person's own traces.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import answer_cards, citations, page_frame, voting
from dashboard.account import sign_in_required
from dashboard.highlighting import excerpt
from fluxcore import clock, config
from fluxcore.errors import FluxError, Invalid, NotFound
from memory.embedding import active_encoder
from memory.grains import graph_picture
from memory.grains.models import Grain, Trace
from memory.recall import explain, recall, recall_request, recent_queries

_TIME = {"type": "datetime-local", "step": 1}
# Labels of filters on the page of a trace.
_FILTERS = {
    "tags": "Tags",
    "sessions": "Sessions",
    "since": "Dated from",
    "until": "Dated before",
    "as_of": "Valid at",
    "origin_floor": "Minimum provenance",
    "statuses": "Status",
    "min_score": "Minimum score",
}


def _moment(label: str, help_text: str) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=f"{label} (UTC)", help_text=help_text, required=False, widget=forms.DateTimeInput(_TIME)
    )


class RecallForm(forms.Form):
    """A query and its filters. The recall itself checks every field again."""

    query = forms.CharField(
        label="Your question",
        error_messages={"required": "Enter a question."},
        widget=forms.Textarea({"rows": 2, "autofocus": True, "placeholder": "What do you want to know?"}),
    )
    k = forms.IntegerField(
        label="Number of results", required=False, widget=forms.NumberInput({"min": 1, "max": recall_request.MAX_K})
    )
    tags = forms.CharField(label="Tags", help_text="Comma-separated; results must have all.", required=False)
    sessions = forms.CharField(
        label="Sessions", help_text="Comma-separated; results must have one of them.", required=False
    )
    since = _moment("Dated from", "Memories from this time on.")
    until = _moment("Dated before", "Memories before this time.")
    as_of = _moment("Valid at", "Memories that were valid at this time.")
    origin_floor = forms.ChoiceField(
        label="Minimum provenance",
        required=False,
        choices=[("", "Any"), *((name, called.capitalize()) for name, called in answer_cards.ORIGINS.items())],
    )
    statuses = forms.MultipleChoiceField(
        label="Status",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[(status.value, status.label.capitalize()) for status in Grain.Status],
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")
        self.fields["k"].help_text = f"1 to {recall_request.MAX_K}; {config.current().TOP_K} if empty."

    def given(self) -> dict[str, Any]:
        """Arguments of the recall: only what was filled in."""
        found = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [])}
        for name in ("tags", "sessions"):
            if name in found:
                found[name] = [part.strip() for part in found[name].split(",") if part.strip()]
        for name in ("since", "until", "as_of"):
            if name in found:
                found[name] = clock.rfc3339(found[name])
        return found

    @property
    def bounded(self) -> bool:
        """Whether a filter was filled in or is wrong: the filters are then unfolded."""
        return self.is_bound and any(
            self.data.get(name) or name in self.errors for name in self.fields if name != "query"
        )


@sign_in_required
@sensitive_post_parameters("query")
@require_http_methods(["GET", "HEAD", "POST"])
def recall_page(request: HttpRequest) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")  # which shows whom to ask for a role, or how to create a space
    me = current_visitor(request).principal(space.pk)
    form = RecallForm(request.POST if request.method == "POST" else None)
    active_encoder.load_soon()  # while the query is typed, so that the encoder is ready for it
    found: dict[str, Any] = {"space": space, "form": form}
    status = 200
    if form.is_bound:
        try:
            found["answer"] = _answer(me, form) if form.is_valid() else None
            if found["answer"]:
                may = current_visitor(request).may("grains.feedback", space.pk)
                found["answer"]["cards"] = voting.with_votes(
                    found["answer"]["cards"], found["answer"]["trace"], may=may
                )
        except Invalid as refusal:
            name = refusal.details.get("field")
            form.add_error(name if name in form.fields else None, refusal.message)
        except FluxError as refusal:
            found["refusal"], status = refusal.message, refusal.status
        status = 422 if form.errors else status
    found["asked"] = recent_queries.list_recent_queries(me)
    found["empty"] = not (found.get("answer") or {}).get("cards") and not Grain.objects.filter(space=space).exists()
    return render(request, "dashboard/recall.html", found, status=status)


@sign_in_required
@require_safe
def show_trace(request: HttpRequest, trace: UUID) -> HttpResponse:
    """The page of one trace: the results as they were, with texts the person may read now, and feedback."""
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    who = current_visitor(request)
    me = who.principal(space.pk)
    try:
        kept = explain.explain_trace(me, trace)
    except NotFound:
        raise Http404 from None
    names = graph_picture.label_grains(me, answer_cards.named_grains(kept["grains"]))
    found = {
        "space": space,
        "kept": kept,
        "at": clock.parse(kept["at"]),
        "mine": kept["asked_by"] == me.actor,
        "confidence": answer_cards.AnswerConfidence.of(kept["confidence"]),
        "cards": voting.with_votes(
            answer_cards.build_cards(
                kept["grains"],
                names,
                kept["texts"],
                {},
                citations.find_citations(me, kept["grains"]),
            ),
            str(trace),
            votes=voting.own_votes(me, trace),
            may=kept["asked_by"] == me.actor and who.may("grains.feedback", space.pk),
        ),
        "rung": explain.search_mode(kept["rung"], kept) if kept["rung"] != "warm" else "",
        "admin_page": _admin_page(trace) if who.may("grains.manage", space.pk) else "",
        "bounds": [(_FILTERS.get(name, name), _said(value)) for name, value in kept["bounds"].items()],
    }
    return render(request, "dashboard/trace.html", found)


def _answer(me: Principal, form: RecallForm) -> dict[str, Any]:
    answer = recall.recall(me, **form.given(), explain=True)
    why = answer["explanation"]["grains"]
    near = answer["expansion_candidates"]
    names = graph_picture.label_grains(me, [*answer_cards.named_grains(why), *(one["id"] for one in near)])
    grains = {one["id"]: one for one in answer["grains"]}
    texts = {name: one["content"] for name, one in grains.items()}
    return {
        "trace": answer["trace_id"],
        "says": answer["explanation"]["says"],
        "confidence": answer_cards.AnswerConfidence.of(answer["confidence"]),
        "rung": explain.search_mode(answer["rung"], answer) if answer["rung"] != "warm" else "",
        "query_truncated": answer["query_truncated"],
        "rung_name": answer["rung"],
        "widened": answer["fallback_triggered"],
        "features": answer["features"],
        "cards": answer_cards.build_cards(
            why,
            names,
            texts,
            grains,
            {name: citations.cite(one["kind"], one["citation"]) for name, one in grains.items() if "citation" in one},
        ),
        "near": [
            {
                "text": excerpt([(one["content"], False)], 240)[0],
                "address": answer_cards.admin_address("grain", names[one["id"]].number) if one["id"] in names else "",
            }
            for one in near
        ],
    }


def _admin_page(trace: UUID) -> str:
    return answer_cards.admin_address("trace", Trace.objects.values_list("pk", flat=True).get(uuid=trace))


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
