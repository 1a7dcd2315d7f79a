"""Watcher that ends this process when the client that started it is gone."""

from __future__ import annotations

import os
import threading
import time
from functools import cache

LOOK_EVERY = 0.5


@cache  # one watcher for the whole process
def end_with_parent() -> None:
    """Start the watcher. Input alone is no sign: a killed client's pipe stays open while another process has it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        os._exit(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()
