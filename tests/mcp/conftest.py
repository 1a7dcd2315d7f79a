"""Fixtures of the MCP tests: an initialised instance and a client of its `flux_mcp` process, one for each module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.instances import Instance
from tests.mcp.driver import Driver, over_stdio


@pytest.fixture(scope="module")
def home(blank: Instance, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    one = Instance(tmp_path_factory.mktemp("mcp"), "test")
    shutil.copytree(blank.folder, one.folder)
    return one


@pytest.fixture(scope="session")
def server(blank: Instance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A running instance for tests over HTTP."""
    one = Instance(tmp_path_factory.mktemp("mcp-server"), "served")
    shutil.copytree(blank.folder, one.folder)
    one.start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def stdio(home: Instance) -> Iterator[Driver]:
    driver = over_stdio(home)
    yield driver
    driver.close()
