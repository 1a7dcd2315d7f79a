# ruff: noqa: E501 - tables of sentences read best one to a line
"""Long chats with an assistant: messages of a page, facts in passing, standing wishes, plans that change."""

from __future__ import annotations

from datetime import timedelta

from benchmarks.made.labelled import BEGIN, Collection, Dice, day

# A project: what it is called, its parts, what people say about such parts.
PROJECTS = {
    "a budgeting web app": (
        "transaction form",
        "login page",
        "chart of expenses",
        "database schema",
        "export to CSV",
        "unit tests",
        "deployment script",
        "password reset",
        "currency conversion",
        "session timeout",
    ),
    "a detective novel": (
        "opening chapter",
        "red herring",
        "villain's motive",
        "dialogue in the cellar",
        "timeline of the crime",
        "narrator's voice",
        "ending",
        "map of the village",
        "subplot with the twins",
        "title",
    ),
    "a marathon in autumn": (
        "long run",
        "interval session",
        "shoes",
        "nutrition plan",
        "knee pain",
        "sleep diary",
        "taper weeks",
        "pacing",
        "hill training",
        "hydration belt",
    ),
    "the move of our bakery": (
        "lease",
        "oven",
        "permit from the fire brigade",
        "new logo",
        "staff schedule",
        "supplier of flour",
        "opening party",
        "delivery bicycle",
        "loan from the bank",
        "outdoor seating",
    ),
    "my thesis on urban bats": (
        "literature review",
        "field recordings",
        "statistics chapter",
        "figures",
        "supervisor's comments",
        "bibliography",
        "abstract",
        "defence",
        "questionnaire",
        "species list",
    ),
    "a family trip by train": (
        "sleeper tickets",
        "budget",
        "hostel",
        "packing list",
        "visa",
        "museum passes",
        "luggage storage",
        "travel insurance",
        "phrasebook",
        "day trips",
    ),
}
_CHAT = (
    "I have been turning this over in my head for a few days and would like a second opinion.",
    "Sorry for the long message, I want to give you the whole picture before we go on.",
    "A friend told me to do it differently, but I am not convinced that it fits my case.",
    "Could you go through it step by step and point out what I have overlooked?",
    "I tried what you suggested last time and parts of it worked, others did not.",
    "I only have about an hour every evening, so please keep that in mind.",
    "What worries me is that everything depends on everything else here.",
    "Let me know if something is unclear, I can send more details.",
    "I made a rough sketch on paper and it looks reasonable so far.",
    "The people around me have opinions, of course, and none of them agree.",
    "I read three guides about it and each of them says something else.",
    "Before we start, a short summary of where I am would help both of us.",
)
_ADVICE = (
    "A good way to approach the {part} is to write down what must be true at the end, then work backwards from there.",
    "Keep the {part} small at first; it is easier to extend something that works than to repair something that never did.",
    "Consider how the {part} and the {other} influence each other, because a change in one often shows up in the other.",
    "It helps to set a fixed time for the {part} and to treat it like an appointment.",
    "Many people underestimate the {part}; a simple checklist avoids most of the usual mistakes.",
    "If the {part} causes trouble, isolate it: remove everything else and see whether the trouble stays.",
    "For the {other}, an ordinary table with three columns (what, who, until when) is usually enough.",
    "You could compare two variants of the {part} side by side and decide after a week.",
    "Document what you decide about the {part}, since you will not remember the reasons in a month.",
    "As a rule of thumb, plan a third more time for the {part} than you think it needs.",
    "Do not worry if the {other} is not perfect yet; it can be refined once the {part} stands.",
    "Here is an outline: first clarify the goal, second collect what you have, third fill the gaps, fourth review it with fresh eyes.",
    "Step 1: open the notes on the {part}. Step 2: mark everything that is still a guess. Step 3: find out about the guesses one by one.",
    "In short: the {part} deserves attention now, the {other} can wait.",
)
_NEWS = (  # a fact of the user's own, and the question that looks for it in other words
    (
        "I settled on {n} {unit} for the {part}, anything more would be silly.",
        "How many {unit} did I plan for the {part}?",
    ),
    ("The {part} has to be finished by {date}, no way around it.", "What is my deadline for the {part}?"),
    ("{person} is going to look after the {part} from now on.", "Who is in charge of the {part}?"),
    ("Bad news about the {part}: {trouble}.", "What problem came up with the {part}?"),
    ("For the {part} I went with {choice} in the end.", "What did I pick for the {part}?"),
)
_UNITS = ("hours", "pages", "euros", "items", "kilometres", "drafts")
_PEOPLE = ("Hanneke", "my cousin Piotr", "Professor Amadi", "Luz from next door", "the intern", "my mother-in-law")
_TROUBLE = (
    "it got soaked when the pipe burst",
    "the only person who understood it left",
    "it costs twice as much as they said",
    "nobody had backed it up",
    "it clashes with the public holiday",
    "the numbers do not add up",
)
_CHOICES = (
    "the cheaper variant",
    "the one in green",
    "whatever my sister recommended",
    "the option without a subscription",
    "the second-hand one",
    "the version with fewer steps",
)
_RULES = (  # a standing wish, and a question that never mentions it
    ("Please always name the exact version when I ask about tools.", "Which tools are we using for {project}?"),
    (
        "From now on, whenever we talk about money, give the amounts in Swiss francs as well.",
        "What will {project} cost me altogether?",
    ),
    ("Always put a short summary in bold before the details of any plan.", "Can you lay out the plan for {project}?"),
    ("Never use abbreviations when you explain something to me.", "Explain how the {part} works."),
    ("Whenever I ask for dates, answer with the weekday too.", "When is the {part} due?"),
    ("Always remind me of the risks when you recommend something.", "What would you recommend for the {part}?"),
)
_LIKES = (
    (
        "I prefer doing things by hand over any automatic tool, it helps me think.",
        "How should I best handle the {part}?",
    ),
    (
        "I like to work early in the morning and hate evening appointments.",
        "When would be a good time to deal with the {part}?",
    ),
    ("I would rather spend a bit more than buy something that breaks.", "Which kind of {part} would suit me?"),
    (
        "I enjoy working with others far more than sitting alone at a desk.",
        "Could you suggest a way to make progress on the {part}?",
    ),
    ("I avoid anything with a monthly fee, on principle.", "Any suggestions of services for the {part}?"),
    ("I love visual explanations, long texts lose me.", "How would you present the {part} to me?"),
)


