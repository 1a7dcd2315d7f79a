"""An orderly stop writes the traces of the last recalls over MCP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.instances import Instance
from tests.mcp.driver import over_http
from tests.module_changes import change_modules

WRITTEN = """
import json
from memory.grains.models import Trace
print(json.dumps({str(uuid): query for uuid, query in Trace.objects.values_list("uuid", "query")}))
"""


def test_a_recall_right_before_an_orderly_stop_leaves_its_trace(made: Callable[..., Instance], tmp_path: Path) -> None:
    # The writer of traces would come in an hour: whatever is there after the stop was written by it.
    late = change_modules(tmp_path / "late", memory__recall__traces="BEHIND_SECONDS = 3600.0")
    one = made(**late).start()
    client = over_http(one)
    try:
        asked = [client.call("flux_retrieve", query=f"Question {number}?")["trace_id"] for number in range(3)]
    finally:
        client.close()
    assert one.stop() == 0
    del one.environment["PYTHONPATH"]
    written = json.loads(one.command("shell", "-v", "0", "-c", WRITTEN).stdout)
    assert written == {trace: f"Question {number}?" for number, trace in enumerate(asked)}
