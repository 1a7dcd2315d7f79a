"""Bounded load on a running instance: many client threads, each with a persistent connection of its own."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.instances import Instance


@dataclass(frozen=True)
class Call:
    token: str
    body: Any = None
    method: str = "POST"
    path: str = "/store"
    key: str | None = None  # idempotency key


@dataclass(frozen=True)
class Reply:
    call: Call
    sent: float
    received: float
    status: int
    retry_after: str | None
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def seconds(self) -> float:
        return self.received - self.sent


def send(instance: Instance, call: Call, line: http.client.HTTPConnection) -> Reply:
    sent = time.time()
    headers = {"Idempotency-Key": call.key} if call.key else None
    answer = instance.call(call.method, call.path, call.body, token=call.token, line=line, headers=headers)
    return Reply(call, sent, time.time(), answer.status, answer.headers.get("retry-after"), answer.body)


def fire(instance: Instance, calls: Iterable[Call], *, threads: int) -> list[Reply]:
    """Send every call once, `threads` at a time; a broken connection fails the test."""
    waiting: queue.SimpleQueue[Call] = queue.SimpleQueue()
    for call in calls:
        waiting.put(call)
    replies: list[Reply] = []

    def client() -> None:
        line = instance.connection()
        try:
            while True:
                try:
                    call = waiting.get_nowait()
                except queue.Empty:
                    return
                replies.append(send(instance, call, line))
        finally:
            line.close()

    together(threads, lambda _: client())
    return replies


def together(count: int, work: Callable[[int], None]) -> None:
    """Run `work(0..count-1)` in threads that begin at the same moment; the first failure is raised."""
    gate = threading.Barrier(count)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            gate.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    crowd = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    if failures:
        raise failures[0]
