"""Secrets at rest open only with the instance's key, and only where they belong"""

from __future__ import annotations

import pytest

from fluxcore.errors import NotReady, SealBroken
from fluxcore.seal import keyed_digest, seal, unseal


def test_it_comes_back():
    assert unseal(seal(b"a secret", about="ada"), about="ada") == b"a secret"


def test_two_seals_of_one_secret_differ():
    assert seal(b"x", about="ada") != seal(b"x", about="ada")


def test_moved_to_somebody_else_it_does_not_open():
    with pytest.raises(SealBroken):
        unseal(seal(b"x", about="ada"), about="grace")


def test_with_another_key_it_does_not_open_and_says_what_to_do(settings):
    kept = seal(b"x", about="ada")
    settings.SECRET_KEY = "another key " * 5
    with pytest.raises(SealBroken, match="flux_admin reset"):
        unseal(kept, about="ada")


@pytest.mark.parametrize("text", ["", "v1.", "v1.AAAA", "nonsense", "v1.é", "v1." + "A" * 400])
def test_what_was_never_sealed_is_refused(text):
    with pytest.raises(SealBroken):
        unseal(text, about="ada")


def test_every_bit_counts():
    import base64

    kept = base64.urlsafe_b64decode(seal(b"secret", about="ada")[3:])
    for position in range(len(kept)):
        changed = bytearray(kept)
        changed[position] ^= 1
        with pytest.raises(SealBroken):
            unseal("v1." + base64.urlsafe_b64encode(bytes(changed)).decode(), about="ada")


def test_without_a_kept_key_nothing_is_sealed(settings):
    """A key that dies with the process would make what it sealed unreadable."""
    settings.SECRET_KEY_IS_KEPT = False
    with pytest.raises(NotReady):
        seal(b"x", about="ada")


def test_a_keyed_digest_needs_the_key_and_its_use(settings):
    first = keyed_digest("code", use="one")
    assert first == keyed_digest("code", use="one") != keyed_digest("code", use="two")
    settings.SECRET_KEY = "another key " * 5
    assert keyed_digest("code", use="one") != first
