"""Who vouches for a checkpoint: Ed25519 keys of the instance, 32 bytes each, written as hex.

The private key never leaves `keys/` in the data home. `keys/audit_public_keys` lists every public key that was
ever in force, oldest first; it is what a stranger needs. A new key is introduced by a line of the log of
checkpoints that the key before it has signed.
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
NEXT_KEY = "audit_signing_key.next"  # while one key follows another
PUBLIC_KEYS = "audit_public_keys"
FILES = (SIGNING_KEY, NEXT_KEY, PUBLIC_KEYS)
_KEY = re.compile(r"[0-9a-f]{64}")


class KeyHome(Protocol):
    """What is asked of a data home."""

    @property
    def name(self) -> str: ...
    @property
    def keys(self) -> Path: ...
    @property
    def checkpoints(self) -> Path: ...
    def secret(self, name: str) -> str | None: ...
    def make_secret(self, name: str, make: Callable[[], str]) -> str: ...
    def keep_secret(self, name: str, text: str) -> None: ...


# The library is imported where it is used: every process of the instance comes by here, few ever sign.


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
    """Whether the owner of that key signed exactly this message."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_public_keys(path: Path) -> list[str]:
    """The keys in such a list, oldest first."""
    try:
        found = path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read ({type(error).__name__}).") from None
    if not found or not all(_KEY.fullmatch(key) for key in found):
        raise Invalid(f"{path} is not a list of public keys: 64 hex digits a line.")
    return found


@dataclass(frozen=True)
class KeyRing:
    """The keys in a data home, against those a log of checkpoints was signed with."""

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
        """What is wrong if a log was signed with these keys, oldest first; empty if nothing is."""
        if not used:
            return "is missing or empty, although it has been signed before" if self.public else ""
        # A kill in the middle of a change of keys leaves the list one behind its log.
        if self.public not in (used, used[:-1]):
            return f"was signed with other keys than those in keys/{PUBLIC_KEYS}"
        if self.private(used[-1]) is None:
            return f"was signed with another key than keys/{SIGNING_KEY}"
        return ""

    def settle(self, used: list[str]) -> KeyRing:
        """The last of the log's keys is the one in force from now on."""
        own = self.private(used[-1])
        if own is not None and (own, self.public) != (self.own, used):
            self.home.keep_secret(PUBLIC_KEYS, "".join(f"{key}\n" for key in used))
            self.home.keep_secret(SIGNING_KEY, own)
        (self.home.keys / NEXT_KEY).unlink(missing_ok=True)
        return KeyRing(self.home, own, None, used)
