"""A process that ends while another thread is inside the encoder waits for it: it used to abort."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from memory.embedding.encoder import Encoder
from memory.embedding.native_calls import NativeCalls
from tests.packaging.project_files import python

# The thread is inside onnxruntime almost all the time, so the interpreter's end meets it there.
ENDS = """
import threading
from pathlib import Path
from memory.embedding.active_encoder import ProcessEncoder
from memory.embedding.encoder import encode_checked
one, began = ProcessEncoder("all-MiniLM-L6-v2", Path({models!r})), threading.Event()
def encode():
    while True:
        encode_checked(one.encoder(), ["The night train to the north leaves at nine and arrives in the morning. " * 12])
        began.set()
threading.Thread(target=encode, daemon=True).start()
assert began.wait(60)
"""


def test_a_process_that_ends_inside_the_encoder_ends_well(loaded: Callable[[str], Encoder], models: Path) -> None:
    loaded("all-MiniLM-L6-v2")
    done = python(ENDS.format(models=str(models)))
    assert (done.returncode, done.stderr) == (0, "")


def test_close_waits_for_the_call_that_runs_and_lets_no_other_begin() -> None:
    calls, inside, leave, second = NativeCalls(), threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        with calls:
            inside.set()
            leave.wait(60)

    def late() -> None:
        with calls:
            second.set()

    runner = threading.Thread(target=run)
    runner.start()
    assert inside.wait(60) and not calls.close(0)
    threading.Thread(target=late, daemon=True).start()
    leave.set()
    assert calls.close(60)
    runner.join(60)
    assert not second.is_set()
