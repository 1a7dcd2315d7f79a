"""/vitals: every signal with its value, range and line, in numbers too, for whoever may see the space's health"""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Space
from accounts.principals import shell
from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.health import jobs as health_jobs
from memory.health.event_sums import hour_of
from memory.health.models import HourlySum, Reading, SpaceHealth, Warning
from memory.health.signals import SIGNALS_BY_NAME
from tests.dashboard.conftest import Person, browser

MOST_STATEMENTS = 12  # of a whole request, the frame and the session included


@pytest.fixture
def home(people_client) -> Space:
    from accounts import agents

    agents.create_space(shell(), name="home")
    return Space.objects.get(name="home")


@pytest.fixture
def grace(home):
    """A viewer of the space, signed in."""
    return Person("grace", administrator=False, roles={"home": "viewer"}).sign_in()


def words(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def drawn(answer) -> dict:
    """The lines as the script reads them."""
    found = re.search(r'<script id="lines" type="application/json">(.*?)</script>', answer.content.decode())
    assert found
    return json.loads(found[1])


def measured(space: Space, *, hours: int = 2, every: int = 900) -> None:
    """A space that was measured for a while, and in which half of the grains stand alone since an hour."""
    booth.write(health_jobs.ask_to_gather)
    worker.drain()
    now = int(clock.now().timestamp())
    Reading.objects.all().delete()
    Reading.objects.bulk_create(
        Reading(
            space=space,
            at=at,
            signal=name,
            value=0.25 + 0.1 * (at // every % 3),
            low=None,
            high=0.4,
            state="healthy",
            hourly=at % 3600 < every,
        )
        for at in range(now - hours * 3600, now, every)
        for name in SIGNALS_BY_NAME
    )
    condition = SpaceHealth.objects.get(space=space)
    condition.signals["orphan_rate"] |= {"value": 0.5, "state": "high", "severity": "WARNING", "high": 0.15}
    condition.status = "warning"
    condition.replay = {
        "questions": 40,
        "gain": 0.031,
        "at": now,
        **{way: {"hit_rate": 0.75, "ndcg": 0.6} for way in ("without", "others", "own")},
    }
    condition.save()
    moment = clock.now() - timedelta(hours=1)
    Warning.objects.create(
        space=space,
        signal="orphan_rate",
        severity="WARNING",
        value=0.5,
        high=0.15,
        times=2,
        raised_at=moment,
        seen_at=moment,
    )
    hour = hour_of(now)
    for back, name, value in ((1, "judged", 40), (1, "hits", 30), (200, "judged", 10), (200, "hits", 4)):
        HourlySum.objects.update_or_create(space=space, hour=hour - back, name=name, defaults={"value": value})


def test_before_the_first_measurement_it_says_when_there_will_be_one(grace):
    page = grace.get("/vitals")
    assert page.status_code == 200
    assert "No measurements yet" in words(page) and "vitals.js" not in page.content.decode()


def test_every_signal_is_there_in_numbers_and_as_a_line(grace, home):
    measured(home)
    page = grace.get("/vitals")
    text = words(page)
    for name, signal in SIGNALS_BY_NAME.items():
        assert name in text and signal.says in text
    assert "too high" in text and SIGNALS_BY_NAME["orphan_rate"].suggestion in text
    lines = drawn(page)
    assert set(lines) == set(SIGNALS_BY_NAME)
    line = lines["orphan_rate"]
    assert len(line["at"]) == len(line["value"]) == len(line["low"]) == len(line["high"]) == 8
    assert set(line["high"]) == {0.4} and set(line["low"]) == {None}


def test_what_needs_somebody_comes_first(grace, home):
    measured(home)
    cards = re.findall(r'<li class="card vital ([^"]+)" id="(\w+)">', grace.get("/vitals").content.decode())
    assert cards[0] == ("high warning", "orphan_rate")
    assert len(cards) == len(SIGNALS_BY_NAME)


def test_it_shows_warnings_weeks_and_what_learning_is_worth(grace, home):
    measured(home)
    text = words(grace.get("/vitals"))
    assert "Memories without links 2 times WARNING 0.5" in text
    assert "75 % of 40" in text and "40 % of 10" in text
    assert "40 recalls with feedback were repeated" in text and "(nDCG@10) by +0.031" in text


@pytest.mark.parametrize(("over", "points"), [("day", 96), ("week", 168), ("month", 120)])
def test_a_range_has_a_bounded_number_of_points(grace, home, over, points):
    measured(home, hours=30 * 24, every=3600)
    answer = grace.get("/vitals", {"range": over})
    page = answer.content.decode()
    lines = drawn(answer)
    assert 0 < len(lines["hit_rate"]["at"]) <= points + 1
    assert f'href="?range={over}" aria-current="true"' in page


def test_a_range_that_is_none_leads_back(grace, home):
    measured(home)
    answer = grace.get("/vitals", {"range": "'; drop"})
    assert (answer.status_code, answer["Location"]) == (302, "/vitals")


def test_visitors_and_people_of_other_spaces_see_nothing(home, people_client):
    measured(home)
    assert browser().get("/vitals")["Location"].startswith("/sign-in")
    stranger = Person("sam", administrator=False).sign_in()
    assert stranger.get("/vitals")["Location"] == "/"
    from accounts import agents

    agents.create_space(shell(), name="elsewhere")
    other = Person("olga", administrator=False, roles={"elsewhere": "owner"}).sign_in()
    assert "No measurements yet" in words(other.get("/vitals"))


def test_it_costs_the_same_after_a_long_past(grace, home):
    measured(home)

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert grace.get("/vitals", {"range": "month"}).status_code == 200
        return len([one for one in asked.captured_queries if not one["sql"].startswith(("SAVEPOINT", "RELEASE"))])

    statements()  # the first of a session notes that it is in use
    few = statements()
    assert few <= MOST_STATEMENTS
    Warning.objects.all().update(cleared_at=clock.now())
    measured(home, hours=20 * 24, every=3600)
    assert statements() == few


def test_the_overview_says_how_the_space_is_and_leads_there(grace, home):
    assert 'class="number health " href="/vitals"' in grace.get("/").content.decode()
    measured(home)
    page = grace.get("/")
    assert 'class="number health warning" href="/vitals"' in page.content.decode() and "Warning health" in words(page)


def test_an_operator_acknowledges_a_warning_in_the_administration(home, people_client):
    from tests.dashboard.conftest import post

    measured(home)
    row = Warning.objects.get()
    operator = Person("otto", administrator=False, roles={"home": "operator"}).sign_in()
    assert "health warning" in words(operator.get("/"))
    answer = post(operator, f"/admin/health/warning/{row.pk}/do/acknowledge/", reason="an import, it will pass")
    assert answer.status_code == 302, answer.content.decode()[:2000]
    row.refresh_from_db()
    assert row.acknowledged_by == "user:otto"
    viewer = Person("vera", administrator=False, roles={"home": "viewer"}).sign_in()
    assert post(viewer, f"/admin/health/warning/{row.pk}/do/acknowledge/", reason="x").status_code in (403, 404)
