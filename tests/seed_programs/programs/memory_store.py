"""An agent's transcript and files: the calls of seed 001, written as its page has them."""

import asyncio
import json

from flux.memory import AccessDenied, ConcurrencyError, MemoryStore, MemoryStoreError

PROFILE = "user/profile.json"


def refused(error, call, *given, **more):
    try:
        call(*given, **more)
    except error as refusal:
        return refusal
    return None


async def later():
    """Another process that opens the store by its key."""
    there, nowhere = await MemoryStore.exists(key="support"), await MemoryStore.exists(key="nobody")
    memory = await MemoryStore.get_or_create.aio(key="support", keep_versions=False)
    before = await memory.current_sha.aio(PROFILE)
    meta = await memory.write_json.aio(
        PROFILE, {"name": "Ann", "drinks": "coffee"}, actor="night", reason="she said so"
    )
    memory.append({"role": "user", "content": "And now?"})
    await memory.flush_messages()
    tail = await memory.audit_tail(2)
    return [there, nowhere, before, meta.updated_by, [event["op"] for event in tail], len(memory.messages)]


memory = MemoryStore.create(key="support", read_only_prefixes=("memory/",), audit=True, keep_versions=True)
again = refused(MemoryStoreError, MemoryStore.create, key="support")
memory.extend([{"role": "user", "content": "I am Ann"}, {"role": "assistant", "content": "Hello, Ann"}])
first = memory.write_json(PROFILE, {"name": "Ann"}, actor="onboarding", reason="first contact")
note = memory.write_text("user/notes/tea.txt", "likes tea\r\n")
protected = refused(AccessDenied, memory.write_text, "memory/facts.txt", "planted")
escaped = refused(MemoryStoreError, memory.write_text, "../escape", "x")
memory.save()
told = asyncio.run(later())
conflict = refused(ConcurrencyError, memory.write_json, PROFILE, {"name": "Bob"}, expected_sha=first.sha256)
created = refused(ConcurrencyError, memory.write_text, "user/notes/tea.txt", "", expected_sha="")
earlier = next(event["version_file"] for event in memory.audit_tail_sync(0) if event["path"] == PROFILE)

print(
    json.dumps(
        {
            "exists": "already exists" in str(again),
            "protected": protected is not None,
            "escaped": escaped is not None,
            "later": [*told[:2], told[2] == first.sha256, *told[3:]],
            "conflict": [conflict.path, conflict.expected_sha == first.sha256],
            "actual": conflict.actual_sha == memory.current_sha(PROFILE),
            "created": created.actual_sha == note.sha256,
            "profile": memory.read_json(PROFILE),
            "earlier": memory.read_json(earlier),
            "note": memory.read_text("user/notes/tea.txt"),
            "missing": [memory.read_text("x", "default"), memory.read_json("x"), memory.get_meta("x")],
            "paths": [memory.list_paths(), memory.list_paths("user/notes"), memory.list_paths("audit")],
            "meta": [memory.get_meta(PROFILE).updated_by, memory.get_meta(PROFILE).reason],
            "address": MemoryStore.remote_path_for_key(key="support", storage_root="s3://bucket/ab/run"),
        }
    )
)
