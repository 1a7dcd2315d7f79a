"""Admin pages of people, agents, jobs and the audit log; importing registers them, in this order."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import admin as _of_django  # noqa: F401  imported first, because it registers the pages that are unregistered below
from django.contrib.auth.models import Group
from django_otp.plugins.otp_totp import admin as _of_otp  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.admin import people, members, sign_ins, spaces, agents, tokens, grants, jobs, audit  # isort: skip

__all__ = ["agents", "audit", "grants", "jobs", "members", "people", "sign_ins", "spaces", "tokens"]

# Django's own pages would write without verbs and so without audit entries. There are no groups, and second factors are
# created only by enrolment.
admin.site.unregister([Group, TOTPDevice])
