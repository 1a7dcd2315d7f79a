"""What people type on the pages of this door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import QueryDict

from accounts import people
from fluxcore.errors import Invalid


class EnrolmentForm(forms.Form):
    """The first administrator. The verb has the last word; the form says everything that is wrong at once."""

    username = forms.CharField(
        label="User name",
        help_text="Letters, digits and @ . + - _",
        widget=forms.TextInput({"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label="Password",
        help_text="At least 12 characters. Four unrelated words are easy to remember and hard to guess.",
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        label="The same password again",
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    code = forms.CharField(
        label="Code from the app",
        help_text="The six digits it shows now.",
        widget=forms.TextInput({"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")

    def clean_username(self) -> str:
        username = str(self.cleaned_data["username"])
        _told(people.check_username, username)
        return username

    def clean_code(self) -> str:
        """Apps show `123 456`, so spaces are welcome. A slip of the finger is no guess and is not counted."""
        code = "".join(str(self.cleaned_data["code"]).split())
        if not (code.isdecimal() and len(code) == 6):
            raise forms.ValidationError("The code has six digits.")
        return code

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        password, again = found.get("password"), found.get("password_again")
        if password and again and password != again:
            self.add_error("password_again", "The two passwords differ.")
        if password:
            try:
                _told(people.check_password, found.get("username", ""), password)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return found


def _told(check: Callable[..., None], *arguments: str) -> None:
    """A refusal from below, in the words of a form."""
    try:
        check(*arguments)
    except Invalid as refusal:
        raise forms.ValidationError(refusal.message) from None
