"""One conversation turn with flux-memory's MCP tools, spoken line by line to the process a client starts."""

import json
import subprocess
import sys

# The client's entry as the README has it: command = "python", args = ["-m", "flux.cli", "mcp", "--name", "my-memory"]
server = subprocess.Popen(
    [sys.executable, "-m", "flux.cli", "mcp", "--name", "my-memory"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
sent = 0


def ask(method, **params):
    global sent
    sent += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": sent, "method": method, "params": params}).encode() + b"\n")
    server.stdin.flush()
    while True:
        message = json.loads(server.stdout.readline())
        if message.get("id") == sent:
            return message["result"]


def tool(name, **arguments):
    """As flux-memory answers: one text block of JSON."""
    return json.loads(ask("tools/call", name=name, arguments=arguments)["content"][0]["text"])


ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "turns", "version": "1"})
server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
tools = [one["name"] for one in ask("tools/list")["tools"]]

me = "my-assistant:chat"
onboard = tool("flux_onboard", caller_id=me)
stored = tool("flux_store", content="Olga plays the cello on Mondays", provenance="user_stated", caller_id=me)
found = tool("flux_retrieve", query="When does Olga play the cello?", client="my-assistant", role="chat")
voted = tool("flux_feedback", trace_id=found["trace_id"], grain_id=found["grains"][0]["id"], useful=True, caller_id=me)
health = tool("flux_health", caller_id=me)
listed = tool("flux_list_grains", status="active", limit=50, caller_id=me)
server.stdin.close()
server.wait(30)

said = onboard["instructions"]
mine = [one for one in listed["grains"] if one["id"] == stored["grain_id"]]
print(
    json.dumps(
        {
            "tools": tools,
            "onboard": [onboard["operating_mode"] in said, onboard["server_name"], "Save these" in said],
            "workflow": [
                word in said for word in ("flux_retrieve", "flux_store", "flux_feedback", "client:role", "role")
            ],
            "stored": stored["action"],
            "found": found["grains"][0]["id"] == stored["grain_id"],
            "confidence": found["confidence"],
            "voted": [voted["action"], voted["effective_signal"] > 0],
            "health": health["status"],
            "listed": [[one["content_snippet"], one["status"], one["provenance"]] for one in mine],
            "count": listed["count"],
        }
    )
)
