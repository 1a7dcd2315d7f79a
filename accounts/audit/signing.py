"""Signing keys of checkpoints: Ed25519 keys of the instance, 32 bytes each, written as hex.

The private key is only in `keys/` of the data home. `keys/audit_public_keys` lists all public keys, oldest first, for
independent verification. A new key is introduced by a line of the log of checkpoints, signed with the previous key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fluxcore.errors import BadConfiguration, Invalid

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNING_KEY = "audit_signing_key"
NEXT_KEY = "audit_signing_key.next"  # exists only during a rotation
PUBLIC_KEYS = "audit_public_keys"
FILES = (SIGNING_KEY, NEXT_KEY, PUBLIC_KEYS)
_KEY = re.compile(r"[0-9a-f]{64}")


class KeyHome(Protocol):
    """The parts of a data home that signing and checkpoints use."""

    @property
    def name(self) -> str: ...
    @property
    def keys(self) -> Path: ...
    @property
    def checkpoints(self) -> Path: ...
    def secret(self, name: str) -> str | None: ...
    def make_secret(self, name: str, make: Callable[[], str]) -> str: ...
    def keep_secret(self, name: str, text: str) -> None: ...


# The cryptography library is imported inside functions, because few of the processes that import this module sign.


def generate() -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw().hex()


def public_half(private: str) -> str:
    return _private(private).public_key().public_bytes_raw().hex()


def sign(private: str, message: bytes) -> str:
    return _private(private).sign(message).hex()


def _private(key: str) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key))


def is_valid_signature(public: str, signature: str, message: bytes) -> bool:
    """Whether the signature of the message is valid for that public key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_public_keys(path: Path) -> list[str]:
    """Read a list of public keys, oldest first."""
    try:
        found = path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read ({type(error).__name__}).") from None
    if not found or not all(_KEY.fullmatch(key) for key in found):
        raise Invalid(f"{path} is not a list of public keys: 64 hex digits a line.")
    return found


@dataclass(frozen=True)
class KeyRing:
    """The signing keys in a data home."""

    home: KeyHome
    own: str | None
    coming: str | None
    public: list[str]

    @classmethod
    def of(cls, home: KeyHome) -> KeyRing:
        listed = home.keys / PUBLIC_KEYS
        try:
            own, coming = home.secret(SIGNING_KEY), home.secret(NEXT_KEY)
            public = read_public_keys(listed) if listed.exists() else []
        except (ValueError, Invalid) as error:
            raise BadConfiguration(str(error)) from None
        for name, key in ((SIGNING_KEY, own), (NEXT_KEY, coming)):
            if key is not None and not _KEY.fullmatch(key):
                raise BadConfiguration(f"{home.keys / name} is not a signing key. Restore it from a backup.")
        return cls(home, own, coming, public)

    def private(self, public: str) -> str | None:
        return next((key for key in (self.own, self.coming) if key is not None and public_half(key) == public), None)

    def problem(self, used: list[str]) -> str:
        """Problem of a log signed with these keys, oldest first, compared with the key ring; empty if there is none."""
        if not used:
            return "is missing or empty, although it has been signed before" if self.public else ""
        # A kill during a rotation leaves the list one key behind the log.
        if self.public not in (used, used[:-1]):
            return f"was signed with other keys than those in keys/{PUBLIC_KEYS}"
        if self.private(used[-1]) is None:
            return f"was signed with another key than keys/{SIGNING_KEY}"
        return ""

    def settle(self, used: list[str]) -> KeyRing:
        """Finish a rotation: make the last key of the log the current one and remove the next key."""
        own = self.private(used[-1])
        if own is not None and (own, self.public) != (self.own, used):
            self.home.keep_secret(PUBLIC_KEYS, "".join(f"{key}\n" for key in used))
            self.home.keep_secret(SIGNING_KEY, own)
        (self.home.keys / NEXT_KEY).unlink(missing_ok=True)
        return KeyRing(self.home, own, None, used)
