"""The live and the traces page in a real browser: an event arrives at once and once, a recall is played step by step"""

from __future__ import annotations

import time

import pytest

from tests.browser.house import answered, fit
from tests.browser.test_recall_and_graph import PICKING, chromium, house

__all__ = ["chromium", "house"]
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]

# Every socket the page has, so that a test can cut them; and what the page has ever shown, to see that none came twice.
HANDS = """
window.sockets = [];
const Own = window.WebSocket;
window.WebSocket = class extends Own { constructor(...given) { super(...given); window.sockets.push(this); } };
"""

PAINTED = """() => {
  const canvas = document.querySelector("canvas.pulses");
  return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
}"""


def open_live(house, browser, complaints, **options):
    page = house.open(browser, **options)
    complaints.listen(page)
    page.add_init_script(HANDS)
    house.enter(page)
    page.get_by_role("link", name="Live", exact=True).click()
    page.locator("#live[data-state=live]").wait_for()
    return page


def ask(house, question: str) -> str:
    answer = house.instance.call("POST", "/retrieve", {"query": question})
    assert answer.status == 200, answer.body
    trace = str(answer.json()["trace_id"])
    until = time.monotonic() + 60
    while house.instance.call("GET", f"/traces/{trace}").status != 200:  # it is written behind the answer
        assert time.monotonic() < until
        time.sleep(0.05)
    return trace


def without_picking(complaints) -> None:
    complaints[:] = [said for said in complaints if PICKING not in said]
    answered(complaints)


def test_an_event_arrives_by_itself_and_reads_the_same_after_a_reload(house, browser, complaints):
    page = open_live(house, browser, complaints)
    grain = house.store("Dora keeps bees on the roof")
    page.locator(f"#lines a[href$='{grain}']").wait_for()
    trace = ask(house, "Who keeps bees?")
    recall = page.locator(f"#lines li[data-key$='{trace}']")
    recall.locator("q", has_text="Who keeps bees?").wait_for()
    page.locator("#lines", has_text="finished grains.enrich").wait_for()
    said = recall.locator("[data-part=says]").inner_text()
    store = page.locator(f"#lines li:has(a[href$='{grain}']) p").inner_text()
    fit(page, "Live")
    page.reload()
    page.locator("#live[data-state=live]").wait_for()
    assert recall.locator("[data-part=says]").inner_text() == said
    assert page.locator(f"#lines li:has(a[href$='{grain}']) p").inner_text() == store
    recall.get_by_role("link").click()
    page.wait_for_load_state()
    assert page.inner_text("blockquote") == "Who keeps bees?"
    without_picking(complaints)


def test_what_happens_while_the_line_is_cut_is_there_once_it_is_back(house, browser, complaints):
    page = open_live(house, browser, complaints)
    grains = [house.store("before the break")]
    page.locator(f"#lines a[href$='{grains[0]}']").wait_for()
    page.evaluate("sockets.at(-1).close()")
    page.locator("#live[data-state=broken]").wait_for()
    grains += [house.store(f"during the break {number}") for number in range(3)]
    traces = [ask(house, f"What happened during break {number}?") for number in range(2)]
    page.locator("#live[data-state=live]").wait_for()
    grains.append(house.store("after the break"))
    page.locator(f"#lines a[href$='{grains[-1]}']").wait_for()
    assert page.evaluate("sockets.length") >= 2
    for grain in grains:
        assert page.locator(f"#lines a[href$='/grain/{grain}']").count() == 1, "neither missed nor twice"
    for trace in traces:
        assert page.locator(f"#lines li[data-key$='{trace}']").count() == 1
    keys = page.eval_on_selector_all("#lines li", "lines => lines.map((line) => line.dataset.key)")
    assert len(keys) == len(set(keys))
    without_picking(complaints)


