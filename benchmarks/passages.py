"""What passages cost, in processor time of one process: medians of interleaved rounds.

Indexing a file of 1,000 passages against storing the same texts as memories; recall in a space while another space has
such a file, against while it has none, the file being made and erased in turns; and recall of 2,000 memories beside
5,000 files of 4 kB in the same space, against the same memories alone: with the files not recallable, and with all
their passages in the index.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.home import prepare

ROUNDS, PASSAGES, RECALLS = 5, 1_000, 100
MEMORIES, FILES, FILE_BYTES = 2_000, 5_000, 4_096
_WORDS = ("garden", "bean", "water", "fence", "ferry", "office", "winter", "bridge", "market", "copper", "violin")


def main() -> None:
    prepare()
    with_files, plain = _spaces()
    _store(plain, _texts(0))
    indexed, stored, without, beside = [], [], [], []
    for number in range(1, ROUNDS + 2):  # the first round warms up
        texts = _texts(number)
        without.append(_recalls(plain))
        indexed.append(_index(with_files, f"{number}.md", texts))
        beside.append(_recalls(plain))
        stored.append(_store(_space(f"plain {number}"), texts))
        _remove(with_files, f"{number}.md")
    rows = [
        _row(indexed[1:], stored[1:], f"index {PASSAGES:,} passages ÷ store them as memories", "≤ 1.1", 1e3, "ms"),
        _row(
            beside[1:], without[1:], f"recall beside {PASSAGES:,} passages of another space ÷ none", "≤ 1.1", 1e6, "µs"
        ),
    ]
    print(json.dumps([*rows, *_beside_files()]))


def _beside_files() -> list[dict[str, Any]]:
    """Rounds of a space with memories alone and of one with files too take turns."""
    from memory.artifacts import files, stores
    from memory.artifacts.models import File, Store

    alone, beside = _space("alone"), _space("beside")
    for who in (alone, beside):
        for number in range(MEMORIES // PASSAGES):
            _store(who, _texts(100 + number))
    stores.create_store(beside, key="papers")
    for number in range(FILES):
        text = "\n\n".join(_texts(1_000 + number, FILE_BYTES // 256))[:FILE_BYTES]
        files.put_file(beside, store="papers", path=f"{number // 100}/{number}.md", content=files.of_text(text))
    apart = _take_turns(beside, alone)
    Store.objects.filter(key="papers").update(recallable=True)
    for file in File.objects.select_related("store").filter(store__key="papers"):
        _index_file(beside.space, file)
    together = _take_turns(beside, alone)
    what = f"recall of {MEMORIES:,} memories beside {FILES:,} files of 4 kB in the same space ÷ alone"
    return [
        _row(*apart, f"{what}, files not recallable", "≤ 1.1", 1e6, "µs"),
        _row(
            *together, f"{what}, files recallable: {FILES * FILE_BYTES // 1024:,} kB more are searched", "", 1e6, "µs"
        ),
    ]


def _take_turns(one: Any, other: Any) -> tuple[list[float], list[float]]:
    rounds = [(_recalls(one), _recalls(other)) for _ in range(ROUNDS + 1)][1:]
    return [first for first, _ in rounds], [second for _, second in rounds]


def _texts(seed: int, count: int = PASSAGES) -> list[str]:
    chance = random.Random(seed)
    return [
        f"Note {seed}-{number}: " + " ".join(chance.choices(_WORDS, k=36)) + f" in {chance.randint(1900, 2026)}."
        for number in range(count)
    ]


def _space(name: str) -> Any:
    from accounts import agents
    from accounts.principals import find_space, shell

    name = name.replace(" ", "-")
    agents.create_space(shell(), name=name)
    return shell(find_space(name))


def _spaces() -> tuple[Any, Any]:
    from memory.artifacts import stores

    with_files = _space("files")
    stores.create_store(with_files, key="notes", recallable=True)
    return with_files, _space("plain")


def _index(who: Any, path: str, texts: list[str]) -> float:
    """Seconds of the worker's part. Encoding is left out: it is the same for both."""
    from memory.artifacts import files
    from memory.artifacts.models import File

    files.put_file(who, store="notes", path=path, content=files.of_text("\n\n".join(texts)))

    file = File.objects.select_related("store").get(path=path)
    seconds = _seconds(lambda: _index_file(who.space, file))
    _check_count(file, len(texts))
    return seconds


def _index_file(space: int, file: Any) -> None:
    from fluxcore.writes import booth
    from memory.passages import indexing

    found = indexing._passages(file)
    booth.write(lambda: indexing._write_passages(space, file, found))


def _remove(who: Any, path: str) -> None:
    """Delete a file, and erase its passages as the worker does when the deletion can be undone no more."""
    from fluxcore.writes import booth
    from memory.artifacts import files
    from memory.artifacts.models import File
    from memory.passages import indexing, upkeep
    from memory.passages.models import GrainSource

    files.delete_file(who, store="notes", path=path)
    file = File.objects.select_related("store").get(path=path)
    booth.write(lambda: indexing._write_passages(who.space, file, []))
    upkeep._forget_sources(GrainSource.objects.filter(file=file.pk))
    _check_count(file, 0)


def _check_count(file: Any, wanted: int) -> None:
    """Refuse to measure anything else than so many passages."""
    from memory.passages.models import GrainSource

    count = GrainSource.objects.filter(file=file.pk).count()
    if count != wanted:
        raise RuntimeError(f"{file.path} has {count:,} passages instead of {wanted:,}.")


def _store(who: Any, texts: list[str]) -> float:
    from memory.grains import store

    def work() -> None:
        for start in range(0, len(texts), 100):
            store.store_batch(who, items=[{"content": text} for text in texts[start : start + 100]])

    return _seconds(work)


def _recalls(who: Any) -> float:
    from memory.recall import recall

    asked = [f"Which note is about the {first} and the {second}?" for first in _WORDS for second in _WORDS][:RECALLS]
    return _seconds(lambda: [recall.recall(who, query=query) for query in asked]) / RECALLS


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _row(ours: list[float], theirs: list[float], what: str, goal: str, factor: float, unit: str) -> dict[str, Any]:
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    measured = f"{statistics.median(ours) * factor:.0f} ÷ {statistics.median(theirs) * factor:.0f} {unit} CPU"
    return {"what": what, "ratio": ratio, "goal": goal, "measured": measured, "rounds": ours}


if __name__ == "__main__":
    main()
