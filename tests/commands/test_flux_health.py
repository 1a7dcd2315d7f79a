"""flux_health"""

from __future__ import annotations

from datetime import timedelta

from accounts.models import AuditEntry, Space
from fluxcore import clock
from memory.health.models import SpaceHealth, Warning
from memory.management.commands.flux_health import sparkline


def warned(severity: str, status: str) -> None:
    space = Space.objects.get(name="main")
    now = clock.now()
    SpaceHealth.objects.update_or_create(space=space, defaults={"status": status, "measured_at": now})
    Warning.objects.create(
        space=space,
        signal="orphan_rate",
        severity=severity,
        value=0.4,
        high=0.15,
        times=1,
        raised_at=now - timedelta(hours=1),
        seen_at=now,
    )


def test_it_measures_and_shows_every_signal_with_its_range(run):
    run("flux_space", "create", "main")
    assert "not measured yet" in run("flux_health").text
    said = run("flux_health", "--measure")
    assert said.status == 0
    words = said.text.split()
    assert "healthy" in words and "retrieval_success_rate" in words and "≥" in words


def test_scripts_read_json(run):
    run("flux_space", "create", "main")
    found = run("flux_health", "--measure", "--json").json()["spaces"]["main"]
    assert set(found) == {
        "status",
        "signals",
        "active_warnings",
        "caller_feedback",
        "caller_provenance",
        "learning",
        "computed_at",
    }
    assert len(found["signals"]) == 18


def test_it_ends_by_how_bad_it_is(run):
    run("flux_space", "create", "main")
    assert run("flux_health").status == 0
    warned("WARNING", "warning")
    said = run("flux_health", "--space", "main")
    assert said.status == 1 and "WARNING orphan_rate" in said.text and "flux_reembed" in said.text
    Warning.objects.update(severity="CRITICAL")
    SpaceHealth.objects.update(status="critical")
    assert run("flux_health").status == 2


def test_a_known_warning_is_acknowledged_on_the_chain(run):
    run("flux_space", "create", "main")
    warned("WARNING", "warning")
    assert run("flux_health", "--acknowledge", "orphan_rate").status == 65
    said = run("flux_health", "--space", "main", "--acknowledge", "orphan_rate", "--reason", "an import")
    assert said.status == 0 and "acknowledged by shell:" in said.text
    assert AuditEntry.objects.get(action="health.acknowledge").reason == "an import"
    assert run("flux_health", "--space", "main", "--acknowledge", "hit_rate").status != 0


def test_a_line_goes_from_the_smallest_to_the_largest():
    assert sparkline([0.0, None, 0.5, 1.0]) == "▁ ▅█"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([]) == sparkline([None]).strip() == ""
