"""Where the CPU of the two hot requests goes: `python -m benchmarks.profile` (needs no server)."""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import sys
import tempfile
from typing import Any

from benchmarks.home import prepare

REQUESTS, SHOWN = 500, 32


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="flux-bench-") as home:
        os.environ.update({"FLUX_HOME": home, "FLUX_NAME": "bench"})
        token = prepare(door="rest")
        from django.conf import settings
        from django.core.handlers.wsgi import WSGIHandler
        from django.test import RequestFactory

        settings.BOOTH = "inline"
        application, factory = WSGIHandler(), RequestFactory()
        headers = {"authorization": f"Bearer {token}", "host": "localhost"}

        def send(method: str, path: str, body: Any = None) -> Any:
            raw = json.dumps(body).encode() if body is not None else b""
            request = factory.generic(method, path, raw, "application/json", headers=headers)
            return b"".join(application(request.environ, lambda *_: None))

        grain = json.loads(send("POST", "/store", {"content": "warm"}))["grain_id"]
        for title, call in (
            ("GET /grains/{id}", lambda _: send("GET", f"/grains/{grain}")),
            ("POST /store", lambda number: send("POST", "/store", {"content": f"profile {number}"})),
        ):
            call(-1)
            profile = cProfile.Profile()
            profile.enable()
            for number in range(REQUESTS):
                call(number)
            profile.disable()
            print(f"\n{title}, {REQUESTS} requests")
            for order in ("cumulative", "tottime"):
                pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats(order).print_stats(SHOWN)


if __name__ == "__main__":
    main()
