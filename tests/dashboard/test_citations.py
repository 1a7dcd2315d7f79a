"""Results of recall that come from files, messages and keys lead to their lines, messages and keys."""

from __future__ import annotations

import html
import re

import pytest

from accounts.principals import shell
from fluxcore.work import worker
from memory.artifacts import files, stores, transcripts
from memory.grains.store import store
from memory.keyvalue import recallable, verbs
from tests.dashboard.conftest import post, words

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

PLAN = "# Garden\n\nThe runner beans are sown in March under glass.\n"


def cited(page):
    return [html.unescape(one) for one in re.findall(r'<p class="cited">.*?<a href="([^"]+)"', words(page))]


def test_a_result_leads_to_the_lines_and_the_message_it_is_from(ada, space):
    me = shell(space)
    stores.create_store(me, key="notes", recallable=True)
    files.write_file(me, store="notes", path="garden/plan.md", text=PLAN)
    transcripts.append_messages(me, store="notes", messages=[{"role": "user", "content": "Slugs ate the runner beans"}])
    recallable.make_recallable(me, place="boards/main")
    verbs.set_key(me, place="boards/main", key="beans/colour", value="Runner beans are red")
    store(me, content="Runner beans need poles")
    worker.drain()
    client = ada.sign_in()
    answer = post(client, "/recall", query="runner beans")
    found = sorted(cited(answer))
    assert len(found) == 3 and words(answer).count('<li class="card grain"') == 4, "memories have no citation"
    value, lines, message = found
    assert value == "/admin/keyvalue/item/?q=beans%2Fcolour" and "beans/colour" in words(client.get(value))
    assert "beans/colour of boards/main, version 1" in words(answer)
    assert re.search(r"^/files/[0-9a-f-]{36}/file/garden/plan.md\?version=1&first=1&last=3#L1$", lines)
    assert re.search(r"^/transcripts/[0-9a-f-]{36}\?at=1#m1$", message)
    shown = words(client.get(lines))
    assert 'class="marked" id="L1">Garden<' in shown and '<p class="marked">The runner beans' in shown
    assert 'marked" id="m1"' in words(client.get(message))
    worker.drain()
    trace = re.search(r'href="/recall/([0-9a-f-]{36})"', words(answer)).group(1)
    for page in (f"/recall/{trace}", f"/traces/{trace}"):
        assert sorted(cited(client.get(page))) == found, page
    assert "recalled 1 time<" in words(client.get(lines))
    files.delete_file(me, store="notes", path="garden/plan.md")
    worker.drain()
    assert sorted(cited(client.get(f"/recall/{trace}"))) == [value, message], "what was deleted is cited no more"
