"""Encryption of secrets: decrypted only with the instance's key, and only for their own row."""

from __future__ import annotations

import pytest

from fluxcore.encryption import decrypt, encrypt, keyed_digest
from fluxcore.errors import NotReady, SealBroken


def test_it_comes_back():
    assert decrypt(encrypt(b"a secret", about="ada"), about="ada") == b"a secret"


def test_two_seals_of_one_secret_differ():
    assert encrypt(b"x", about="ada") != encrypt(b"x", about="ada")


def test_moved_to_somebody_else_it_does_not_open():
    with pytest.raises(SealBroken):
        decrypt(encrypt(b"x", about="ada"), about="grace")


def test_with_another_key_it_does_not_open_and_says_what_to_do(settings):
    kept = encrypt(b"x", about="ada")
    settings.SECRET_KEY = "another key " * 5
    with pytest.raises(SealBroken, match="flux_admin reset"):
        decrypt(kept, about="ada")


@pytest.mark.parametrize("text", ["", "v1.", "v1.AAAA", "nonsense", "v1.é", "v1." + "A" * 400])
def test_what_was_never_sealed_is_refused(text):
    with pytest.raises(SealBroken):
        decrypt(text, about="ada")


def test_every_bit_counts():
    import base64

    kept = base64.urlsafe_b64decode(encrypt(b"secret", about="ada")[3:])
    for position in range(len(kept)):
        changed = bytearray(kept)
        changed[position] ^= 1
        with pytest.raises(SealBroken):
            decrypt("v1." + base64.urlsafe_b64encode(bytes(changed)).decode(), about="ada")


def test_without_a_kept_key_nothing_is_sealed(settings):
    """A key that dies with the process would make what it sealed unreadable."""
    settings.SECRET_KEY_IS_KEPT = False
    with pytest.raises(NotReady):
        encrypt(b"x", about="ada")


def test_a_keyed_digest_needs_the_key_and_its_use(settings):
    first = keyed_digest("code", use="one")
    assert first == keyed_digest("code", use="one") != keyed_digest("code", use="two")
    settings.SECRET_KEY = "another key " * 5
    assert keyed_digest("code", use="one") != first
