"""Guard of calls into native code of encoders: process exit waits for running calls.

onnxruntime and tokenizers release the GIL while they compute. Up to Python 3.13 a thread that requests the GIL after
the interpreter began to shut down is terminated inside that call, and terminating a thread inside C++ or Rust aborts
the whole process ("terminate called without an active exception").
"""

from __future__ import annotations

import atexit
import os
import threading

PATIENCE_SECONDS = 30.0  # a call that takes longer is stuck: each is a single step of loading, or one batch of texts


class NativeCalls:
    """Counts running native calls, each inside `with NATIVE:`. After `close` a new one waits until the process ends."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)  # calls of the parent process do not run in the child

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def close(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Block new calls and wait for running ones; False if one still runs after `seconds`."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._running, seconds)


NATIVE = NativeCalls()


@atexit.register
def _close_at_exit() -> None:
    if not NATIVE.close():
        os._exit(0)  # a call is stuck: exit without unwinding its thread
