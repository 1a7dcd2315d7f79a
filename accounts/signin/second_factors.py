"""The second factor: codes of an authenticator app (TOTP, RFC 6238) and backup codes, each good once."""

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
# Clocks differ: a code is taken from this long before its 30 seconds begin until this long after they end.
TOLERANCE_SECONDS = 10
BACKUP_CODES = 10
# No letter or digit that could be read as another: 16 of these 31 are 79 random bits.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_TOTP_CODE = re.compile(r"[0-9]{6}")
_BACKUP_CODE = re.compile(rf"[{_LETTERS}]{{16}}")

Result = Literal["totp", "backup", "used", "wrong"]


def new_key() -> bytes:
    return secrets.token_bytes(20)


def check_key(key: bytes) -> None:
    if not 16 <= len(key) <= 64:
        raise Invalid("A key has 128 to 512 bits.", field="totp_key_file")


def otp_uri(key: bytes, username: str) -> str:
    """What the QR picture says, in the form authenticator apps agree on."""
    issuer = f"Flux Memory ({settings.HOME.name})"
    label = quote(f"{issuer}:{username}")
    found = {"secret": base64.b32encode(key).decode(), "issuer": issuer, "algorithm": "SHA1", "digits": 6, "period": 30}
    return f"otpauth://totp/{label}?{urlencode(found, quote_via=quote)}"


def step_of(key: bytes, code: str) -> int | None:
    """The time step a code belongs to, if it is one that counts now."""
    if not _TOTP_CODE.fullmatch(code):
        return None
    now = clock.now().timestamp()
    steps = sorted({int((now + drift) // STEP_SECONDS) for drift in (-TOLERANCE_SECONDS, 0, TOLERANCE_SECONDS)})
    matching = [step for step in steps if constant_time_compare(f"{hotp(key, step):06d}", code)]
    return matching[-1] if matching else None


def key_context(user: int) -> str:
    return f"authenticator:{user}"


def install(user: int, key: bytes, *, spent: int) -> None:
    """Give a person this authenticator instead of any they had; the code that proved it is spent."""
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
    """Ten new codes instead of all earlier ones. This is the only time they can be read."""
    codes = ["".join(secrets.choice(_LETTERS) for _ in range(16)) for _ in range(BACKUP_CODES)]
    BackupCode.objects.filter(user_id=user).delete()
    BackupCode.objects.bulk_create(
        BackupCode(user_id=user, digest=_digest(user, code), created_at=clock.now()) for code in codes
    )
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]


def backup_codes_left(user: int) -> int:
    return BackupCode.objects.filter(user_id=user, used_at=None).count()


def normalise_code(text: str) -> str:
    """As people type it: apps show `123 456`, lists show `abcd-efgh-…`."""
    return "".join(text.split()).replace("-", "").lower()


def looks_like_a_code(text: str) -> bool:
    return bool(_TOTP_CODE.fullmatch(text) or _BACKUP_CODE.fullmatch(text))


def spend_code(user: User, code: str) -> Result:
    """Use a code up, inside a write: of any number of callers with one code, one is told that it was good."""
    if _BACKUP_CODE.fullmatch(code):
        return _spend_backup(user.pk, code)
    device = Authenticator.objects.filter(user_id=user.pk, confirmed=True).first()
    if device is None:
        return "wrong"
    step = step_of(decrypt(device.sealed_key, about=key_context(user.pk)), code)
    if step is None:
        return "wrong"
    # Not only the same code again: those of earlier steps are spent with it.
    if not Authenticator.objects.filter(pk=device.pk, last_step__lt=step).update(last_step=step):
        return "used"
    return "totp"


def _spend_backup(user: int, code: str) -> Result:
    mine = BackupCode.objects.filter(user_id=user, digest=_digest(user, code))
    if mine.filter(used_at=None).update(used_at=clock.now()):
        return "backup"
    return "used" if mine.exists() else "wrong"


def _digest(user: int, code: str) -> str:
    return keyed_digest(f"{user}:{code}", use="backup code")
