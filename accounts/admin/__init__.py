"""Admin pages of people, agents and what they did; importing registers them, in this order."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import admin as _of_django  # noqa: F401  importing registers what is taken away below
from django.contrib.auth.models import Group
from django_otp.plugins.otp_totp import admin as _of_otp  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.admin import people, members, sign_ins, spaces, agents, tokens, grants, jobs, audit  # isort: skip

__all__ = ["agents", "audit", "grants", "jobs", "members", "people", "sign_ins", "spaces", "tokens"]

# Their own pages would write past the verbs and so past the audit chain. We have no groups, and second factors
# are made by enrolment alone.
admin.site.unregister([Group, TOTPDevice])
