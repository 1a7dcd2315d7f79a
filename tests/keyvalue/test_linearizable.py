"""The checker itself: what it must let through, and what it must catch."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.keyvalue.linearizable import Call, Key, linearizable, step


def test_calls_that_overlap_may_have_happened_in_either_order():
    write = Call(0, 3, "cas", 0, "a", ("written", 1, None))
    assert linearizable([write, Call(1, 2, "read", answer=("read", 0, None))])
    assert linearizable([write, Call(1, 2, "read", answer=("read", 1, "a"))])
    assert not linearizable([write, Call(4, 5, "read", answer=("read", 0, None))]), "a stale read"


def test_one_version_has_one_winner():
    winner = Call(0, 9, "cas", 0, "a", ("written", 1, None))
    assert not linearizable([winner, Call(0, 9, "cas", 0, "b", ("written", 1, None))])
    assert linearizable([winner, Call(0, 9, "cas", 0, "b", ("conflict", 1, None))])


def test_a_version_does_not_come_again_after_a_delete():
    history = [
        Call(0, 1, "cas", 0, "a", ("written", 1, None)),
        Call(2, 3, "delete", answer=("deleted", 1, None)),
    ]
    assert linearizable([*history, Call(4, 5, "cas", 0, "b", ("written", 2, None))])
    assert not linearizable([*history, Call(4, 5, "cas", 0, "b", ("written", 1, None))])


def test_what_was_never_answered_may_have_happened_or_not():
    lost = Call(0, 1, "cas", 0, "a")
    assert linearizable([lost, Call(2, 3, "read", answer=("read", 0, None))])
    assert linearizable(
        [lost, Call(2, 3, "read", answer=("read", 0, None)), Call(4, 5, "read", answer=("read", 1, "a"))]
    )
    back = [Call(2, 3, "read", answer=("read", 1, "a")), Call(4, 5, "read", answer=("read", 0, None))]
    assert not linearizable([lost, *back])


def made(seed: int, length: int = 300) -> list[Call]:
    """A history that did happen one after the other, with answers that came late."""
    chance, key, found = random.Random(seed), Key(), []
    for number in range(length):
        kind = chance.choices(["read", "cas", "delete"], [4, 5, 1])[0]
        expected = key.version if chance.random() < 0.5 else max(0, key.version - 1)
        after = step(key, Call(0, 0, kind, expected, number))
        said = {"read": "read", "delete": "deleted" if key.version else "nothing"}.get(
            kind, "written" if key.version == expected else "conflict"
        )
        version = after.version if said == "written" else key.version
        answer = (said, version, key.now[1] if kind == "read" else None)
        begin, end = number - chance.random() * 4, number + chance.random() * 4
        found.append(Call(begin, end, kind, expected, number, answer))
        key = after
    return found


def test_true_histories_pass_and_stale_reads_are_caught():
    caught = 0
    for seed in range(20):
        history = made(seed)
        assert linearizable(history)
        reads = [n for n, one in enumerate(history) if one.kind == "read" and one.answer[1] > 3]
        at = reads[len(reads) // 2]
        history[at] = replace(history[at], answer=("read", history[at].answer[1] - 3, "stale"))
        caught += not linearizable(history)
    assert caught == 20
