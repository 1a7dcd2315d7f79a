"""Pages of files and transcripts in a real browser, on a desk and on a phone, with hostile contents."""

from __future__ import annotations

import time
from urllib.parse import quote, urljoin

import pytest

from tests.browser.house import DESK, answered, fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]

PLAN = (
    "# Plan\n\n| bed | rows |\n|:--|--:|\n| north | 3 |\n\n```python\ndef rows(bed): return 3\n```\n\n![map](map.png)\n"
)
HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">\n\n"
    "![a](https://evil.example/a.png) [b](javascript:document.title='taken')\n\n" + "wide" * 5_000
)


@pytest.fixture(scope="module")
def house(memory_house):
    call = memory_house.instance.call
    assert call("POST", "/stores", {"key": "garden", "read_only_prefixes": ["rules"]}).status == 200
    for path, text in {"beds/plan.md": PLAN, "evil.md": HOSTILE, "evil.html": HOSTILE, "x" * 200: "y" * 5_000}.items():
        assert call("PUT", f"/stores/garden/files/{path}", text.encode()).status == 200
    talk = [{"role": "user", "content": "Which beans?"}, {"role": "assistant", "content": HOSTILE, "tool_calls": [{}]}]
    assert call("POST", "/stores/garden/messages", {"messages": talk, "session": "monday"}).status == 200
    return memory_house


def test_pages_fit_and_follow_what_others_write(house, browser, complaints):
    page = house.open(browser)
    page.route("https://evil.example/**", lambda route: complaints.append(route.request.url) or route.abort())
    complaints.listen(page)
    house.enter(page)
    for path, title in {
        "/files": "Files",
        "/files/garden": "garden",
        "/files/garden/file/beds/plan.md?first=3&last=5": "plan.md",
        "/files/garden/file/evil.md": "evil.md",
        "/files/garden/file/evil.html": "evil.html",
        f"/files/garden/file/{'x' * 200}": "x" * 200,
        "/files/garden/edit/beds/plan.md": "Edit plan.md",
        "/files/garden/history/beds/plan.md?old=1&new=1": "History of plan.md",
        "/files/garden/upload": "Upload files",
        "/files/garden/policy": "Policy of garden",
        "/transcripts": "Transcripts",
        "/transcripts/garden": "garden",
        "/transcripts/garden/2": "Message 2",
    }.items():
        house.go(page, path)
        fit(page, title)
        assert page.title() != "taken", path
    answered([said for said in complaints if "map.png" not in said and "404" not in said])
    complaints.clear()  # the picture that the plan names does not exist

    large = bytes(range(256)) * 4_000
    assert house.instance.call("PUT", "/stores/garden/files/large.bin", large).status == 200
    sent = page.request.get(urljoin(house.people, "/files/garden/download/large.bin"))
    assert sent.body() == large and sent.headers["content-disposition"].startswith("attachment")

    page.set_viewport_size(DESK)
    house.go(page, "/transcripts/garden")
    page.locator("#live[data-state=live]").wait_for()
    house.instance.call("POST", "/stores/garden/messages", {"messages": [{"role": "user", "content": "Runner beans."}]})
    page.locator("#m3.new").wait_for()
    house.go(page, "/files/garden/folder/beds")
    page.locator("#live[data-state=live]").wait_for()
    house.instance.call("PUT", "/stores/garden/files/beds/log.md", b"# Log\n\n- slugs\n- rain\n")
    page.locator("[data-key='beds/log.md'].new").wait_for()

    page.get_by_role("link", name="log.md").click()
    page.get_by_role("link", name="Source").click()
    page.locator("#live[data-state=live]").wait_for()
    page.get_by_role("link", name="Line 3").click()
    page.get_by_role("link", name="Line 4").click(modifiers=["Shift"])
    assert page.url.endswith("/files/garden/file/beds/log.md?view=source&first=3&last=4")
    assert page.locator(".lines .marked").count() == 2
    page.get_by_role("link", name="Edit").click()
    house.instance.call("PUT", "/stores/garden/files/beds/log.md", b"# Log\n\n- slugs again\n- rain\n")
    page.get_by_label("Text").fill("# Log\n\n- no slugs\n- rain\n")
    page.get_by_label("Reason").fill("nematodes")
    page.get_by_role("button", name="Save").click()
    assert page.locator(".diff .removed .text").inner_text() == "- slugs again"
    fit(page, "Edit log.md")
    page.get_by_role("button", name="Save what I typed").click()
    assert "Version 3 was saved" in page.inner_text(".messages")
    answered(complaints, 409)


def test_a_file_goes_up_and_down_and_back_and_a_result_leads_to_its_message(house, browser, complaints):
    call = house.instance.call
    assert call("POST", "/stores", {"key": "shed", "recallable": True}).status == 200
    said = [{"role": "user", "content": f"Row {row} is done."} for row in range(60)]
    said[5] = {"role": "user", "content": "The wheelbarrow is behind the compost."}
    assert call("POST", "/stores/shed/messages", {"messages": said}).status == 200
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)

    house.go(page, "/files/shed/upload")
    picked = [
        {"name": "Käse.md", "mimeType": "text/markdown", "buffer": b"# Cheese\n"},
        {"name": "bytes.bin", "mimeType": "application/octet-stream", "buffer": bytes(range(256)) * 100},
    ]
    page.get_by_label("Files", exact=True).set_input_files(picked)
    page.get_by_label("Folder").fill("in")
    page.get_by_role("button", name="Upload").click()
    assert page.inner_text(".messages") == "2 files were uploaded."
    page.get_by_role("link", name="bytes.bin").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    assert download.value.suggested_filename == "bytes.bin"
    assert download.value.path().read_bytes() == picked[1]["buffer"]

    assert call("PUT", f"/stores/shed/files/in/{quote('Käse.md')}", b"# Overwritten\n").status == 200
    house.go(page, "/files/shed/history/in/Käse.md")
    page.get_by_role("button", name="Restore version 1").click()
    assert "Version 1 was restored as version 3" in page.inner_text(".messages")
    assert page.inner_text("article.markdown h1") == "Cheese"

    until = time.monotonic() + 120
    while not call("GET", "/stores/shed/passages?message=6").json()["passages"]:
        assert time.monotonic() < until, "the worker has not indexed the message"
        time.sleep(0.1)
    house.go(page, "/recall")
    page.get_by_label("Your question").fill("Where is the wheelbarrow?")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.get_by_role("link", name="message 6 of shed").first.click()
    assert page.url.endswith("?at=6#m6") and page.locator("#m6.marked").inner_text().endswith("behind the compost.")
    assert page.locator("#m6").evaluate("(one) => one.getBoundingClientRect().top >= 0")
    assert page.locator(".message").count() > 20, "among its neighbours"
    # A navigation that becomes a download ends without a page.
    answered([said for said in complaints if not ("/download/" in said and "ERR_ABORTED" in said)])
