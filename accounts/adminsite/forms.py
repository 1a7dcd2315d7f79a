"""Forms of admin actions: the fields of the action, a reason for the audit log, a code where one is required."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.http import QueryDict

from accounts.verbs import MAX_REASON
from accounts.visitor import SignedIn
from fluxcore import clock


class ActionForm(forms.Form):
    """Base form of an admin action: a reason. Subclasses add fields and can use the person (`who`) and the row."""

    previews = False  # whether the page has a Preview button

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="Why you do this, in one line. It is recorded in the audit log.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, data: QueryDict | None, *, who: SignedIn, row: Any, needs: str, wants_code: bool) -> None:
        super().__init__(data, label_suffix="")
        self.who, self.row, self.needs = who, row, needs
        self.order_fields([*(name for name in self.fields if name != "reason"), "reason"])
        if wants_code:
            self.fields["code"] = forms.CharField(
                label="Code",
                max_length=64,
                help_text="The six digits your authenticator app shows now, or a backup code.",
                widget=CodeInput({"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "none"}),
            )
        self.prepare()

    def prepare(self) -> None:
        """Set choices that depend on the person, and initial values that depend on the row."""

    def preview(self) -> Any:
        """The effect the form would have, shown below it after Preview."""
        return None

    def take(self, data: QueryDict) -> None:
        """Keep what was typed, without validation: Preview does not submit the form."""
        self.initial = {name: data[name] for name in self.fields if name in data and name != "code"}

    def clean_reason(self) -> str:
        reason = str(self.cleaned_data["reason"]).strip()
        if not reason.isprintable():
            raise forms.ValidationError("The reason must be one line of printable text.")
        return reason

    def given(self) -> dict[str, Any]:
        """The cleaned fields as keyword arguments of the verb."""
        return {name: value for name, value in self.cleaned_data.items() if name != "code"}


class CodeInput(forms.PasswordInput):
    """Input of a code: readable while it is typed, but never shown again, because a refused code may still be valid."""

    input_type = "text"


class SpaceField(forms.ChoiceField):
    """Choice of a space in which the person may run the action; other spaces are not listed."""

    def offer(self, who: SignedIn, needs: str, *, none: str = "") -> None:
        allowed = set(who.spaces_where(needs))
        found = [(space.name, space.name) for space in who.spaces.values() if space.pk in allowed]
        self.choices = [("", none), *found] if none else found


class LinesField(forms.CharField):
    """A text area with one value per line."""

    widget = forms.Textarea({"rows": 8, "spellcheck": "false", "autocapitalize": "none"})

    def clean(self, value: Any) -> Any:
        return split_lines(str(super().clean(value)))


def split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


_CEILINGS = {
    "user_stated": "Yes: what a person tells it is stored as stated by that person",
    "ai_stated": "No: what it stores counts as stated by the program",
    "ai_inferred": "No: what it stores counts as inferred by the program",
    "external_source": "No: what it stores counts as text from an outside source",
}


class CeilingField(forms.ChoiceField):
    """Maximum provenance of a new token, asked in plain words."""

    widget = forms.RadioSelect

    def __init__(self) -> None:
        super().__init__(
            label="May this program pass on what a person said as that person's own words?",
            choices=[(name, f"{says} ({name})") for name, says in _CEILINGS.items()],
            help_text="The name in brackets is the maximum provenance of the token. A memory that claims a higher "
            "one is refused.",
        )


_LASTS = {
    "1h": ("in an hour", timedelta(hours=1)),
    "8h": ("in 8 hours", timedelta(hours=8)),
    "1d": ("in a day", timedelta(days=1)),
    "7d": ("in a week", timedelta(days=7)),
    "30d": ("in 30 days", timedelta(days=30)),
    "90d": ("in 90 days", timedelta(days=90)),
    "": ("never, until it is revoked", None),
}


class ExpiryField(forms.ChoiceField):
    """Choice of a lifetime; `clean` returns the time of expiry, or None for no expiry."""

    def __init__(self, *, initial: str = "7d") -> None:
        choices = [(value, label) for value, (label, _) in _LASTS.items()]
        super().__init__(label="Expires", choices=choices, initial=initial, required=False)

    def clean(self, value: Any) -> Any:
        length = _LASTS[super().clean(value)][1]
        return clock.rfc3339(clock.now() + length) if length is not None else None
