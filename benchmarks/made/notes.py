# ruff: noqa: E501 - tables of sentences read best one to a line
"""What one person asks a memory to keep: short notes without speakers or sessions, in no particular order."""

from __future__ import annotations

from datetime import timedelta

from benchmarks.made.labelled import BEGIN, Collection, Dice, day

_WHO = (
    "Marta",
    "Dr. Osei",
    "the landlord",
    "my sister Edda",
    "Jun",
    "Mrs. Falk",
    "the accountant",
    "coach Bela",
    "Ravi from work",
    "the plumber",
)
_CODES = ("K4-77B", "9021", "AX-110", "7733-LM", "QR8812", "56-20-91", "B12-004", "ZZ-3180")
_THINGS = ("router", "bike lock", "alarm panel", "storage unit", "printer", "gym locker", "garage door", "safe")
_PLACES = (
    "drawer under the stove",
    "blue box in the cellar",
    "glove compartment",
    "top shelf of the wardrobe",
    "safe at the bank",
    "shed behind the house",
)
_PAPERS = (
    "birth certificates",
    "spare keys",
    "passport copies",
    "vaccination booklet",
    "insurance papers",
    "warranty of the fridge",
    "old tax returns",
)
_FOODS = ("oat milk", "wholegrain rice", "peanut butter", "olives", "dark chocolate", "smoked tofu", "goat cheese")
_TOPICS = (
    "the kitchen renovation",
    "the school play",
    "the tax return",
    "the allotment",
    "the choir trip",
    "the heat pump",
)
_FIRMS = ("Lindqvist", "Okafor & Daughters", "Kestrel", "Baltic Timber", "Sunnyside", "Marlow Tools")


def notes(number: int, *, seed: int = 1, count: int = 240) -> Collection:
    dice = Dice(f"notes {seed} {number}")
    made = Collection(f"notes-{number}")
    moment = BEGIN
    codes = list(_CODES)
    wages: list[str] = []
    for at in range(count):
        moment += timedelta(hours=dice.randint(3, 60))

        def keep(text: str) -> str:
            return made.say(text, time=moment)  # noqa: B023 - used at once

        who, thing, place, paper = dice.choice(_WHO), dice.choice(_THINGS), dice.choice(_PLACES), dice.choice(_PAPERS)
        topic, firm, food = dice.choice(_TOPICS), dice.choice(_FIRMS), dice.choice(_FOODS)
        amount, date = dice.randint(40, 900), day(moment + timedelta(days=dice.randint(3, 40)))
        match at % 12:
            case 0 if codes:
                code = codes.pop()
                note = keep(f"{thing.capitalize()} {dice.choice(('code', 'PIN', 'combination'))}: {code}")
                same = [
                    i["id"] for i in made.items if i["text"].startswith(f"{thing.capitalize()} ") and ":" in i["text"]
                ]
                made.ask(f"How do I open or unlock the {thing}?", same or [note], "single")
                made.ask(f"What was {code} for?", [note], "single")
            case 1:
                note = keep(f"The {paper} are in the {place}.")
                same = [i["id"] for i in made.items if f"The {paper} are in" in i["text"]]
                if len(same) > 1:
                    made.ask(f"Where are the {paper} now?", [note], "update")
                else:
                    made.ask(f"Where did I put the {paper}?", [note], "single")
            case 2:
                note = keep(f"{who[0].upper()}{who[1:]} comes on {date} because of {topic}.")
                made.ask(f"When does {who} visit about {topic}?", [note], "temporal")
                if dice.chance(0.4):
                    made.ask(f"What happens on {date}?", [i["id"] for i in made.items if date in i["text"]], "temporal")
            case 3:
                note = keep(
                    f"Paid {amount} euros to {firm} for {topic}, {dice.choice(('half of it', 'in full', 'first instalment'))}."
                )
                made.ask(
                    f"How much did {firm} cost us for {topic}?",
                    [i["id"] for i in made.items if f"to {firm} for {topic}" in i["text"]],
                    "single",
                )
            case 4 if at % 24 == 4:
                note = keep(
                    f"From now on always {dice.choice(('answer in metric units', 'keep lists under five points', 'write mails in a formal tone', 'round prices up'))}."
                )
                made.ask(
                    "Which standing rules should be followed when writing for me?",
                    [i["id"] for i in made.items if i["text"].startswith("From now on")],
                    "instruction",
                )
            case 5 if at % 24 == 5:
                note = keep(
                    dice.choice(
                        (
                            f"I can't stand {food}.",
                            f"I prefer {food} to anything sweet.",
                            f"Never buy {food} again, stomach ache.",
                            f"{food.capitalize()} is my favourite snack.",
                        )
                    )
                )
                made.ask(
                    "Can you suggest something for me to eat?",
                    [
                        i["id"]
                        for i in made.items
                        if any(w in i["text"] for w in ("can't stand", "I prefer", "Never buy", "favourite snack"))
                    ],
                    "preference",
                )
            case 6 if at % 24 == 6:
                wage = f"Salary is {2000 + 10 * dice.randint(10, 400)} a month as of {day(moment)}."
                wages.append(keep(wage))
                if len(wages) > 1:
                    made.ask("How much do I earn at present?", [wages[-1]], "update")
            case _:
                keep(
                    dice.choice(
                        (
                            f"Asked {who} about {topic}, no answer yet.",
                            f"Buy {food} and batteries.",
                            f"{topic.capitalize()} is delayed again.",
                            f"{who[0].upper()}{who[1:]} called, nothing urgent.",
                            f"Look up prices for a new {thing}.",
                            f"Long talk with {who} about {food}.",
                            f"Read an article about {topic}.",
                            f"The {thing} makes strange noises.",
                            f"{firm} sent a catalogue.",
                        )
                    )
                )
    made.ask("What is the blood type of my grandfather?", [], "no answer")
    made.ask("Which ferry did we book to Iceland?", [], "no answer")
    return made
