"""/review: what waits for a decision, its difference, and the forms that accept, edit and deny it."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.capabilities import parsed
from accounts.models import AuditEntry
from accounts.principals import find_space, shell
from dashboard import diff_lines
from memory.artifacts import files, reading, stores
from memory.artifacts.contents import NewContent
from memory.review.models import ReviewItem
from tests.dashboard.conftest import Person, diff_rows, post

pytestmark = pytest.mark.storage
MOST_STATEMENTS = 8  # of a whole request, the frame and the session included


class Handbook:
    """A store of the space `home`, and an agent that proposes changes of it."""

    def __init__(self, space="home"):
        self.shell = shell(find_space(space))
        self.bob = replace(self.shell, kind="agent", name="bob", capabilities=parsed(("artifacts.write",)))
        stores.create_store(self.shell, key="handbook", read_only_prefixes=["rules"], staging_prefix="proposals")
        self.write("rules/a.md", "one\ntwo\n")

    def write(self, path, text):
        files.put_file(self.shell, store="handbook", path=path, content=NewContent.of(text.encode()))

    def propose(self, path, text, **more):
        content = NewContent.of(text if isinstance(text, bytes) else text.encode())
        answer = files.put_file(self.bob, store="handbook", path=f"proposals/{path}", content=content, **more)
        return f"/review/{answer['proposal']}"

    def text(self, path):
        return reading.read_file(self.shell, store="handbook", path=path)["text"]


@pytest.fixture
def handbook(people_client, space):
    return Handbook()


def somebody(role, space="home"):
    return Person(f"{role}-of-{space}", administrator=False, roles={space: role}).sign_in()


def words(answer):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def decide(client, address, decision, **fields):
    page = client.get(address).content.decode()
    seen = re.search(r'name="seen" value="(\w+)"', page)
    return post(client, address, decision=decision, **{"seen": seen[1] if seen else "", **fields})


def test_the_list_is_empty_then_has_what_is_proposed_and_how_it_was_decided(handbook):
    olga = somebody("operator")
    assert "Nothing waits for a decision" in words(olga.get("/review"))
    assert "proposal waits for a decision" not in words(olga.get("/"))
    address = handbook.propose("rules/a.md", "one\nthree\n", reason="<b>because</b>", actor="night-job")
    listed = words(olga.get("/review"))
    assert "rules/a.md in handbook" in listed and "<b>because</b>" in listed and "by agent:bob (night-job)" in listed
    assert "proposed by agent:bob (night-job)" in words(olga.get(address))
    assert words(olga.get("/review?part=1")).startswith("rules/a.md in handbook")
    assert "1 proposal waits for a decision" in words(olga.get("/"))
    answer = decide(olga, address, "accept", reason="yes")
    assert (answer.status_code, answer["Location"]) == (302, "/review")
    assert handbook.text("rules/a.md") == "one\nthree\n"
    shown = words(olga.get("/review?state=accepted"))
    assert "Accepted by user:operator-of-home" in shown and "yes" in shown
    assert "Nothing waits" in words(olga.get("/review?state=nonsense"))
    assert AuditEntry.objects.filter(action="reviews.accept", actor="user:operator-of-home").exists()
    assert olga.get("/review?cursor=x").status_code == 404


def test_the_difference_can_be_read_without_colours_and_hides_nothing(handbook):
    olga = somebody("operator")
    shown = olga.get(handbook.propose("rules/a.md", "one\n<i>\u202eowt\u200b</i>\r\n"))
    assert diff_rows(shown) == [
        ("same", "", "one"),
        ("removed", "\N{MINUS SIGN}", "two"),
        ("added", "+", "<i>⟨U+202E⟩owt⟨U+200B⟩</i>⟨U+000D⟩"),
    ]
    assert "1 line added, 1 removed" in words(shown)
    without_end = olga.get(handbook.propose("rules/a.md", "one\ntwo"))
    assert [row[0] for row in diff_rows(without_end)] == ["same", "removed", "added", "end"]
    assert "not text" in words(olga.get(handbook.propose("rules/b.bin", b"\xff\0")))
    handbook.write("rules/c.json", '{"a": 1}')
    changed = words(olga.get(handbook.propose("rules/c.json", '{"a": "\u202e\U000e00412"}')))
    assert "1 changed value" in changed and '/a changed 1 "⟨U+202E⟩⟨U+E0041⟩2"' in changed
    address = handbook.propose("rules/d.md", "x")
    assert "has changed since this was proposed" not in words(olga.get(address))
    handbook.write("rules/d.md", "y")
    assert "has changed since this was proposed" in words(olga.get(address))


def test_a_long_difference_is_cut_and_says_so(handbook, monkeypatch):
    monkeypatch.setattr("dashboard.diff_lines.MOST", 3)
    shown = somebody("operator").get(handbook.propose("rules/long.md", "x\n" * 9))
    assert len(diff_rows(shown)) == 3 and "Only the first 3 lines are shown" in words(shown)
    assert [line.kind for line in diff_lines.diff_lines("--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\n")] == [
        "removed",
        "added",
    ]


def test_an_edit_keeps_line_ends_and_is_kept_when_it_is_refused(handbook):
    olga = somebody("operator")
    address = handbook.propose("rules/a.md", "\none\n")
    assert (
        '<textarea id="text" name="text" rows="16" spellcheck="false">\n\none\n</textarea>'
        in olga.get(address).content.decode()
    )
    refused = decide(olga, address, "edit", text="\r\nmine &\r\n", seen="old")
    assert refused.status_code == 409 and "not as you have seen it" in words(refused)
    assert "mine &amp;" in refused.content.decode() and handbook.text("rules/a.md") == "one\ntwo\n"
    assert decide(olga, address, "edit", text="\r\nmine\r\n", line_ends="lf").status_code == 302
    assert handbook.text("rules/a.md") == "\nmine\n"
    address = handbook.propose("rules/a.md", "one\r\n")
    assert 'name="line_ends" value="crlf"' in olga.get(address).content.decode()
    decide(olga, address, "edit", text="mine\r\n", line_ends="crlf")
    assert handbook.text("rules/a.md") == "mine\r\n"


def test_a_denial_needs_a_reason_and_a_decision_is_made_once(handbook):
    olga = somebody("operator")
    address = handbook.propose("rules/a.md", "worse\n")
    assert decide(olga, address, "deny", reason="  ").status_code == 422
    assert decide(olga, address, "hug").status_code == 422
    assert decide(olga, address, "deny", reason="no\nway").status_code == 302
    late = post(olga, address, decision="deny", reason="again")
    assert late.status_code == 409 and "denied by user:operator-of-home already" in words(late)
    assert ReviewItem.objects.get().decision_reason == "no way"
    assert 'name="decision"' not in olga.get(address).content.decode()


def test_viewers_read_and_others_see_nothing(handbook, make_token):
    make_token("eve", space="office")
    address = handbook.propose("rules/a.md", "better\n")
    vera = somebody("viewer")
    page = vera.get(address)
    assert diff_rows(page) and 'name="decision"' not in page.content.decode()
    assert "an owner or operator of the space accepts" in words(vera.get("/review"))
    for decision in ("accept", "edit", "deny"):
        assert post(vera, address, decision=decision, seen="x", text="y", reason="z").status_code == 403
    stranger = somebody("owner", "office")
    assert stranger.get(address).status_code == 404
    assert post(stranger, address, decision="deny", reason="z").status_code == 404
    assert "Nothing waits" in words(stranger.get("/review"))
    assert ReviewItem.objects.get().state == "open"


def test_statements_of_the_list_do_not_grow(handbook):
    olga = somebody("operator")
    olga.get("/review")  # the greeting of the sign-in is read
    counts = []
    for number in range(3):
        handbook.propose(f"rules/{number}.md", "x")
        with CaptureQueriesContext(connection) as captured:
            olga.get("/review")
        counts.append(len(captured))
    assert counts[0] == counts[2] <= MOST_STATEMENTS, counts
