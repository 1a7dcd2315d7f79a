"""Pages of files and transcripts in a real browser, on a desk and on a phone, with hostile contents."""

from __future__ import annotations

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
    assert page.locator(".diff .removed").inner_text() == "-- slugs again"
    fit(page, "Edit log.md")
    page.get_by_role("button", name="Save what I typed").click()
    assert "Version 3 was saved" in page.inner_text(".messages")
    answered(complaints, 409)
