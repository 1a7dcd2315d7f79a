"""Second factors: codes of an authenticator app (TOTP, RFC 6238) and backup codes, each valid once."""

from __future__ import annotations

import base64
import re
import secrets
from typing import Literal
from urllib.parse import quote, urlencode

from django.conf import settings
from django.utils.crypto import constant_time_compare
from django_otp.oath import hotp

from accounts.models import Authenticator, BackupCode, User
from fluxcore import clock
from fluxcore.encryption import decrypt, encrypt, keyed_digest
from fluxcore.errors import Invalid

STEP_SECONDS = 30
# Tolerance for different clocks: seconds before and after the 30 seconds of a code in which it is accepted.
TOLERANCE_SECONDS = 10
BACKUP_CODES = 10
# Characters of backup codes, without those that look alike: 16 of these 31 are 79 random bits.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_TOTP_CODE = re.compile(r"[0-9]{6}")
_BACKUP_CODE = re.compile(rf"[{_LETTERS}]{{16}}")

Result = Literal["totp", "backup", "used", "wrong"]


def new_key() -> bytes:
    return secrets.token_bytes(20)


def check_key(key: bytes) -> None:
    if not 16 <= len(key) <= 64:
        raise Invalid("The key must have 128 to 512 bits.", field="totp_key_file")


def otp_uri(key: bytes, username: str) -> str:
    """The otpauth:// URI in the QR code, as authenticator apps read it."""
    issuer = f"Flux Memory ({settings.HOME.name})"
    label = quote(f"{issuer}:{username}")
    found = {"secret": base64.b32encode(key).decode(), "issuer": issuer, "algorithm": "SHA1", "digits": 6, "period": 30}
    return f"otpauth://totp/{label}?{urlencode(found, quote_via=quote)}"


def step_of(key: bytes, code: str) -> int | None:
    """The time step of a code that is valid now; None if it is not."""
    if not _TOTP_CODE.fullmatch(code):
        return None
    now = clock.now().timestamp()
    steps = sorted({int((now + drift) // STEP_SECONDS) for drift in (-TOLERANCE_SECONDS, 0, TOLERANCE_SECONDS)})
    matching = [step for step in steps if constant_time_compare(f"{hotp(key, step):06d}", code)]
    return matching[-1] if matching else None


def key_context(user: int) -> str:
    return f"authenticator:{user}"


def install(user: int, key: bytes, *, spent: int) -> None:
    """Replace a person's authenticator. `spent` is the time step of the code that confirmed it, which is used up."""
    Authenticator.objects.filter(user_id=user).delete()
    Authenticator.objects.create(
        user_id=user,
        name="authenticator",
        sealed_key=encrypt(key, about=key_context(user)),
        last_step=spent,
        created_at=clock.now(),
    )


def remove(user: int) -> None:
    Authenticator.objects.filter(user_id=user).delete()
    BackupCode.objects.filter(user_id=user).delete()


def new_backup_codes(user: int) -> list[str]:
    """Create ten backup codes, which replace all earlier ones. They cannot be read again."""
    codes = ["".join(secrets.choice(_LETTERS) for _ in range(16)) for _ in range(BACKUP_CODES)]
    BackupCode.objects.filter(user_id=user).delete()
    BackupCode.objects.bulk_create(
        BackupCode(user_id=user, digest=_digest(user, code), created_at=clock.now()) for code in codes
    )
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]


def backup_codes_left(user: int) -> int:
    return BackupCode.objects.filter(user_id=user, used_at=None).count()


def normalise_code(text: str) -> str:
    """A code without the spaces and hyphens with which it is shown (`123 456`, `abcd-efgh-…`), in lower case."""
    return "".join(text.split()).replace("-", "").lower()


def looks_like_a_code(text: str) -> bool:
    return bool(_TOTP_CODE.fullmatch(text) or _BACKUP_CODE.fullmatch(text))


def spend_code(user: User, code: str) -> Result:
    """Check a code and use it up, inside a write: of several concurrent callers one succeeds."""
    if _BACKUP_CODE.fullmatch(code):
        return _spend_backup(user.pk, code)
    device = Authenticator.objects.filter(user_id=user.pk, confirmed=True).first()
    if device is None:
        return "wrong"
    step = step_of(decrypt(device.sealed_key, about=key_context(user.pk)), code)
    if step is None:
        return "wrong"
    # Codes of earlier time steps are used up too.
    if not Authenticator.objects.filter(pk=device.pk, last_step__lt=step).update(last_step=step):
        return "used"
    return "totp"


def _spend_backup(user: int, code: str) -> Result:
    matching = BackupCode.objects.filter(user_id=user, digest=_digest(user, code))
    if matching.filter(used_at=None).update(used_at=clock.now()):
        return "backup"
    return "used" if matching.exists() else "wrong"


def _digest(user: int, code: str) -> str:
    return keyed_digest(f"{user}:{code}", use="backup code")
