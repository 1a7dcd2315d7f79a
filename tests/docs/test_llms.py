"""llms.txt: an index for models, whose links lead to pages that exist and which leaves no page out."""

from __future__ import annotations

import re

from tests.docs.pages import DECISIONS, PAGES, ROOT

TEXT = (ROOT / "llms.txt").read_text(encoding="utf-8")


def test_it_begins_with_a_title_and_a_summary():
    title, _, summary, *_ = TEXT.splitlines()
    assert title == "# Flux Memory" and summary.startswith("> ")


def test_every_link_leads_somewhere_and_every_page_is_linked():
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", TEXT, re.MULTILINE)
    own = {link for link in links if not link.startswith("http://127.0.0.1:")}
    assert [link for link in own if not (ROOT / link).is_file()] == []
    index = ROOT / "docs" / "decisions" / "README.md"  # it lists the decisions
    wanted = {page for page in PAGES if page not in DECISIONS} | {index}
    assert {page.relative_to(ROOT).as_posix() for page in wanted} <= own
