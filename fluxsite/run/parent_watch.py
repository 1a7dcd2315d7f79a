"""Ends a server process with its supervisor: otherwise it would keep the port and serve old code."""

from __future__ import annotations

import os
import signal
import threading
import time

CHECK_SECONDS = 0.5


def exit_with_parent() -> None:
    """Start a thread that ends this process when the parent named by FLUX_LEASH is gone."""
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
