"""Test helper for concurrent callers: threads that start together and close their own connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Call `work(0)` … `work(count - 1)` at the same moment; results or exceptions, in order."""
    found: list[Any] = [None] * count
    gate = threading.Barrier(count)

    def one(number: int) -> None:
        gate.wait(30)
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return found
