"""The recall and the graph page in a real browser: asked, drawn, clicked, on a desk and on a phone"""

from __future__ import annotations

import base64
import re
import time

import pytest

from tests.browser.house import answered, fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]  # one instance serves these pages

# How many colours a picture has that are each seen often: a blank stage has one or two.
COLOURS = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const seen = new Map();
  const { data } = context.getImageData(0, 0, image.width, image.height);
  for (let at = 0; at < data.length; at += 4) {
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    seen.set(colour, (seen.get(colour) || 0) + 1);
  }
  return [...seen.values()].filter((count) => count > 200).length;
}"""
# The driver's own remark about the one pixel that is read to see which node the pointer is on.
PICKING = "GPU stall due to ReadPixels"
FACTS = [
    *(f"Anna visited the garden in Porto on day {number}" for number in range(12)),
    *(f"Ben repaired the lighthouse of Oslo with crew {number}" for number in range(12)),
    "Anna works as a nurse in Lisbon",
    "Ben plays the violin with Anna in Lisbon",
]


@pytest.fixture(scope="module")
def chromium(drawing_chromium):
    return drawing_chromium


@pytest.fixture(scope="module")
def house(memory_house):
    """It knows the facts, once: to store them again changes nothing."""
    items = [{"content": text, "session": "talk", "speaker": text.split()[0]} for text in FACTS]
    answer = memory_house.instance.call("POST", "/store/batch", {"items": items})
    assert answer.status == 200, answer.body
    memory_house.instance.command("flux_clusters", "run", "--space", "main")
    return memory_house


def ask(page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Recall", exact=True).click()
    page.wait_for_load_state()


def colours(page) -> int:
    """After the frame that draws."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    picture = base64.b64encode(page.locator("#stage").screenshot()).decode()
    return int(page.evaluate(COLOURS, picture))


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_question_is_answered_with_bars_with_and_without_javascript(house, browser, complaints, script):
    page = house.open(browser, java_script_enabled=script)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Recall", exact=True).click()
    ask(page, "Where does Anna work as a nurse?")
    first = page.locator(".grain").first
    assert "Anna works as a nurse in Lisbon" in first.inner_text() and "Returned because of" in first.inner_text()
    assert first.locator("mark").count() >= 2
    first.get_by_text("Score details").click()
    widths = [bar.bounding_box()["width"] for bar in first.locator(".parts .fill").all()]
    assert len(widths) >= 2 and max(widths) > 50 and widths[0] == max(widths)
    assert "%" in page.inner_text("#confidence") and "nurse" not in page.url
    if script:
        fit(page, "Recall")
    # The receipt is written behind the answer: one of the next pages has it.
    until = time.monotonic() + 60
    house.go(page, "/recall")
    while not page.locator(".asked", has_text="Where does Anna work as a nurse?").count():
        assert time.monotonic() < until
        page.wait_for_timeout(100)
        house.go(page, "/recall")
    answered(complaints)


