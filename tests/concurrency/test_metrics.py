"""/metrics adds up over the REST processes, whichever of them is asked."""

from __future__ import annotations

import json
import re

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import on_fleets

REQUESTS = 40


def stores(fleet: Fleet, token: str) -> int:
    text = fleet.instance.call("GET", "/metrics", token=token).body.decode()
    lines = re.findall(r'^flux_requests_total\{.*route="store",status="200".*\} ([\d.]+)$', text, re.MULTILINE)
    return int(sum(float(line) for line in lines))


@on_fleets("sqlite")
def test_every_process_reports_the_sum_of_all(fleet: Fleet) -> None:
    fleet.limit(1000)
    fleet.instance.command("flux_agent", "create", "meter", "--capability", "metrics.read")
    token = json.loads(fleet.instance.command("flux_token", "mint", "meter", "--json").stdout)["token"]
    before = stores(fleet, token)
    _, writer = fleet.agent()
    for number in range(REQUESTS):  # a connection each, so that both processes get some
        assert fleet.instance.call("POST", "/store", {"content": f"metric {number}"}, token=writer).status == 200
    assert {stores(fleet, token) - before for _ in range(12)} == {REQUESTS}
