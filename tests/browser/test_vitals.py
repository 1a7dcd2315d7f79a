"""The vitals page in a real browser: lines over their bands, a switch of range, on a desk and on a phone"""

from __future__ import annotations

import pytest

from tests.browser.house import fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]

# A day of readings, a warning that is open and one that cleared.
_PAST = """
import math
from datetime import timedelta
from accounts.models import Space
from fluxcore.work import worker
from memory.health import jobs as health_jobs
from fluxcore.writes import booth
from fluxcore import clock

from memory.health.models import SpaceHealth, Reading, HourlySum, Warning
from memory.health.event_sums import hour_of
from memory.health.signals import SIGNALS_BY_NAME
booth.write(health_jobs.ask_to_gather)
worker.drain()
space = Space.objects.get(name="main")
now = clock.now()
end = int(now.timestamp())
Reading.objects.all().delete()
shapes = {"orphan_rate": (0.1, 0.13, None, 0.15), "retrieval_success_rate": (0.75, 0.12, 0.5, None),
          "avg_conduit_weight": (0.42, 0.05, 0.15, 0.75), "highway_count": (14, 3, 1, None),
          "avg_hops_per_retrieval": (1.3, 0.4, None, 4), "learning_gain": (0.04, 0.01, -0.02, None)}
made = []
for at in range(end - 30 * 86400, end, 3600):
    for number, name in enumerate(SIGNALS_BY_NAME):
        middle, swing, low, high = shapes.get(name, (0.2, 0.05, 0, 0.4))
        value = middle + swing * math.sin(at / 9000 + number)
        if name == "orphan_rate" and at > end - 30000:
            value += 0.15
        made.append(Reading(space=space, at=at, signal=name, value=value, low=low, high=high, state="healthy",
                            hourly=True))
Reading.objects.bulk_create(made)
condition = SpaceHealth.objects.get(space=space)
for one in made[-len(SIGNALS_BY_NAME):]:
    condition.signals[one.signal] |= {"value": one.value, "low": one.low, "high": one.high, "state": "healthy"}
condition.signals["orphan_rate"] |= {"value": 0.27, "state": "high", "severity": "WARNING"}
condition.signals["highway_count"] |= {"value": 3, "state": "warming"}
condition.status = "warning"
score = lambda hits, ndcg: {"hit_rate": hits, "ndcg": ndcg}
condition.replay = {"questions": 200, "gain": 0.041, "at": end, "without": score(0.71, 0.602),
                    "others": score(0.76, 0.643), "own": score(0.93, 0.902)}
condition.save()
Warning.objects.create(space=space, signal="fallback_trigger_rate", severity="CRITICAL", value=0.91, high=0.4, times=1,
                       raised_at=now - timedelta(days=9), seen_at=now - timedelta(days=8),
                       cleared_at=now - timedelta(days=8), acknowledged_by="user:ada")
Warning.objects.create(space=space, signal="orphan_rate", severity="WARNING", value=0.27, high=0.15, times=2,
                       raised_at=now - timedelta(hours=7), seen_at=now)
for week, (judged, hits) in enumerate([(120, 96), (90, 66), (100, 71), (40, 24)]):
    for name, value in (("judged", judged), ("hits", hits)):
        HourlySum.objects.create(space=space, hour=hour_of(end) - week * 168 - 1, name=name, value=value)
for name, value in (("answered", 30), ("judged", 21)):
    HourlySum.objects.create(space=space, who="agent:helper", hour=hour_of(end), name=name, value=value)
"""


@pytest.fixture(scope="module")
def house(memory_house):
    memory_house.instance.command("shell", "-v", "0", "-c", _PAST)
    return memory_house


def test_lines_are_drawn_and_the_range_is_switched(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Warning health").click()
    fit(page, "Vitals")
    assert page.locator(".vital").count() == 18
    assert page.locator(".chart canvas").count() == 18
    assert page.locator(".vital").first.get_attribute("id") == "orphan_rate"
    assert not page.locator("#numbers table").is_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    usual = page.locator("#orphan_rate .reading").inner_text()
    page.locator("#orphan_rate .chart").hover()
    assert " at " in page.locator("#orphan_rate .reading").inner_text() != usual
    for name in ("Week", "Month"):
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_load_state()
        assert page.locator(".ranges [aria-current]").inner_text() == name
        assert page.locator(".chart canvas").count() == 18
    fit(page, "Vitals")
    # What is drawn follows the card when the window is made smaller.
    width = "document.querySelector('.chart canvas').getBoundingClientRect().right <= innerWidth"
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(width)
    assert complaints == []


def test_without_javascript_it_is_a_table(house, browser, complaints):
    page = house.open(browser, java_script_enabled=False)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/vitals?range=week")
    assert page.locator("#numbers table tbody tr").count() == 18
    assert page.locator("#numbers table").is_visible() and not page.locator(".chart").first.is_visible()
    assert "orphan_rate" in page.locator("#numbers").inner_text()
    assert complaints == []
