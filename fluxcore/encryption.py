"""Secrets at rest: sealed with a key that only the instance has, bound to what they are for."""

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

# The library is imported where it is used: every process of the instance comes by here, few ever seal.


def _key(use: bytes) -> bytes:
    """A key of its own for every use, derived from the instance's."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    kept: str | None = settings.SECRET_KEY if settings.SECRET_KEY_IS_KEPT else settings.HOME.secret("secret_key")
    if kept is None:
        raise NotReady(f"The instance has no key yet. Create it: {typed_command('flux_init')}.")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"flux-memory " + use).derive(kept.encode())


def encrypt(secret: bytes, *, about: str) -> str:
    """The secret as text for a column. `about` names whose it is: moved to another row it does not open."""
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
    """A digest nobody can compute, or search through guesses, without the instance's key."""
    return hmac.new(_key(f"digest {use}".encode()), text.encode(), hashlib.sha256).hexdigest()
