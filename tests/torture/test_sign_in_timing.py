"""How long a refusal takes says nothing about whether somebody has that name."""

from __future__ import annotations

import math
import random
import statistics
import time

import pytest

from tests.instances import Instance
from tests.web_visitor import WebVisitor

pytestmark = pytest.mark.torture
EACH = 200
_MAKE = f"""
from django.contrib.auth.hashers import make_password
from accounts.models import User
shared = make_password("four unrelated words here")
User.objects.bulk_create(
    User(username=f"known-{{number}}", password=shared, is_staff=True) for number in range({EACH})
)
"""


def rank_sum_p(one: list[float], two: list[float]) -> float:
    """Mann-Whitney's test, two-sided, with the normal approximation that holds for this many."""
    ordered = sorted([(value, 0) for value in one] + [(value, 1) for value in two])
    ranks = sum(rank for rank, (_, which) in enumerate(ordered, start=1) if which == 0)
    n, m = len(one), len(two)
    mean, deviation = n * (n + m + 1) / 2, math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(ranks - mean) / deviation / math.sqrt(2))


def test_known_and_unknown_names_take_the_same_time(instance):
    running: Instance = instance().start()
    running.command("shell", "-v", "0", "-c", _MAKE)
    visitor = WebVisitor(running)
    token = visitor.form("/sign-in")
    for number in range(5):  # the first ones warm the process up
        visitor.send("/sign-in", token=token, username=f"warm-{number}", password="wrong wrong wrong")
    names = [(True, f"known-{number}") for number in range(EACH)] + [
        (False, f"other-{number}") for number in range(EACH)
    ]
    random.Random(7).shuffle(names)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for known, name in names:
        began = time.perf_counter()
        answer = visitor.send("/sign-in", token=token, username=name, password="wrong wrong wrong")
        seconds[known].append(time.perf_counter() - began)
        assert answer.status in (401, 429)  # the bound per source is reached on the way: alike for both
    p = rank_sum_p(seconds[True], seconds[False])
    medians = {known: statistics.median(found) * 1000 for known, found in seconds.items()}
    print(f"\nknown {medians[True]:.1f} ms, unknown {medians[False]:.1f} ms (medians of {EACH}), p = {p:.3f}")
    assert p > 0.01