def assistant(number: int, *, seed: int = 1, exchanges: int = 90) -> Collection:
    dice = Dice(f"assistant {seed} {number}")
    made = Collection(f"assistant-{number}")
    project = sorted(PROJECTS)[number % len(PROJECTS)]
    parts = list(PROJECTS[project])
    rules, likes = dice.sample(_RULES, 3), dice.sample(_LIKES, 3)
    wishes = dict(zip(dice.sample(range(2, exchanges), 6), rules + likes, strict=True))
    moment, session = BEGIN, 0
    told: dict[tuple[str, int], list[str]] = {}
    first: dict[str, str] = {}
    for at in range(exchanges):
        if at % 10 == 0:
            session += 1
            moment = dice.later(moment, 2, 12)
        moment += timedelta(minutes=dice.randint(2, 30))
        part, other = dice.sample(parts, 2)
        sentences = dice.some(_CHAT, dice.randint(2, 7))
        sentences.insert(
            0,
            f"It is about the {part} for {project}."
            if dice.chance(0.5)
            else f"Back to {project}, the {part} this time.",
        )
        fact = dice.randrange(len(_NEWS)) if dice.chance(0.4) else None
        if fact is not None:
            words = {
                "part": part,
                "n": dice.randint(3, 60),
                "unit": _UNITS[fact % len(_UNITS)],
                "date": day(moment + timedelta(days=dice.randint(5, 60))),
                "person": dice.choice(_PEOPLE),
                "trouble": dice.choice(_TROUBLE),
                "choice": dice.choice(_CHOICES),
            }
            sentences.insert(dice.randint(1, len(sentences)), _NEWS[fact][0].format(**words))
        if at in wishes:
            sentences.insert(dice.randint(1, len(sentences)), wishes[at][0])
        user = made.say(" ".join(sentences), time=moment, speaker="user", session=f"session-{session}")
        first.setdefault(part, user)
        if fact is not None:
            told.setdefault((part, fact), []).append(user)
        if at in wishes:
            category = "instruction" if wishes[at] in rules else "preference"
            made.ask(wishes[at][1].format(project=project, part=dice.choice(parts)), [user], category)
        lines = [dice.choice(_ADVICE).format(part=part, other=other) for _ in range(dice.randint(9, 20))]
        moment += timedelta(minutes=1)
        made.say(" ".join(lines), time=moment, speaker="assistant", session=f"session-{session}")
    for (part, fact), users in sorted(told.items()):
        query = _NEWS[fact][1].format(part=part, unit=_UNITS[fact % len(_UNITS)])
        if len(users) == 1:
            made.ask(query, users, "single")
        elif fact in (3, 4):
            made.ask(query, users, "multi-hop")
        else:
            made.ask(query.replace(" did I plan", " am I planning now"), users[-1:], "update")
    for _ in range(3):
        chosen = sorted(dice.sample(sorted(first), 3), key=lambda part: int(first[part].rsplit(":", 1)[1]))
        listed = ", ".join(sorted(chosen))
        made.ask(f"In which order did I first bring up {listed}?", [first[part] for part in chosen], "ordering")
    made.ask("What did my dentist say about the crown?", [], "no answer")
    made.ask("Which flight number was cancelled?", [], "no answer")
    return made
