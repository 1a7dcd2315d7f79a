"""Real encoders from the installed packages; the MiniLM graph is built once for all tests of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory.embedding import active_encoder, encoder_kinds
from memory.embedding.active_encoder import ProcessEncoder
from memory.embedding.encoder import Encoder

NAMES = {kind.wanted: kind for kind in encoder_kinds.KINDS}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def loaded(models: Path) -> Callable[[str], Encoder]:
    made: dict[str, Encoder] = {}

    def one(wanted: str) -> Encoder:
        if wanted not in made:
            made[wanted] = active_encoder.make_encoder(NAMES[wanted], models)
        return made[wanted]

    return one


@pytest.fixture(params=list(NAMES))
def encoder(request: pytest.FixtureRequest, loaded: Callable[[str], Encoder]) -> Encoder:
    return loaded(request.param)


def without(*packages: str) -> Callable[[str], Path | None]:
    """An environment in which these are not installed."""
    return lambda package: None if package in packages else encoder_kinds.package_folder(package)


def instead(package: str, folder: Path) -> Callable[[str], Path | None]:
    """An environment in which this package lies there."""
    return lambda asked: folder if asked == package else encoder_kinds.package_folder(asked)


@pytest.fixture
def in_this_process(models: Path):
    """Puts a choice in the place of the process's own for one test."""
    before = active_encoder.replace_encoder(None)

    def put(chosen: ProcessEncoder) -> ProcessEncoder:
        active_encoder.replace_encoder(chosen)
        return chosen

    yield put
    active_encoder.replace_encoder(before)