def test_a_pause_holds_lines_back_and_counts_them(house, browser, complaints):
    page = open_live(house, browser, complaints)
    page.get_by_role("button", name="Pause").click()
    grains = [house.store(f"while paused {number}") for number in range(2)]
    page.locator("#missed", has_text="since you paused").wait_for()
    assert page.locator(f"#lines a[href$='{grains[0]}']").count() == 0
    page.wait_for_function("() => Number.parseInt(document.getElementById('missed').textContent) >= 2")
    page.get_by_role("button", name="Continue").click()
    for grain in grains:
        assert page.locator(f"#lines a[href$='{grain}']").count() == 1
    assert page.locator("#missed").is_hidden()
    without_picking(complaints)


def test_filters_hide_kinds_that_come_and_that_were_there(house, browser, complaints):
    page = open_live(house, browser, complaints)
    for label in ("New memories", "Jobs"):
        page.get_by_label(label).uncheck()
    grain = house.store("out of sight")
    trace = ask(house, "What is in sight?")
    page.locator(f"#lines li[data-key$='{trace}']").wait_for()
    hidden = page.locator(f"#lines li:has(a[href$='{grain}'])")
    assert hidden.count() == 1 and hidden.is_hidden()
    page.get_by_label("New memories").check()
    assert hidden.is_visible()
    without_picking(complaints)


@pytest.mark.parametrize("address", ["/live", "/graph"])
def test_touched_grains_pulse_on_the_graph(house, browser, complaints, address):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, address)
    page.locator("#graph[data-state=drawn]").wait_for()
    page.locator("#live[data-state=live], #graph[data-feed=live]").first.wait_for()
    ask(house, "Who visited the garden in Porto?")
    page.locator("#graph:is([data-lit='5'], [data-lit='4'])").wait_for()
    assert page.evaluate(PAINTED)
    page.locator("#graph[data-lit='0']").wait_for()  # without motion a ring stands for a while and is gone then
    without_picking(complaints)


def test_the_live_page_is_a_list_without_javascript(house, browser):
    grain = house.store("read without a script")
    page = house.open(browser, java_script_enabled=False)
    house.enter(page)
    house.go(page, "/live")
    assert page.locator(f"#lines a[href$='{grain}']").is_visible()
    for label in ("Recalls", "Jobs"):
        page.get_by_label(label).uncheck()
    page.get_by_role("button", name="Show these").click()
    assert "recalled" not in page.inner_text("#lines") and page.locator(f"#lines a[href$='{grain}']").is_visible()


def test_a_recall_is_played_stepped_and_read(house, browser, complaints):
    trace = ask(house, "Who plays the violin with Anna in Lisbon?")
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Traces", exact=True).click()
    fit(page, "Traces")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator(f"a[href$='{trace}']").click()
    replay = page.locator("#replay")
    page.locator("#replay[data-scene]").wait_for()  # its script has begun
    last = page.locator("#scenes > li").count()
    assert replay.get_attribute("data-scene") == str(last) and last >= 5
    page.get_by_role("button", name="First step").click()
    assert page.locator(".spot:visible").count() < page.locator(".spot").count()
    for expected in range(2, last + 1):
        page.keyboard.press("ArrowRight")
        assert replay.get_attribute("data-scene") == str(expected)
        assert page.locator("#scenes > li[aria-current=step]").count() == 1
    assert page.locator(".rank:visible").first.is_visible()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Play").click()
    page.locator("#replay[data-scene='2']").wait_for()
    page.get_by_role("button", name="Pause").click()
    fit(page, "Trace, step by step")
    without_picking(complaints)


def test_a_recall_is_numbered_text_without_javascript(house, browser):
    trace = ask(house, "Who plays the violin with Anna in Lisbon?")
    page = house.open(browser, java_script_enabled=False)
    house.enter(page)
    house.go(page, f"/traces/{trace}")
    titles = page.locator("#scenes h3").all_inner_texts()
    assert titles[0] == "Query analysed" and titles[-1] == "Final order"
    assert (
        page.locator("#player").is_hidden() and page.locator(".spot:visible").count() == page.locator(".spot").count()
    )
    assert all(one.is_visible() for one in page.locator("#scenes li li").all())
