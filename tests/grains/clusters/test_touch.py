"""Touches: a useful vote adds the clusters its way led through, and nothing of it stays when it is taken back."""

from __future__ import annotations

import random

import pytest

from accounts.models import Space
from accounts.principals import shell
from fluxcore.writes import booth, write_locks
from memory.clusters import cluster_use, verbs
from memory.clusters.breadth import count_clusters_used
from memory.grains.models import Cluster, ClusterUse, ClusterUseVote, Grain, Member, Vote
from memory.learning import feedback

pytestmark = pytest.mark.storage

NOTES = [
    "Anna and Boris planted tomatoes in Kiev.",
    "Boris watered the beds in Kiev with Anna.",
    "In Kiev Anna told Boris about compost.",
    "Anna met Boris at the Kiev market.",
    "Zelda and Yusuf took the ferry to Porto.",
    "Yusuf likes Porto, says Zelda.",
    "In Porto Zelda found Yusuf asleep.",
    "Zelda sent Yusuf a card from Porto.",
    "Anna of Kiev wrote a letter to Zelda in Porto.",
]


@pytest.fixture
def club(memory):
    memory.grains = [memory.store(text, session=f"note {place}") for place, text in enumerate(NOTES)]
    memory.drain()
    memory.cluster = lambda: _cluster(memory)
    memory.cluster()
    return memory


def _cluster(memory):
    verbs.recompute(shell(Space.objects.get(id=memory.principal.space)))


def judge(memory, query: str, grain: int, **given) -> str:
    """A useful vote on one grain of an answer, not yet applied."""
    answer = memory.ask(query, k=9)
    memory.vote(answer["trace_id"], memory.grains[grain], useful=True, **given)
    return str(answer["trace_id"])


def touches() -> dict[tuple[str, str], float]:
    return {
        (text, name): weight
        for text, name, weight in ClusterUse.objects.values_list("grain__text", "cluster__name", "weight")
    }


def test_a_useful_vote_touches_the_clusters_of_the_names_it_came_by(club):
    judge(club, "What did Anna plant in Kiev?", 0)
    club.drain()
    (one,) = ClusterUse.objects.all()
    assert one.grain.text == NOTES[0]
    assert one.cluster.layer == Cluster.Layer.ENTRIES
    assert Member.objects.filter(cluster=one.cluster, entry__feature="anna").exists()
    assert one.weight == pytest.approx(1.0)
    assert one.at == Vote.objects.get().at
    assert count_clusters_used(club.principal.space, [one.grain_id]) == {one.grain_id: 1}


def test_a_weak_vote_touches_less_and_a_harmful_one_nothing(club):
    judge(club, "What did Anna plant in Kiev?", 0, strength=0.25)
    answer = club.ask("Where did Zelda find Yusuf?", k=9)
    club.vote(answer["trace_id"], club.grains[6], useful=False)
    club.drain()
    assert list(touches().values()) == [pytest.approx(0.25)]
    assert count_clusters_used(club.principal.space, list(Grain.objects.values_list("id", flat=True))) == {}


def test_a_question_about_both_subjects_touches_both_and_weighs_no_more(club):
    judge(club, "What did Anna of Kiev send to Zelda in Porto?", 8)
    club.drain()
    assert len(touches()) == 2
    assert sum(touches().values()) == pytest.approx(1.0)


def test_a_vote_taken_back_leaves_nothing(club):
    trace = judge(club, "What did Anna plant in Kiev?", 0)
    judge(club, "Who watered in Kiev, Boris?", 1)
    club.drain()
    before = touches()
    assert len(before) == 2
    feedback.withdraw(club.principal, trace=trace, grain=club.grains[0])
    club.drain()
    assert touches() == {key: weight for key, weight in before.items() if key[0] == NOTES[1]}
    assert ClusterUseVote.objects.values_list("vote__grain__text", flat=True).distinct().get() == NOTES[1]


def test_neither_order_nor_retries_change_a_touch(club):
    questions = ["What did Anna plant in Kiev?", "Boris, Kiev and tomatoes?", "Did Anna see Kiev?"]
    for query in questions:
        judge(club, query, 0)
    club.drain()
    together = touches()
    numbers = list(Vote.objects.values_list("id", flat=True))
    random.Random(3).shuffle(numbers)

    def one_by_one() -> None:
        ClusterUseVote.objects.all().delete()
        ClusterUse.objects.all().delete()
        for number in [*numbers, *numbers]:
            cluster_use.update_cluster_use(club.principal.space, [number])

    booth.write(one_by_one, lock=write_locks.lock_name(club.principal.space))
    assert touches() == together


def test_votes_from_before_the_first_clusters_count_once_there_are_some(memory):
    memory.grains = [memory.store(text, session=f"note {place}") for place, text in enumerate(NOTES)]
    memory.drain()
    judge(memory, "What did Anna plant in Kiev?", 0)
    memory.drain()
    assert touches() == {}
    _cluster(memory)
    assert list(touches().values()) == [pytest.approx(1.0)]


def test_touches_go_where_the_members_of_their_cluster_went(club):
    """A split by share, a dissolved one by half; the vote can still be taken back to the last digit."""
    trace = judge(club, "What did Anna plant in Kiev?", 0)
    club.drain()
    space, held = club.principal.space, ClusterUse.objects.get()
    others = list(Cluster.objects.filter(layer=Cluster.Layer.ENTRIES).exclude(id=held.cluster_id))
    booth.write(
        lambda: cluster_use.move_cluster_use(space, {held.cluster_id: [(held.cluster_id, 0.75), (others[0].pk, 0.25)]}),
        lock=write_locks.lock_name(space),
    )
    assert sorted(ClusterUse.objects.values_list("weight", flat=True)) == [pytest.approx(0.25), pytest.approx(0.75)]
    booth.write(
        lambda: cluster_use.move_cluster_use(space, {held.cluster_id: [(others[0].pk, 0.5)]}),
        lock=write_locks.lock_name(space),
    )
    assert ClusterUse.objects.get().weight == pytest.approx(0.25 + 0.375)  # merged by sum
    feedback.withdraw(club.principal, trace=trace, grain=club.grains[0])
    club.drain()
    assert not ClusterUse.objects.exists()
    assert not ClusterUseVote.objects.exists()


def test_a_run_that_merges_two_clusters_adds_their_touches(club):
    judge(club, "What did Anna of Kiev send to Zelda in Porto?", 8)
    judge(club, "Who in Kiev wrote a letter?", 8)
    club.drain()
    assert ClusterUse.objects.count() == 2
    total = sum(touches().values())
    # From now on everybody is everywhere: one subject.
    names = "Anna, Boris, Zelda and Yusuf went from Kiev to Porto."
    for place in range(12):
        club.store(f"{names} Trip {place}.", session=f"trip {place}")
    club.drain()
    club.cluster()
    alive = Cluster.objects.filter(layer=Cluster.Layer.ENTRIES, dissolved_at=None)
    assert alive.count() == 1
    one = ClusterUse.objects.get()
    assert one.cluster == alive.get()
    assert one.weight == pytest.approx(total, abs=1e-6)
