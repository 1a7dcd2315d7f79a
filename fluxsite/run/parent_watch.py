"""A server process must not outlive the supervisor that started it: it would keep the port and serve stale code."""

from __future__ import annotations

import os
import signal
import threading
import time

CHECK_SECONDS = 0.5


def exit_with_parent() -> None:
    """End this process soon after its parent is gone. FLUX_LEASH names the parent, which may be dead already."""
    parent = int(os.environ.get("FLUX_LEASH") or 0)
    if not parent:
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        os._exit(1)

    threading.Thread(target=watch, name="leash", daemon=True).start()