def test_every_state_of_the_recall_page_can_be_read_on_any_screen(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/recall")
    fit(page, "Recall")
    page.locator(".bounds summary").click()
    page.get_by_label("Tags").fill("nowhere")
    ask(page, "Anna in Lisbon")
    assert "No results" in page.inner_text("main")
    fit(page, "Recall")
    page.get_by_label("Tags").fill("")
    ask(page, "Anna in Lisbon")
    for summary in page.locator(".way summary").all():
        summary.click()
    fit(page, "Recall")
    page.get_by_role("link", name="Trace of this recall").click()
    fit(page, "Trace of a recall")
    page.get_by_role("button", name="Recall again").click()
    page.locator(".grain").first.wait_for()
    answered(complaints)
    page.locator(".bounds summary").click()
    page.get_by_label("Number of results").evaluate("field => { field.removeAttribute('max'); field.value = 1000; }")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.locator(".errorlist").wait_for()
    fit(page, "Recall")
    answered(complaints, 422)


def test_a_vote_is_given_and_what_it_changed_is_seen(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/recall")
    ask(page, "Who plays an instrument in Lisbon?")
    card = page.locator(".grain", has=page.locator("p.text", has_text="violin")).first
    card.get_by_role("button", name="was useful").click()
    page.get_by_text("Feedback saved.").wait_for()
    for _ in range(40):  # the worker learns behind the page
        if "→" in card.inner_text():
            break
        page.wait_for_timeout(250)
        page.reload()
    before, now = re.search(r"weight (0\.\d+) → (0\.\d+)", card.inner_text()).groups()
    assert float(now) > float(before)
    fit(page, "Trace of a recall")
    card.get_by_role("button", name="Withdraw feedback").click()
    page.get_by_text("Feedback withdrawn").wait_for()
    assert card.get_by_role("button", name="was useful").count() == 1
    answered(complaints)


def test_the_graph_is_drawn_and_a_click_opens_the_panel(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Graph", exact=True).click()
    page.locator("#graph[data-state=drawn]").wait_for()
    assert colours(page) >= 4
    fit(page, "Graph")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")

    # From the list, which the keyboard reaches: the node moves to the middle and tells about itself.
    show = page.locator("[data-show]").first
    show.focus()
    page.keyboard.press("Enter")
    page.locator("#panel .text").wait_for()
    chosen = page.locator("#panel").get_attribute("data-node")
    told = page.locator("#panel .text").inner_text()
    assert chosen == show.get_attribute("data-show") and told in FACTS
    fit(page, "Graph")
    page.set_viewport_size({"width": 1280, "height": 900})

    # With the mouse: beside the nodes nothing is chosen, in the middle the same one is.
    page.locator("#stage").scroll_into_view_if_needed()
    stage = page.locator("#stage").bounding_box()
    page.mouse.click(stage["x"] + 5, stage["y"] + 5)
    page.locator("#panel .hint").wait_for()
    page.wait_for_timeout(500)  # two clicks at once would be a double click, which zooms
    page.mouse.click(stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2)
    page.locator("#panel .text").wait_for()
    assert page.locator("#panel .text").inner_text() == told
    page.locator("#panel").get_by_role("link", name="Open this memory").click()
    page.wait_for_load_state()
    assert told in page.inner_text("#content")
    complaints[:] = [said for said in complaints if PICKING not in said]
    answered(complaints)


def test_the_graph_can_be_narrowed_and_searched(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/graph")
    page.locator("#graph[data-state=drawn]").wait_for()
    before = page.locator("#stage").screenshot()
    for box in page.locator("#relations input").all():
        box.uncheck()
    assert page.locator("#stage").screenshot() != before  # no line is left
    for box in page.locator("#relations input").all():
        box.check()
    page.get_by_label("Minimum link strength").fill("100")
    assert page.locator("#least").inner_text() == "1.00"
    page.get_by_label("Highlight search results").fill("nurse in Lisbon")
    page.get_by_role("button", name="Search").click()
    page.locator("#found", has_text="highlighted").wait_for()
    assert "nurse" not in page.url
    complaints[:] = [said for said in complaints if PICKING not in said]
    answered(complaints)


def test_clusters_are_named_regions_and_the_legend_hides_them(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/graph")
    page.locator("#graph[data-regions]").wait_for()
    names = page.locator("#regions li").all_inner_texts()
    assert len(names) == int(page.locator("#graph").get_attribute("data-regions")) > 0
    assert all(re.fullmatch(r"\S.* \(\d+\)", name.strip()) for name in names)
    before = page.locator("#stage").screenshot()
    page.locator("#regions input").first.uncheck()
    page.locator(f"#graph[data-regions='{len(names) - 1}']").wait_for()
    assert page.locator("#stage").screenshot() != before
    page.locator("#regions input").first.check()
    page.locator(f"#graph[data-regions='{len(names)}']").wait_for()
    complaints[:] = [said for said in complaints if PICKING not in said]
    answered(complaints)


def test_without_webgl_or_javascript_there_is_still_the_list(house, browser):
    for options, says in (
        ({}, "it has no WebGL"),
        ({"java_script_enabled": False}, "needs JavaScript"),
    ):
        page = house.open(browser, **options)
        page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        house.enter(page)
        house.go(page, "/graph")
        page.locator(".note", has_text=says).wait_for()
        assert page.locator("#graph").is_hidden() and page.locator(".strongest li").count() >= 20
        assert page.locator("[data-show]:visible").count() == 0
