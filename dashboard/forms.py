"""Forms of sign-in, codes, passwords and enrolment. Secrets are never put back into a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import QueryDict

from accounts import people
from accounts.adminsite.forms import CodeInput
from accounts.models import Enrolment
from accounts.signin import second_factors
from accounts.signin.passwords import MAX_PASSWORD
from fluxcore.errors import Invalid

_NAME = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
_CODE = {"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "none"}


class PasswordForm(forms.Form):
    """Form of user name and password, the first step of sign-in."""

    username = forms.CharField(
        label="User name", max_length=people.MAX_USERNAME, widget=forms.TextInput({**_NAME, "autofocus": True})
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=MAX_PASSWORD,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")


class CodeForm(forms.Form):
    """Form of a code: the second step of sign-in, and the fresh code before a dangerous step."""

    code = forms.CharField(
        label="Code",
        help_text="The six digits your authenticator app shows now, or one of your backup codes.",
        max_length=64,
        widget=CodeInput({**_CODE, "autofocus": True}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")

    def clean_code(self) -> str:
        return _code(self.cleaned_data["code"])


def _code(text: str) -> str:
    """Check the shape of a code. A mistyped shape is no guess and is not counted."""
    code = second_factors.normalise_code(str(text))
    if not second_factors.looks_like_a_code(code):
        raise forms.ValidationError("A code has six digits, a backup code 16 letters and digits.")
    return code


class NewPasswordForm(forms.Form):
    """Form of a new password of the signed-in person, after a fresh code."""

    password = forms.CharField(
        label="New password",
        help_text="At least 12 characters. Four unrelated words are easy to remember and hard to guess.",
        strip=False,
        max_length=MAX_PASSWORD,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        label="The same password again", strip=False, widget=forms.PasswordInput({"autocomplete": "new-password"})
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        if found.get("password") and found.get("password") != found.get("password_again"):
            self.add_error("password_again", "The two passwords differ.")
        return found


class EnrolmentForm(forms.Form):
    """Enrolment through a one-time link. Shows all errors at once; the call below checks everything again."""

    username = forms.CharField(
        label="User name", help_text="Letters, digits and @ . + - _", widget=forms.TextInput({**_NAME})
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
        widget=CodeInput({**_CODE, "inputmode": "numeric"}),
    )

    def __init__(self, data: QueryDict | None = None, *, link: Enrolment) -> None:
        super().__init__(data, label_suffix="")
        self.link = link
        if link.user is not None:
            del self.fields["username"]
        if link.purpose == Enrolment.Purpose.FACTOR:
            del self.fields["password_again"]
            self.fields["password"].help_text = "Your current password. It does not change."
            self.fields["password"].widget.attrs["autocomplete"] = "current-password"

    def clean_username(self) -> str:
        username = str(self.cleaned_data["username"])
        _told(people.check_username, username)
        return username

    def clean_code(self) -> str:
        """Spaces are accepted, because apps show `123 456`. A mistyped shape is no guess and is not counted."""
        code = second_factors.normalise_code(str(self.cleaned_data["code"]))
        if not (code.isascii() and code.isdecimal() and len(code) == 6):
            raise forms.ValidationError("The code has six digits.")
        return code

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        if self.link.user is not None:
            found["username"] = self.link.user.username
        if self.link.purpose == Enrolment.Purpose.FACTOR:
            return found
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
    """Run a check and turn its refusal into a form error."""
    try:
        check(*arguments)
    except Invalid as refusal:
        raise forms.ValidationError(refusal.message) from None
