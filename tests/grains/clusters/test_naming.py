"""Names of clusters are words people wrote, those that tell one cluster from the others."""

from __future__ import annotations

from memory.clusters.naming import name_clusters

GARDEN = ["The tomatoes need watering.", "Watering tomatoes at dawn is best.", "Our compost feeds tomatoes and roses."]
SAILING = ["The ferry to Porto leaves today.", "Porto's ferry is the blue one today.", "Buy ferry tickets in Porto."]


def test_the_typical_words_as_they_were_written():
    found = name_clusters({0: GARDEN, 1: SAILING})
    assert found[0][:2] == ["tomatoes", "watering"]
    assert set(found[1][:2]) == {"ferry", "Porto"}
    assert all(len(words) <= 3 for words in found.values())


def test_what_everybody_says_names_nobody():
    every = [f"{text} Remember this" for text in GARDEN]
    others = [f"{text} Remember this" for text in SAILING]
    found = name_clusters({0: every, 1: others})
    assert found[0][0] == "tomatoes"
    assert "Remember" not in found[0][:2]


def test_numbers_and_signs_name_nothing():
    assert name_clusters({0: ["1234 --- !!", "1234 --- !!", "1234 ok go"]}) == {0: []}


def test_texts_that_share_no_word_still_have_a_name():
    assert set(name_clusters({0: ["Yes, by the wall.", "Bring compost!", "A net helps."]})[0]) <= {
        "wall",
        "Bring",
        "compost",
        "net",
        "helps",
    }
    assert name_clusters({0: ["tomatoes first", "tomatoes second"], 1: GARDEN})[0][0] == "tomatoes"


def test_a_cluster_without_texts_has_no_name():
    assert name_clusters({0: [], 1: GARDEN})[0] == []


def test_every_script_is_read():
    texts = ["東京タワーに行く", "東京タワーの写真", "東京タワーは高い"]
    assert name_clusters({0: texts, 1: GARDEN})[0]
