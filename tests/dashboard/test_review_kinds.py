"""Items of another kind than changes of files, in the queue, on its pages and in the administration."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pytest

from accounts.capabilities import parsed
from accounts.principals import shell
from accounts.verbs import verb
from fluxcore.errors import Conflict, Forbidden
from memory.review import handlers, items, kinds
from memory.review.items import Proposal, Subject
from memory.review.kinds import ReviewKind
from memory.review.models import ReviewItem
from tests.dashboard.conftest import Person, post, send, words

pytestmark = pytest.mark.storage
HELD: dict[str, str] = {}  # the mottoes that were accepted


class MottoKind(ReviewKind):
    """A motto of the space, which owners alone decide and everybody who reads the audit chain may see."""

    label, reads, decides = "Motto", "audit.read", "graph.export"
    outdated = "Another motto was chosen since."

    def describe(self, item):
        old, new = HELD.get(item.subject, ""), item.details["text"]
        change = {"diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{old}\n+{new}\n", "text": new, "changed_since": bool(old)}
        return {"seen": self._seen(item), "change": change}

    def facts(self, state, change):
        return [("Letters", str(len(change["text"])))]

    def watched(self, change):
        return {"kind": "motto.", "name": "summer"}

    def begins(self):
        return "An agent proposes a motto by thinking of one."

    def accept(self, call, item, *, seen, text):
        def take(row):
            if seen != self._seen(row):
                raise Conflict("Look again.")
            HELD[row.subject] = row.details["text"] if text is None else text
            return {}

        return take

    def deny(self, call, item):
        return lambda row: {}

    def _seen(self, item):
        return hashlib.sha256(item.details["text"].encode()).hexdigest()


@verb("mottoes.propose", needs="grains.read")
def propose(call, *, name, text):
    def change():
        subject = Subject(call.principal.space, "motto", "mottoes", name)
        row = items.open_or_update(
            call, subject, Proposal(f"mottoes/{name}", f"Motto of {name}", "ai_stated", details={"text": text})
        )
        return {"item": str(row.uuid)}

    return change


@pytest.fixture
def bob(people_client, space, monkeypatch):
    """An agent that proposes mottoes. The kind is registered as a room does it."""
    monkeypatch.setattr(kinds, "_paths", dict(kinds._paths))
    kinds.register("motto", f"{__name__}.MottoKind")
    HELD.clear()
    yield replace(shell(space), kind="agent", name="bob", capabilities=parsed(("grains.read",)))
    kinds.find.cache_clear()


def somebody(role):
    return Person(f"{role}-of-home", administrator=False, roles={"home": role}).sign_in()


def test_each_kind_says_who_decides_and_what_its_pages_tell(bob):
    owner, operator = somebody("owner"), somebody("operator")
    assert "by thinking of one" in words(owner.get("/review"))
    item = propose(bob, name="summer", text="Sow & wait")["item"]
    page = words(owner.get(f"/review/{item}"))
    assert "<dt>Letters</dt><dd>10</dd>" in page and "Motto, proposed by agent:bob" in page
    assert 'data-watched="{&quot;kind&quot;: &quot;motto.&quot;, &quot;name&quot;: &quot;summer&quot;}"' in page
    assert "file" not in re.search(r'<div id="item".*</main>', page, re.S)[0].lower(), "nothing of files"
    assert "proposal waits for a decision" in words(owner.get("/"))

    seen = handlers.get_review(shell(ReviewItem.objects.get().space), item=item)["seen"]
    page = words(operator.get(f"/review/{item}"))
    assert "+</td>" in page and "Sow &amp; wait" in page and 'name="decision"' not in page
    assert "proposal waits for a decision" not in words(operator.get("/"))
    for decision in ("accept", "edit", "deny"):
        answer = post(operator, f"/review/{item}", decision=decision, seen=seen, text="x", reason="why")
        assert answer.status_code == 403, decision
    assert ReviewItem.objects.get().state == "open" and not HELD

    done = post(owner, f"/review/{item}", decision="edit", seen=seen, text="Sow and wait")
    assert done["Location"] == "/review" and HELD == {"summer": "Sow and wait"}
    item = propose(bob, name="summer", text="Reap")["item"]
    assert "Another motto was chosen since." in words(owner.get(f"/review/{item}"))


def test_the_administration_asks_each_kind(bob, space):
    propose(bob, name="summer", text="Sow")
    number = ReviewItem.objects.get().pk
    where = f"/admin/review/reviewitem/{number}"
    viewer, operator, owner = somebody("viewer"), somebody("operator"), somebody("owner")
    for person in (viewer, operator):
        assert "Motto of summer" in words(person.get("/admin/review/reviewitem/"))
        assert "/do/" not in words(person.get(f"{where}/change/"))
        for act in ("accept", "edit", "deny"):
            assert send(person, f"{where}/do/{act}/", reason="why", seen="x", text="y").status_code == 403
    page = words(owner.get(f"{where}/change/"))
    assert all(f"/do/{act}/" in page for act in ("accept", "edit", "deny"))
    seen = re.search(r'name="seen" value="(\w+)"', words(owner.get(f"{where}/do/edit/")))[1]
    assert send(owner, f"{where}/do/edit/", reason="shorter", seen=seen, text="So").status_code == 302
    assert HELD == {"summer": "So"}

    kinds.find("motto").reads = "graph.export"
    assert "Motto of summer" not in words(viewer.get("/admin/review/reviewitem/"))
    assert viewer.get(f"{where}/change/").status_code in (302, 403, 404)
    kinds._paths.pop("motto")
    assert owner.get("/admin/review/reviewitem/").status_code == 200
    assert owner.get("/review?state=any").status_code == 200


def test_an_agent_that_decides_one_kind_decides_no_other(bob):
    item = propose(bob, name="summer", text="Sow")["item"]
    rita = replace(bob, name="rita", capabilities=parsed(("artifacts.review", "grains.read")))
    for call, given in ((handlers.accept_review, {"seen": "x"}), (handlers.deny_review, {"reason": "so"})):
        with pytest.raises(Forbidden, match=r"graph\.export:mottoes/summer"):
            call(rita, item=item, **given)
    assert ReviewItem.objects.get().state == "open"
