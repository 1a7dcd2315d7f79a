"""What the administration shows of people and agents."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import admin as _of_django  # noqa: F401  importing registers what is taken away below
from django.contrib.auth.models import Group
from django_otp.plugins.otp_totp import admin as _of_otp  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import pages  # noqa: F401  importing registers the pages

# Their own pages would write past the verbs and so past the audit chain. We have no groups, and second factors
# are made by enrolment alone.
admin.site.unregister([Group, TOTPDevice])
