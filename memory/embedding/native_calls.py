"""Calls into the encoder's native code, which the end of the process waits for.

onnxruntime and tokenizers give the interpreter's lock back while they compute. Up to Python 3.13 a thread that asks
for the lock again after the interpreter began to end is ended inside that call, and ending a thread inside C++ or Rust
aborts the whole process ("terminate called without an active exception").
"""

from __future__ import annotations

import atexit
import os
import threading

PATIENCE_SECONDS = 30.0  # a call that takes longer is stuck: each is a single step of loading, or one batch of texts


class NativeCalls:
    """`with NATIVE:` around a call. After `close` nobody begins one: such a thread waits and ends with the process."""

    def __init__(self) -> None:
        self._open()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._open)  # calls of the parent process are not this one's

    def _open(self) -> None:
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
        """Let no further call begin and wait for those that run; False if one still runs after that."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._running, seconds)


NATIVE = NativeCalls()


@atexit.register
def _at_the_end() -> None:
    if not NATIVE.close():
        os._exit(0)  # a call is stuck: leaving at once ends its thread without unwinding it
