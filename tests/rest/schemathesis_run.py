"""Schemathesis against a running instance, from the schema the instance publishes."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.rest.conftest import RestInstance

# 404: an invented id. 409: an invented idempotency key that was used before. A bad item of a batch is refused
# inside a 200, beside the good ones. No schema says that one time lies before another, nor how many days February
# has: a store, a list or a recall may be refused for that. The agent does not manage grains. What may be asked for
# depends on the agent's trust and on what waits already. No graph is taken out by it. No schema of a free JSON value
# says that whole numbers in it end at 2^53, which is a 400.
_SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 404, 409]

[[operations]]
include-path-regex = "/api/v1/(store|extract)$"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 409, 422]

[[operations]]
include-path = "/api/v1/grains"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 422]

[[operations]]
include-path = "/api/v1/retrieve"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 422]

[[operations]]
include-path-regex = "/(pin|unpin|close|archive|restore|quarantine|release|delete|undelete)$"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404, 409, 422]

[[operations]]
include-path = "/api/v1/graph/export"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404]

[operations.checks.negative_data_rejection]
expected-statuses = [400, 403, 404, 422]

[[operations]]
include-path-regex = "/api/v1/(store|feedback)/batch$"

[operations.checks.negative_data_rejection]
expected-statuses = ["2xx", 400, 409, 415, 422, 429]

[[operations]]
include-path = "/api/v1/grant-requests"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 409, 429]

[operations.checks.negative_data_rejection]
expected-statuses = [400, 409, 415, 422, 429]

[[operations]]
include-path-regex = "/api/v1/(agents|boards|locks|queues|watch|stores|reviews|ipc)(/|$)"

[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 304, 400, 403, 404, 409, 410, 413, 422, 429, 503]

[operations.checks.negative_data_rejection]
expected-statuses = ["2xx", 304, 400, 403, 404, 409, 413, 415, 422, 429, 503]
"""
# Exact memory and stores triple the number of operations, and the refusals of one caller in a minute are limited: their
# calls have runs of their own.
EXACT = r"/api/v1/(agents|boards|locks|queues|watch|ipc)(/|$)"
STORES = r"/api/v1/(stores|reviews)(/|$)"


@dataclass(frozen=True)
class SchemathesisOutcome:
    exit_status: int
    cases: int
    said: str

    @property
    def last_lines(self) -> str:
        return "\n".join(self.said.rstrip().splitlines()[-12:])


def run_schemathesis(door: RestInstance, token: str, folder: Path, *options: str, seconds: int) -> SchemathesisOutcome:
    """Every operation, valid and invalid data, all checks: server errors, statuses, shapes, acceptance, auth."""
    (folder / "schemathesis.toml").write_text(_SETTINGS)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file",
            "schemathesis.toml",
            "run",
            f"{door.state['urls']['rest']}/api/v1/openapi.json",
            "--header",
            f"Authorization: Bearer {token}",
            "--checks",
            "all",
            "--no-color",
            "--continue-on-failure",
            "--suppress-health-check",
            "all",
            *options,
        ],
        cwd=folder,
        env=door.environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    said = done.stdout + done.stderr
    counted = re.search(r"([\d,]+) generated", said)
    return SchemathesisOutcome(done.returncode, int(counted.group(1).replace(",", "")) if counted else 0, said)
