"""Sign-in codes as an authenticator app shows them, for tests whose server has a clock of its own."""

from __future__ import annotations

import time

from django_otp.oath import hotp

from accounts.signin.second_factors import STEP_SECONDS, TOLERANCE_SECONDS


def code_for(key: bytes) -> str:
    """The newest code the server takes already, so that it is good for another 20 seconds at the least."""
    return f"{hotp(key, int(time.time() + TOLERANCE_SECONDS) // STEP_SECONDS):06d}"
