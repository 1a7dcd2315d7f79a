"""A notebook kept with flux-memory's Python SDK: two callers, a batch, feedback, and what its author catches."""

import dataclasses
import json
from pathlib import Path

import flux
from flux.config import DEFAULT_CONFIG, Config
from flux.service import FluxService
from flux.storage import FluxStore

HOME = Path("~/.flux/my-memory").expanduser()


def caught(call, *arguments, **named):
    """What the author's `except` clauses make of a refusal."""
    try:
        call(*arguments, **named)
    except ValueError:
        return "bad input"
    except RuntimeError:
        return "later"
    return "done"


store = FluxStore("~/.flux/my-memory/flux.db", llm=None, embedding=None)
cfg = dataclasses.replace(Config.from_yaml(HOME / "old.yaml"), MAX_GRAINS_PER_MINUTE=5, MAX_GRAINS_PER_CALL=2)
svc = FluxService(store, None, None, cfg)
before_start = caught(svc.store, "too early")
svc.start()
svc.start()

grain_id, status = svc.store_ex("Paris is the capital of France", provenance="user_stated", caller_id="desk:chat")
_, again = svc.store_ex("Paris is the capital of France", provenance="user_stated", caller_id="desk:chat")
batch = svc.store_batch(
    [{"content": "Rome is the capital of Italy"}, {"content": "Bern is the capital of Switzerland"}],
    caller_id="desk:chat",
)
too_many = caught(svc.store_batch, [{"content": f"fact {n}"} for n in range(3)], caller_id="desk:chat")
empty = caught(svc.store, "   ", caller_id="desk:chat")
odd_source = caught(svc.store, "hearsay", "a_friend", caller_id="desk:chat")
odd_caller = caught(svc.store, "x", caller_id="line\nbreak")
desk = [caught(svc.store, f"desk note {n}", caller_id="desk:chat") for n in range(3)]
phone = [caught(svc.store, f"phone note {n}", caller_id="phone:chat") for n in range(7)]

result = svc.retrieve("What is the capital of France?", caller_id="desk:chat")
good = svc.feedback(result.trace_id, result.grains[0]["id"], useful=True, caller_id="desk:chat")
bad = svc.feedback_sync(result.trace_id, result.grains[-1]["id"], False, caller_id="desk:chat")
several = svc.feedback_batch_sync(
    [{"trace_id": result.trace_id, "grain_id": grain_id, "useful": True}], caller_id="desk:chat"
)
listed = svc.list_grains(status="active", limit=50)
odd_status = caught(svc.list_grains, status="nonexistent")
health = svc.health()
svc.stop(timeout=10.0)
svc.stop()
store.close()

print(
    json.dumps(
        {
            "before_start": before_start,
            "status": [status, again],
            "batch": len(batch),
            "too_many": too_many,
            "refused": [empty, odd_source, odd_caller, odd_status],
            "desk": desk,
            "phone": phone,
            "found": result.grains[0]["id"] == grain_id,
            "confidence": isinstance(result.confidence, float),
            "result": [result.hop_count >= 0, bool(result.features), isinstance(result.expansion_candidates, list)],
            "good": [good.action, good["action"], good.trace_id == result.trace_id, good.effective_signal > 0, good.ok],
            "bad": [bad.action, bad.effective_signal < 0],
            "several": [one.action for one in several],
            "listed": sorted(
                one["content_snippet"] for one in listed if one["status"] == "active" and one["created_at"]
            ),
            "callers": sorted({one["label"] for one in listed}),
            "health": health["status"],
            "config": [
                flux.Config is Config,
                flux.DEFAULT_CONFIG == DEFAULT_CONFIG == Config(),
                cfg.TOP_K,
                cfg.provenance_multiplier("ai_stated"),
                cfg.provenance_multiplier("a_friend"),
                cfg.half_life_hours("core"),
                cfg.half_life_hours("ephemeral"),
                cfg.half_life_hours("other"),
            ],
        }
    )
)
