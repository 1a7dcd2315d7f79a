"""An agent's persistent memory: the calls of seed 003, from Python."""

import json

from flux import errors
from flux.client import FluxClient
from flux.exact import AgentMemory

with FluxClient() as client:
    memory = AgentMemory(client)
    memory.memory_set("config", {"theme": "dark", "max_retries": 3})
    config = memory.memory_get("config")
    memory.memory_set("session-token", "abc123", ttl_secs=3600)
    expires = memory.entry("session-token")["expires_at"]
    memory.set("counter", 40)
    memory.set("counter", 41)
    version = memory.cas("counter", 2, 42)["version"]
    try:
        memory.cas("counter", 2, 43)
        rejected = False
    except errors.Conflict as refusal:
        rejected = isinstance(refusal, RuntimeError) and refusal.details["current_version"]
    memory.delete("session-token")
    memory.set("cache.a", 1)
    listed = list(memory.keys("cache.*"))
    print(json.dumps([config, expires is not None, version, rejected, memory.get("session-token"), listed]))
