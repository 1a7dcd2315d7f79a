"""Verifying the audit chain against the bare hashing of the same entries."""

from __future__ import annotations

import hashlib
import json
import statistics
import time

from benchmarks.home import prepare

ENTRIES, ROUNDS = 10_000, 5


def main() -> None:
    prepare()
    from accounts import audit
    from accounts.principals import shell
    from fluxcore.writes import booth

    def fill() -> None:
        for number in range(ENTRIES):
            audit.record(
                shell(), "bench.entry", str(number), details={"digest": "0" * 64, "status": "stored"}, chain="b"
            )

    booth.write(fill)
    entries = [list(entry.values()) for entry in audit.export("b")]

    def reference() -> None:
        for fields in entries:
            hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()

    verify, bare = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        reference()
        bare.append(time.process_time() - began)
        began = time.process_time()
        verdict = audit.verify("b")
        verify.append(time.process_time() - began)
        if not verdict.sound or verdict.entries != ENTRIES:
            raise RuntimeError("the chain does not verify")
    ours, theirs = statistics.median(verify) / ENTRIES, statistics.median(bare) / ENTRIES
    print(
        json.dumps(
            [
                {
                    "what": "audit verify ÷ sha256 of JSON, per entry",
                    "ratio": statistics.median(one / other for one, other in zip(verify, bare, strict=True)),
                    "measured": f"{ours * 1e6:.1f} ÷ {theirs * 1e6:.1f} µs CPU, {1 / ours:.0f} entries per CPU second",
                    "rounds": {"verify": verify, "reference": bare},
                }
            ]
        )
    )


if __name__ == "__main__":
    main()
