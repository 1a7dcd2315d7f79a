"""flux_status: what it warns of"""

from __future__ import annotations

from fluxsite.home import Home, make_home


def test_keys_that_others_can_read_are_named_with_the_remedy(run, settings, tmp_path):
    settings.HOME = Home("test", tmp_path / "test")
    make_home(settings.HOME)
    (settings.HOME.keys / "audit_public_keys").touch(mode=0o644)
    key = settings.HOME.keys / "secret_key"
    assert not any("can read" in warning for warning in run("flux_status", "--json").json()["warnings"])
    for mode in (0o644, 0o640, 0o604):
        key.chmod(mode)
        said = run("flux_status", "--json")
        assert (said.status, said.text.count("chmod 600")) == (0, 1)
        assert f"other users of this machine can read the key {key}: chmod 600 {key}" in said.json()["warnings"]
