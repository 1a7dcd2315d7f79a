"""Several at once: of two decisions one wins, and an edit never slips into what is accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import connection

from fluxcore.errors import Conflict, FluxError
from memory.artifacts import files, reading
from memory.artifacts.contents import NewContent
from memory.review import handlers
from memory.review.models import ReviewItem
from tests.concurrency.load import together

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]


def crowd(count, work):
    def run(number):
        try:
            work(number)
        finally:
            connection.close()

    together(count, run)


def test_of_two_reviewers_one_wins_and_the_other_learns_who(bob, ann):
    for number in range(4):
        item = bob.propose("rules/a.md", f"better {number}\n").json()["proposal"]
        seen, won, lost = bob.item(item)["seen"], [], []

        def decide(which, item=item, seen=seen, won=won, lost=lost):
            who = replace(ann, name=f"person{which}")
            try:
                if which:
                    won.append(handlers.accept_review(who, item=item, seen=seen))
                else:
                    won.append(handlers.deny_review(who, item=item, reason="no"))
            except Conflict as refusal:
                lost.append(refusal.details)

        crowd(2, decide)
        assert (len(won), len(lost)) == (1, 1)
        assert lost[0]["decided_by"] == won[0]["decided_by"] and lost[0]["state"] == won[0]["state"]
        text = reading.read_file(ann, store="handbook", path="rules/a.md")["text"]
        assert (text == f"better {number}\n") == (won[0]["state"] == "accepted")


def test_an_edit_at_the_same_moment_is_either_refused_or_not_accepted(bob, ann, handbook):
    for number in range(6):
        item = bob.propose("rules/a.md", f"seen {number}\n").json()["proposal"]
        seen, results = bob.item(item)["seen"], {}

        def act(which, item=item, seen=seen, results=results, number=number):
            try:
                if which:
                    results["accepted"] = handlers.accept_review(ann, item=item, seen=seen)["state"]
                else:
                    edited = NewContent.of(f"edited {number}\n".encode())
                    answer = files.put_file(handbook, store="handbook", path="proposals/rules/a.md", content=edited)
                    results["edited"] = answer["proposal"]
            except FluxError as refusal:
                results["refused"] = refusal.code

        crowd(2, act)
        text = reading.read_file(ann, store="handbook", path="rules/a.md")["text"]
        assert not text.startswith("edited")
        if "accepted" in results:
            assert text == f"seen {number}\n" and results["edited"] != item
        else:
            assert results["refused"] == "conflict" and results["edited"] == item
        files.delete_file(handbook, store="handbook", path="proposals/rules/a.md")
        assert ReviewItem.objects.filter(state="open").count() == 0
