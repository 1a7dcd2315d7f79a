"""Encryption of secrets at rest, with a key that only the instance has, bound to the row they belong to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from django.conf import settings

from fluxcore.command_names import typed_command
from fluxcore.errors import NotReady, SealBroken

_VERSION = "v1."
_NONCE = 12

# The cryptography library is imported inside functions, because few of the processes that import this module use it.


def _key(use: bytes) -> bytes:
    """A separate key for every use, derived from the instance's secret key."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    secret: str | None = settings.SECRET_KEY if settings.SECRET_KEY_IS_KEPT else settings.HOME.secret("secret_key")
    if secret is None:
        raise NotReady(f"The instance has no secret key yet. Create it: {typed_command('flux_init')}.")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"flux-memory " + use).derive(secret.encode())


def encrypt(secret: bytes, *, about: str) -> str:
    """The encrypted secret as text for a column. `about` names its owner, and is needed to decrypt it."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE)
    sealed = AESGCM(_key(b"seal")).encrypt(nonce, secret, about.encode())
    return _VERSION + base64.urlsafe_b64encode(nonce + sealed).decode("ascii")


def decrypt(text: str, *, about: str) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        packed = base64.urlsafe_b64decode(text.removeprefix(_VERSION))
        return AESGCM(_key(b"seal")).decrypt(packed[:_NONCE], packed[_NONCE:], about.encode())
    except (InvalidTag, ValueError):
        raise SealBroken(f"{SealBroken.message} To reset it: {typed_command('flux_admin reset NAME')}.") from None


def keyed_digest(text: str, *, use: str) -> str:
    """Digest that cannot be computed, or searched by guessing, without the instance's secret key."""
    return hmac.new(_key(f"digest {use}".encode()), text.encode(), hashlib.sha256).hexdigest()
