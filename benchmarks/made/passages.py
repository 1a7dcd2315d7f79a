# ruff: noqa: E501 - tables of sentences read best one to a line
"""Titled passages about people, places and works, and questions that lead through two or three of them."""

from __future__ import annotations

from benchmarks.made.labelled import Collection, Dice

_BEGINNINGS = (
    "Al",
    "Ber",
    "Cor",
    "Dan",
    "El",
    "Far",
    "Gal",
    "Hol",
    "Is",
    "Jor",
    "Kal",
    "Lor",
    "Mar",
    "Nor",
    "Os",
    "Per",
    "Quil",
    "Ros",
    "Sel",
    "Tor",
    "Ul",
    "Ver",
    "Wen",
    "Yar",
    "Zan",
)
_MIDDLES = ("a", "e", "i", "o", "an", "er", "il", "on", "ar", "en")
_PLACE_ENDS = ("burg", "ford", "mere", "stad", "vale", "haven", "mouth", "wick", "dorf", "grad")
_NAME_ENDS = ("son", "ski", "ez", "mann", "eau", "ini", "ova", "berg", "well", "sen")
_FIRST = (
    "Adela",
    "Boris",
    "Clara",
    "Dmitri",
    "Elena",
    "Felix",
    "Gustav",
    "Hanna",
    "Igor",
    "Josefa",
    "Karl",
    "Lea",
    "Milan",
    "Nadia",
    "Otto",
    "Petra",
    "Rudolf",
    "Sofia",
    "Tomas",
    "Vera",
)
_WORK = ("novel", "opera", "film", "symphony", "painting", "play", "documentary")
_ADJECTIVES = ("Silent", "Crimson", "Last", "Hidden", "Northern", "Broken", "Golden", "Distant", "Paper", "Winter")
_NOUNS = ("Harbour", "Orchard", "Letter", "Mirror", "Bridge", "Lantern", "River", "Garden", "Voyage", "Clock")
_RIVERS = ("Ister", "Velle", "Ombra", "Tarn", "Wisla", "Drenn", "Calder", "Morava", "Sava", "Lune")
_TRADES = ("textile mills", "salt works", "shipbuilding", "glass blowing", "silver mining", "printing", "clockmaking")
_PARTIES = ("agrarian", "liberal", "conservative", "radical", "centrist")

_FILL = (
    "Its archives were damaged by fire and only partly restored.",
    "Scholars disagree about the exact circumstances.",
    "A plaque was unveiled there in the twentieth century.",
    "The subject has attracted renewed interest in recent decades.",
    "Several streets and a school carry the name.",
    "Contemporary newspapers gave conflicting accounts of it.",
    "The local museum keeps letters, drawings and photographs from the period.",
    "It is mentioned briefly in two travel guides.",
)


def passages(number: int, *, seed: int = 1, groups: int = 24) -> Collection:
    """A group is a work, its maker, the maker's home town, its province and the river of that, and their doubles."""
    dice = Dice(f"passages {seed} {number}")
    made = Collection(f"passages-{number}")
    texts: list[tuple[str, str, str]] = []  # key, title, text
    asked: list[tuple[str, list[str], str]] = []
    taken: set[str] = set()
    for group in range(groups):
        _group(dice, group, texts, asked, taken)
    dice.shuffle(texts)
    where = {key: made.say(f"{title}\n{text}") for key, title, text in texts}
    for query, keys, category in asked:
        made.ask(query, [where[key] for key in keys], category)
    return made


def _fresh(dice: Dice, taken: set[str], ends: tuple[str, ...]) -> str:
    while True:
        word = dice.choice(_BEGINNINGS) + dice.choice(_MIDDLES) + dice.choice(ends)
        if word not in taken:
            taken.add(word)
            return word


