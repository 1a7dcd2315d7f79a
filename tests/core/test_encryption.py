"""Encryption of secrets: decrypted only with the instance's key, and only for their own row."""

from __future__ import annotations

import pytest

from fluxcore.encryption import decrypt, encrypt, keyed_digest
from fluxcore.errors import NotReady, SealBroken


def test_a_secret_is_decrypted_again():
    assert decrypt(encrypt(b"a secret", about="ada"), about="ada") == b"a secret"


def test_one_secret_encrypted_twice_gives_different_bytes():
    assert encrypt(b"x", about="ada") != encrypt(b"x", about="ada")


def test_a_secret_moved_to_another_row_is_not_decrypted():
    with pytest.raises(SealBroken):
        decrypt(encrypt(b"x", about="ada"), about="grace")


def test_with_another_key_a_secret_is_refused_with_the_next_step(settings):
    kept = encrypt(b"x", about="ada")
    settings.SECRET_KEY = "another key " * 5
    with pytest.raises(SealBroken, match="flux_admin reset"):
        decrypt(kept, about="ada")


@pytest.mark.parametrize("text", ["", "v1.", "v1.AAAA", "nonsense", "v1.é", "v1." + "A" * 400])
def test_bytes_that_were_never_encrypted_are_refused(text):
    with pytest.raises(SealBroken):
        decrypt(text, about="ada")


def test_a_secret_with_a_flipped_bit_is_refused():
    import base64

    kept = base64.urlsafe_b64decode(encrypt(b"secret", about="ada")[3:])
    for position in range(len(kept)):
        changed = bytearray(kept)
        changed[position] ^= 1
        with pytest.raises(SealBroken):
            decrypt("v1." + base64.urlsafe_b64encode(bytes(changed)).decode(), about="ada")


def test_without_a_stored_key_nothing_is_encrypted(settings):
    """A key that dies with the process would make what it sealed unreadable."""
    settings.SECRET_KEY_IS_KEPT = False
    with pytest.raises(NotReady):
        encrypt(b"x", about="ada")


def test_a_keyed_digest_depends_on_the_key_and_its_purpose(settings):
    first = keyed_digest("code", use="one")
    assert first == keyed_digest("code", use="one") != keyed_digest("code", use="two")
    settings.SECRET_KEY = "another key " * 5
    assert keyed_digest("code", use="one") != first
