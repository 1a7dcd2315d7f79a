"""Whatever the model server does, the text is stored, found by its words, believed no more, and looked at later"""

from __future__ import annotations

import pytest

from fluxcore import config
from memory.extraction.ollama_client import MAX_BYTES
from memory.grains.models import Grain
from tests.extraction.ollama import MODES, redirects, well

SAID = "The heron nests by the old mill. Ada counted four eggs."
# Only these run into the time-out, so only these get a short one: a busy machine takes its time over the others.
NEVER_ENDS = {"hangs", "trickles", "trickles_headers"}
# An answer came, so another try may go better.
TALKS = {"html", "empty", "cut", "prose", "floods", "wrong_types", "commands", "invents"}


@pytest.mark.parametrize("mode", [*MODES, "redirects"])
def test_a_text_survives_a_server_that_fails(desk, mode, configure):
    patience = config.current().LLM_TIMEOUT_SECONDS
    if mode in NEVER_ENDS:
        configure(LLM_TIMEOUT_SECONDS=0.3)
    desk.model.behave({**MODES, "redirects": redirects}[mode])
    answer = desk.hand_over(SAID, provenance="ai_stated")
    desk.work()
    row = desk.row(answer["grain_id"])
    assert (answer["extraction"], row.state, row.tries) == ("waiting", "waiting", int(mode in TALKS))
    assert row.problem and "heron" not in row.problem
    assert desk.memory.texts("heron nests") == [SAID]
    assert desk.derived() == []
    # One retry for an answer that cannot be used; none where nobody answers.
    assert len(desk.model.calls) == (2 if mode in TALKS else 0 if mode == "refuses" else 1)
    assert set(desk.model.paths) <= {"/api/chat"}
    configure(LLM_TIMEOUT_SECONDS=patience)
    desk.model.behave(well)
    desk.later()
    assert desk.row(answer["grain_id"]).state == "done"
    assert {grain.text for grain in desk.derived()} == {"The heron nests by the old mill.", "Ada counted four eggs."}
    assert {grain.origin for grain in Grain.objects.exclude(text=SAID)} == {"ai_inferred"}


def test_a_flood_is_cut_at_its_beginning(desk):
    desk.model.behave(MODES["floods"])
    desk.hand_over(SAID)
    desk.work()
    # Two calls; what the sockets between us hold is sent and never read.
    assert desk.model.flooded < 2 * (MAX_BYTES + 12 * 1024 * 1024)


def test_there_are_fourteen_ways():
    assert len(MODES) == 14
