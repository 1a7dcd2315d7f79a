"""The rules by themselves: numbers in, a verdict out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.grains.lifecycle import rules
from memory.grains.lifecycle.rules import GrainFacts

USER_CONFIRMED, USER_STATED, AI_STATED = 0, 1, 2
FRESH = GrainFacts("active", 0, False, AI_STATED, strongest=0.5, unused_days=0.0)
FAINT = replace(FRESH, strongest=0.049, unused_days=90.0)


def after(known: GrainFacts) -> str | None:
    found = rules.next_status(known)
    return found.after if found else None


def test_what_leads_somewhere_or_was_of_use_stays_active():
    assert after(FRESH) is None
    assert after(replace(FAINT, strongest=0.05)) is None
    assert after(replace(FAINT, unused_days=89.9)) is None


def test_what_nothing_leads_to_and_nobody_needed_becomes_dormant_and_says_by_which_numbers():
    found = rules.next_status(FAINT)
    assert (found.after, found.why) == ("dormant", "faded")
    assert found.numbers == {"strongest": 0.049, "floor": 0.05, "unused_days": 90.0, "limit": 90.0}


@pytest.mark.parametrize("kept", [{"pinned": True}, {"authority": USER_STATED}, {"authority": USER_CONFIRMED}])
def test_what_a_person_said_or_pinned_never_fades(kept):
    assert after(replace(FAINT, unused_days=1e6, strongest=0.0, **kept)) is None


def test_dormant_for_thirty_days_is_archived():
    dormant = replace(FAINT, status="dormant")
    assert after(replace(dormant, status_days=29.9)) is None
    assert after(replace(dormant, status_days=30.0)) == "archived"
    assert after(replace(dormant, status_days=None)) is None, "somebody did that, and a rule does not go on from it"


def test_three_corrections_quarantine():
    assert after(replace(FRESH, judged=3, corrections=2)) is None
    assert after(replace(FRESH, judged=3, corrections=3)) == "quarantined"


def test_less_than_a_fifth_useful_over_ten_judged_recalls_quarantines():
    assert after(replace(FRESH, judged=9, useful=0)) is None
    assert after(replace(FRESH, judged=10, useful=2)) is None
    assert after(replace(FRESH, judged=10, useful=1)) == "quarantined"
    assert rules.next_status(replace(FRESH, judged=10, useful=1)).numbers["usefulness"] == 0.1


@pytest.mark.parametrize("kept", [{"pinned": True}, {"authority": USER_CONFIRMED}])
def test_what_a_person_pinned_or_confirmed_is_never_quarantined(kept):
    assert after(replace(FRESH, judged=99, corrections=99, **kept)) is None


def test_quarantine_by_rule_ends_where_use_can_bring_it_back():
    held = replace(FRESH, status="quarantined", corrections=3)
    assert after(replace(held, status_days=29.0)) is None
    assert after(replace(held, status_days=30.0)) == "archived"


def test_quarantine_by_rule_ends_when_what_spoke_for_it_is_taken_back():
    held = replace(FRESH, status="quarantined", judged=10, status_days=1.0)
    assert after(held) is None
    found = rules.next_status(replace(held, judged=9))
    assert (found.after, found.why) == ("active", "no reason left")
    assert after(replace(held, judged=0, status_days=None)) is None, "somebody did that, and a rule does not undo it"


def kind(known: GrainFacts) -> str | None:
    found = rules.next_decay_class(known)
    return found.after if found else None


def test_useful_through_three_clusters_is_core_and_through_fewer_again_working():
    assert kind(replace(FRESH, spread=2)) is None
    assert kind(replace(FRESH, spread=3)) == "core"
    assert kind(replace(FRESH, spread=3, class_by_hand=True)) is None, "somebody made it a working one"
    core = replace(FRESH, decay_class=1, class_by_rule=True, useful_days=1.0)
    assert kind(replace(core, spread=3)) is None
    assert kind(replace(core, spread=2)) is None, "no flicker at the edge"
    assert kind(replace(core, spread=1)) == "working"
    assert kind(replace(core, spread=3, useful_days=90.0)) == "working"
    assert kind(replace(core, spread=0, class_by_rule=False)) is None, "a person made it core"


def test_what_is_not_active_is_not_promoted():
    assert kind(replace(FRESH, status="archived", spread=9)) is None


def test_a_link_is_dead_below_the_floor_and_unused_for_three_days():
    now = 10**9
    hours = np.array([0, 71, 560, 560, 560, 10**7]) * 3600
    weight = np.array([0.01, 0.01, 0.5, 0.51, 0.5, 0.95], np.float32)
    classes = np.array([0, 0, 0, 0, 1, 1])
    found = rules.dead_conduits(weight, used=now - hours, made=np.full(6, now - 10**8), decay_class=classes, now=now)
    assert found.tolist() == [False, False, True, False, False, True]


def test_a_window_is_over_by_the_time_lived_whatever_the_clock_says():
    day = 86_400.0
    assert not rules.is_deletion_due(lived=120.0, seconds=3650 * day)
    assert not rules.is_deletion_due(lived=day, seconds=day - 1)
    assert rules.is_deletion_due(lived=day, seconds=day)
    assert rules.is_deletion_due(lived=day, seconds=-3650 * day), "the clock was set back: time lived counts"


def test_pages_show_stored_reasons_in_plain_words():
    assert rules.reason_text("faded") == "link decayed"
    assert rules.reason_text("no reason left") == "restored by feedback"
    assert rules.reason_text("corrected") == "corrected", "a reason without other words is shown as it is stored"
