"""Sentences of our own making: enough, and different enough, to compare encoders on."""

from __future__ import annotations

from itertools import pairwise, product

_PEOPLE = ("Mara", "my brother Tom", "Dr. Okafor", "the new intern", "Yuki")
_DEEDS = (
    "moved to Lisbon in March 2021 and rents a flat near the river",
    "is allergic to peanuts, so we never cook with them",
    "prefers short answers without bullet points",
    "broke the build because the migration dropped a column",
    "adopted a grey cat called Pixel from the shelter",
    "owes me 250 euros for the concert tickets",
    "runs ten kilometres before breakfast on Sundays",
    "wants to learn the cello but has no time to practise",
)
_QUESTIONS = (
    "Where does Mara live now?",
    "Who is allergic to nuts?",
    "How does she like her answers?",
    "What broke the build last week?",
    "What is the name of the cat?",
    "How much money does Tom owe me?",
    "When does Yuki go for a run?",
    "Which instrument would he like to play?",
)
_PLACES = ("in the kitchen", "at the office in Berlin", "on the train to Lyon", "behind the old library", "online")
_THINGS = (
    "We discussed the budget for next year {}",
    "I lost the blue notebook {} and found it two days later",
    "The meeting about the payment service was held {}",
    "She told me {} that the release is postponed until Friday",
    "They sell the best coffee {}",
    "Our flight was cancelled while we were {}",
    "The password policy was explained to everybody {}",
    "He proposed to her {} on New Year's Eve",
    "Nobody knew {} how the index is rebuilt after a crash",
    "A storm warning reached us {} at 6:40 pm",
    "The children played chess {} until it got dark",
    "I finally understood recursion {}",
)
_OTHERS = (
    "Je préfère le thé vert au café.",
    "Die Sitzung wurde auf Donnerstag verschoben.",
    "他昨天搬到了东京。",
    "El gato duerme encima del teclado.",
    "Мы встретились на вокзале в полночь.",
    "会議は来週の月曜日です。",
    "def retry(times): return [call() for _ in range(times)]",
    "ada@example.org wrote at 2024-03-01T10:00:00Z",
    "HTTP 503, then 200 after 1.5 s",
    "ok",
    "Thanks!",
    "42",
)

SENTENCES: tuple[str, ...] = (
    *(f"{who[0].upper()}{who[1:]} {deed}." for who, deed in product(_PEOPLE, _DEEDS)),
    *_QUESTIONS,
    *(f"{thing.format(place)}." for thing, place in product(_THINGS, _PLACES)),
    *(
        f"{question} I asked {place} and got no answer, so I am asking again: {question}"
        for question, place in product(_QUESTIONS, _PLACES)
    ),
    *(f"{who[0].upper()}{who[1:]} {first}, and {second}." for who in _PEOPLE for first, second in pairwise(_DEEDS)),
    *_OTHERS,
)

# (one, another way to say it, something else)
TRIPLES = (
    ("The cat sat on the mat.", "A cat was sitting on a rug.", "Interest rates rose by half a point."),
    ("Anna moved to Berlin last spring.", "Anna relocated to Berlin in spring.", "The soup needs more salt."),
    ("He is allergic to peanuts.", "Peanuts give him an allergic reaction.", "The train leaves at noon."),
    ("Restart the server after the update.", "After updating, reboot the server.", "She plays the violin."),
    ("My favourite colour is green.", "I like the color green best.", "The printer is out of paper."),
)