def _group(
    dice: Dice, group: int, texts: list[tuple[str, str, str]], asked: list[tuple[str, list[str], str]], taken: set[str]
) -> None:
    town, province, rival = (_fresh(dice, taken, _PLACE_ENDS) for _ in range(3))
    family, mayor = _fresh(dice, taken, _NAME_ENDS), _fresh(dice, taken, _NAME_ENDS)
    maker, head = f"{dice.choice(_FIRST)} {family}", f"{dice.choice(_FIRST)} {mayor}"
    kind = dice.choice(_WORK)
    work = f"The {dice.choice(_ADJECTIVES)} {dice.choice(_NOUNS)}"
    if work in taken:
        work = f"{work} of {rival}"
    taken.add(work)
    river, trade, party = dice.choice(_RIVERS), dice.choice(_TRADES), dice.choice(_PARTIES)
    year, born, fell = dice.randint(1851, 1988), dice.randint(1801, 1960), dice.randint(1640, 1930)
    fill = dice.some(_FILL, 6)
    number = f"{group}"
    texts += [
        (
            f"{number}work",
            work,
            f"{work} is a {kind} of {year} by {maker}. It was first shown in a small hall and slowly found an audience abroad. {fill[0]} Critics compared it with earlier pieces of the same school, and a revised version followed {dice.randint(2, 9)} years later.",
        ),
        (
            f"{number}maker",
            maker,
            f"{maker} (born {born}) came into the world in {town} as the third of five children of a carpenter. After years of travel {family} returned to teaching and left a large body of letters. {fill[1]}",
        ),
        (
            f"{number}town",
            town,
            f"{town} is a town in the province of {province}. In former times it lived on {trade}; the population reached its height in {fell}. {fill[2]} The mayor is {head}, elected for the {party} party.",
        ),
        (
            f"{number}province",
            province,
            f"{province} is an administrative province on the banks of the {river}. Its seat was moved from {rival} in {fell + 9}. {fill[3]} Agriculture and tourism are the main sources of income.",
        ),
        (
            f"{number}head",
            head,
            f"{head} is a politician who trained as a surveyor and entered the council in {dice.randint(1990, 2010)}. Before that {mayor} lived for a decade on the coast and wrote a column on chess. {fill[4]}",
        ),
        # Doubles: the same words about something else.
        (
            f"{number}other",
            rival,
            f"{rival} is a village known for {trade} and for a {kind} festival each {dice.choice(('spring', 'autumn'))}. {fill[5]} It was the seat of the surrounding province until {fell + 9}.",
        ),
        (
            f"{number}fake",
            f"{work} ({dice.choice(('ship', 'song', 'racehorse'))})",
            f"Named after the {kind}, it was launched in {year + 3} and caused some excitement. Nothing is known about its later years. {fill[0]}",
        ),
    ]
    asked.append(
        dice.choice(
            (
                (f"Where was the creator of {work} born?", [f"{number}work", f"{number}maker"], "multi-hop"),
                (
                    f"Which town is the birthplace of the person behind the {kind} {work}?",
                    [f"{number}work", f"{number}maker"],
                    "multi-hop",
                ),
            )
        )
    )
    asked.append(
        dice.choice(
            (
                (
                    f"What did people in {maker}'s birthplace once make a living from?",
                    [f"{number}maker", f"{number}town"],
                    "multi-hop",
                ),
                (
                    f"Which river flows through the province in which {town} lies?",
                    [f"{number}town", f"{number}province"],
                    "multi-hop",
                ),
                (
                    f"What was the profession of the mayor of {town} before politics?",
                    [f"{number}town", f"{number}head"],
                    "multi-hop",
                ),
                (f"Who heads the town where {maker} was born?", [f"{number}maker", f"{number}town"], "multi-hop"),
            )
        )
    )
    if dice.chance(0.5):
        asked.append(
            (
                f"In what province is the home town of the author of {work} situated?",
                [f"{number}work", f"{number}maker", f"{number}town"],
                "multi-hop",
            )
        )
    if dice.chance(0.4):
        asked.append((f"When did {town} have the most inhabitants?", [f"{number}town"], "single"))
    if dice.chance(0.3):
        asked.append((f"Which river runs along {province}?", [f"{number}province"], "single"))
    if dice.chance(0.2):
        asked.append((f"Which university awarded {head} a doctorate?", [], "no answer"))
