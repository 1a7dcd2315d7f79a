"""What happens in people's lives: how it is told, how a friend asks after it, how it is looked for later.

A kind of event has word lists for its {slots}, sentences that tell it, pairs in which the friend asks and
the teller answers shortly, and questions for later. {when} is a relative date, {me} the teller, {you} the friend.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    name: str
    slots: dict[str, tuple[str, ...]]
    told: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    single: tuple[str, ...]
    when: tuple[str, ...] = ()
    all_of: str = ""  # a question whose answer is every event of this kind
    now: str = ""  # a question that only the latest event answers


KINDS = (
    Kind(
        "pet",
        {
            "animal": (
                "beagle",
                "tabby kitten",
                "greyhound",
                "parrot",
                "tortoise",
                "pair of guinea pigs",
                "rescue terrier",
            ),
            "pet": ("Biscuit", "Mango", "Pixel", "Otis", "Juno", "Waffles", "Clementine", "Ziggy"),
        },
        (
            "Guess who moved in {when}? A {animal}! We called it {pet} and the sofa is already ruined.",
            "So we did it, the shelter called {when} and {pet} the {animal} came home with us.",
            "I can't stop taking pictures of {pet}. Having a {animal} around changes the whole house.",
        ),
        (
            (
                "Wait, is that barking or squeaking I hear in the background?",
                "Ha, that's {pet}. The newest member of the family, a {animal}, since {when}.",
            ),
            (
                "Did you ever go back to that shelter?",
                "We did, {when}, and left with a {animal}. {pet} was just looking at us like that.",
            ),
        ),
        ("What is the name of {me}'s pet?", "Which animal did {me} adopt?", "Who is {pet}?"),
        ("When did {me} adopt {pet}?", "On what date did {pet} come to live with {me}?"),
        "Which animals does {me} have at home?",
    ),
    Kind(
        "job",
        {
            "job": (
                "paramedic",
                "pastry chef",
                "tram driver",
                "data analyst",
                "school librarian",
                "welder",
                "physiotherapist",
                "museum guide",
            ),
            "firm": (
                "Northgate",
                "Halden & Sons",
                "the harbour authority",
                "Brightwell",
                "a tiny studio called Fern",
                "the county hospital",
            ),
        },
        (
            "Big news: they said yes! From next month I'm a {job} at {firm}.",
            "I signed the papers with {firm} {when}. Me, a {job}, who would have thought.",
            "First shift at {firm} was {when}. Being a {job} is harder on the feet than I expected.",
        ),
        (
            ("How did the interview go in the end?", "Better than I feared! {firm} took me on {when}."),
            (
                "Any luck with the applications?",
                "Yes!! {firm}, {when}. They needed a {job} and I was the only one with night experience.",
            ),
        ),
        ("Where does {me} work?", "What does {me} do for a living?", "Who employs {me}?"),
        ("When did {me} start the position at {firm}?", "When was {me} hired as a {job}?"),
        now="What is {me}'s current occupation?",
    ),
    Kind(
        "move",
        {
            "town": ("Leeds", "Porto", "Aarhus", "Tucson", "Ghent", "Halifax", "Bergen", "Cork", "Girona", "Bristol"),
            "home": (
                "a narrow house by the canal",
                "a loft above a bakery",
                "a cottage with a leaking roof",
                "a flat on the ninth floor",
            ),
        },
        (
            "The boxes are still everywhere, but {town} feels right. We found {home}.",
            "We left the old place {when}. It's {home} in {town} now, and the neighbours brought soup.",
            "Can you believe I live in {town} now? {home}, and I can walk to the market.",
        ),
        (
            ("So where did you two end up?", "In {town}! It's {home}, keys since {when}."),
            ("Is the new place as nice as the photos?", "Nicer. It's {home}, and {town} is so quiet at night."),
        ),
        ("In which city did {me} settle?", "What kind of home does {me} live in?", "Where did {me} relocate?"),
        ("When did {me} move to {town}?",),
        now="Which town is {me} living in at the moment?",
    ),
    Kind(
        "craft",
        {
            "craft": (
                "pottery",
                "woodcarving",
                "linocut printing",
                "crochet",
                "stained glass",
                "bookbinding",
                "watercolours",
            ),
            "thing": (
                "a lopsided bowl",
                "a tiny owl",
                "a lampshade",
                "a blanket for my niece",
                "a box with a hidden drawer",
                "a view of the old pier",
            ),
        },
        (
            "I tried {craft} {when} and made {thing}. My hands still hurt.",
            "My evenings belong to {craft} these days; look, I finished {thing}!",
            "There's something about {craft} that shuts my head up. {thing} is drying on the windowsill.",
        ),
        (
            (
                "What do you do to calm down after such days?",
                "Honestly? {craft}. I made {thing} {when} and forgot the time.",
            ),
            ("What's that on your shelf in the picture?", "Oh, {thing}. I made it {when}, at a {craft} class."),
        ),
        (
            "What did {me} make by hand?",
            "How does {me} unwind after a stressful day?",
            "What creative hobby has {me} taken up?",
        ),
        ("When did {me} make {thing}?",),
        "What kinds of handicraft has {me} tried?",
    ),
    Kind(
        "run",
        {
            "race": (
                "a 10k for the hospice",
                "the half marathon along the river",
                "a charity swim",
                "a night ride for the food bank",
                "the stairs race in the old tower",
            ),
            "result": (
                "in just under an hour",
                "dead last and grinning",
                "with a blister the size of a coin",
                "two minutes faster than last year",
            ),
        },
        (
            "I did {race} {when}, {result}. Never been so proud and so sore.",
            "{race} is behind me! {result}, but I finished.",
            "They gave me a medal {when}, for {race}. I came in {result}.",
        ),
        (
            ("Why are you limping on that video?", "Ha! {race}, {when}. I came in {result}."),
            ("How was the weekend?", "Exhausting! I took part in {race}, {result}."),
        ),
        (
            "Which charity event did {me} take part in?",
            "What sporting challenge did {me} complete?",
            "How did {me} do in the race?",
        ),
        ("When did {me} run for charity?", "When did {me} take part in {race}?"),
        "Which races or sporting events has {me} entered?",
    ),
    Kind(
        "trip",
        {
            "place": (
                "the Dolomites",
                "Lisbon",
                "the Faroe Islands",
                "Kyoto",
                "the Jurassic coast",
                "Oaxaca",
                "Lake Bled",
                "Tallinn",
            ),
            "with": ("my sister", "the kids", "two friends from school", "my father", "nobody, for once", "the choir"),
            "thing": (
                "we got lost and ended in a wedding",
                "it rained for four days",
                "I ate my weight in dumplings",
                "we saw a whale",
                "the train broke down in a tunnel",
            ),
        },
        (
            "Just back from {place}, I went with {with}. {thing}, can you imagine?",
            "{place} was everything I hoped for. {when} I was still there with {with}, and now it's laundry.",
            "I have to tell you about {place}: {thing}. I went with {with}.",
        ),
        (
            ("You look tanned, where have you been?", "In {place} with {with}, back since {when}. And {thing}!"),
            ("How was the holiday?", "Unforgettable. {thing}. {place} is worth every hour on the train."),
        ),
        (
            "Where did {me} travel?",
            "Who accompanied {me} on the journey to {place}?",
            "What happened to {me} in {place}?",
        ),
        ("When was {me} in {place}?", "When did {me} return from {place}?"),
        "Which places has {me} visited on holiday?",
    ),
    Kind(
        "illness",
        {
            "what": ("shellfish", "penicillin", "hazelnuts", "cat hair", "birch pollen", "wasp stings"),
            "how": (
                "my lips swelled like balloons",
                "I was covered in spots",
                "I spent the night in the emergency room",
                "I couldn't breathe properly",
            ),
        },
        (
            "Turns out {what} and I are not friends: {how} {when}.",
            "{when} {how}. The doctor says {what}, from now on I carry a pen with me.",
            "No more {what} for me. {how}, never again.",
        ),
        (
            ("You were gone so suddenly, is everything all right?", "Now it is. {how}. It was the {what}."),
            ("Anything I should keep in mind when I cook for you?", "Oh, yes: {what}! {when} {how}."),
        ),
        (
            "What is {me} allergic to?",
            "What must be avoided when cooking for or treating {me}?",
            "Why did {me} need a doctor?",
        ),
        ("When did {me} have the allergic reaction?",),
    ),
    Kind(
        "study",
        {
            "subject": ("Portuguese", "midwifery", "astronomy", "accounting", "sign language", "landscape design"),
            "place": (
                "the evening college",
                "an online school",
                "the university in the next town",
                "a retired teacher on our street",
            ),
        },
        (
            "I enrolled at {place}: {subject}, two evenings a week. Started {when}.",
            "My brain hurts. {subject} at {place} is no joke, the exam is in spring.",
            "Passed! {when} I got the result from {place}. {subject} certificate is on the wall.",
        ),
        (
            ("What are all those flash cards for?", "{subject}! I've been going to {place} since {when}."),
            ("Are you still thinking about going back to school?", "Not thinking, doing! {place}, and it's {subject}."),
        ),
        ("What is {me} learning?", "Which course did {me} sign up for?", "Where is {me} taking lessons?"),
        ("When did {me} begin studying {subject}?",),
        "Which subjects has {me} studied?",
    ),
    Kind(
        "book",
        {
            "title": (
                "The Salt Road",
                "Eleven Kinds of Dusk",
                "A Field of Nettles",
                "Letters to the Lighthouse Keeper",
                "The Clockmaker's Orchard",
            ),
            "why": (
                "I cried on the bus",
                "the ending made me furious",
                "it made me call my mother",
                "it taught me to be patient with myself",
            ),
        },
        (
            "Have you read {title}? I finished it {when} and {why}.",
            "{title} kept me awake till three. {why}.",
            "I keep recommending {title} to everyone; {why}.",
        ),
        (
            ("What should I take to the beach to read?", "{title}. I finished it {when}, {why}."),
            ("Any good stories lately?", "One! {title}. {why}."),
        ),
        ("Which novel did {me} enjoy?", "What has {me} been reading?", "How did {me} feel about {title}?"),
        ("When did {me} finish {title}?",),
        "Which books has {me} read?",
    ),
    Kind(
        "music",
        {
            "thing": ("the cello", "the accordion", "drums", "the banjo", "the church organ"),
            "where": (
                "at the summer fair",
                "in the laundry room",
                "with the neighbours' band",
                "at my cousin's wedding",
            ),
        },
        (
            "I played {thing} in front of people for the first time {when}, {where}. My knees!",
            "Been practising {thing} every night, the whole building knows the piece by now.",
            "{where}, {when}: me and {thing}. They even clapped.",
        ),
        (
            ("Do you still make music?", "More than ever! {thing}, and {when} I even played {where}."),
            ("What was that noise when you called?", "Me, practising {thing}. Sorry, neighbours."),
        ),
        ("Which instrument does {me} play?", "Where did {me} perform?", "What is {me}'s musical pursuit?"),
        ("When did {me} perform in public?", "When did {me} play {thing} {where}?"),
    ),
    Kind(
        "family",
        {
            "who": ("my brother", "my grandmother", "my eldest daughter", "my aunt Rosa", "my stepson"),
            "what": (
                "got engaged on a ferry",
                "turned ninety and danced all night",
                "passed the driving test at the fifth attempt",
                "opened a flower shop",
                "came out to the whole family, and everyone hugged",
            ),
        },
        (
            "You won't believe it: {who} {what} {when}!",
            "It was an emotional week. {who} {what} and I held the camera.",
            "{when} {who} {what}. I'm still smiling.",
        ),
        (
            ("How is everybody at home?", "Wonderful, actually. {who} {what} {when}."),
            ("What were you celebrating?", "Oh! {who} {what}. We didn't sleep at all."),
        ),
        (
            "What happened to {who_of}?",
            "Which family milestone did {me} celebrate?",
            "What did a relative of {me} achieve?",
        ),
        ("When was the celebration in {me}'s family?",),
        "What news of relatives has {me} shared?",
    ),
    Kind(
        "volunteer",
        {
            "where": (
                "the animal shelter",
                "the soup kitchen on Mill Street",
                "a youth centre",
                "the reading hour for refugees",
                "the beach clean-up",
            ),
            "role": (
                "washing dishes",
                "reading aloud",
                "walking the old dogs",
                "teaching kids to skate",
                "sorting donated coats",
            ),
        },
        (
            "I've started helping out at {where}, mostly {role}. It gives the week a shape.",
            "{when} was my first day at {where}. {role} doesn't sound like much but I came home happy.",
            "At {where} they put me on {role}, and a boy told me I was his favourite grown-up.",
        ),
        (
            ("What do you do with your free Saturdays now?", "I go to {where}! {role}, mainly."),
            ("What made you so cheerful {when}?", "My first day at {where}, {role}."),
        ),
        ("Where does {me} volunteer?", "How does {me} give back to the community?", "What unpaid work does {me} do?"),
        ("When did {me} start volunteering at {where}?",),
        "In which ways has {me} helped the community?",
    ),
    Kind(
        "garden",
        {
            "plant": ("tomatoes", "dahlias", "a fig tree", "purple beans", "sunflowers"),
            "trouble": (
                "the snails ate half of them",
                "hail flattened everything",
                "the cat sleeps on the seedlings",
                "nothing grew but nettles",
            ),
        },
        (
            "I put in {plant} {when}. So far {trouble}.",
            "My {plant} are finally coming up, although {trouble}.",
            "Who knew that {plant} need so much care? And then {trouble}.",
        ),
        (
            ("What's growing on the balcony this year?", "{plant}, since {when}. But {trouble}."),
            ("Your hands are full of earth!", "I was planting {plant}. Last time {trouble}."),
        ),
        ("What did {me} plant?", "What went wrong in {me}'s garden?", "What is {me} growing?"),
        ("When did {me} plant {plant}?",),
    ),
    Kind(
        "loss",
        {
            "what": (
                "my grandfather's watch",
                "the wedding ring",
                "my passport",
                "the keys to the allotment",
                "my mother's recipe book",
            ),
            "where": (
                "under the floorboards",
                "in the freezer, don't ask",
                "at the bottom of the laundry",
                "at the tram depot",
                "in the pocket of a coat I gave away",
            ),
        },
        (
            "I was in tears {when}, I thought I'd never see {what} again. And then it turned up {where}.",
            "Found it! {what} was {where} all the time.",
            "{what} is back. {where}! I turned the whole flat upside down first.",
        ),
        (
            ("Did you find it in the end?", "Yes, {when}: {what} was {where}!"),
            ("Why did you sound so desperate on the phone?", "I had lost {what}. It was {where}, luckily."),
        ),
        (
            "What did {me} lose and find again?",
            "Where was {me}'s missing treasure?",
            "Which keepsake had gone missing?",
        ),
        ("When did {me} recover {what}?",),
    ),
    Kind(
        "plan",
        {
            "plan": (
                "open a repair café",
                "walk the whole coast path",
                "foster a child",
                "build a wood-fired sauna",
                "learn to fly a glider",
                "record an album in the barn",
            ),
            "why": (
                "life is short",
                "I promised it to my late uncle",
                "I've talked about it for ten years",
                "the kids keep asking",
            ),
        },
        (
            "I've decided: next year I'm going to {plan}. {why}.",
            "Don't laugh, but I want to {plan}. {why}.",
            "The plan stands, I will {plan}, even if it takes all my savings.",
        ),
        (
            ("What are you saving up for?", "I'm going to {plan}. {why}."),
            ("And what's next for you?", "Something big: I want to {plan}."),
        ),
        ("What does {me} intend to do in the future?", "What is {me}'s dream?", "Why does {me} want to {plan}?"),
        (),
        "What plans and dreams has {me} spoken of?",
    ),
    Kind(
        "likes",
        {
            "yes": (
                "rye bread with too much butter",
                "thunderstorms",
                "black-and-white films",
                "long train rides",
                "cold lakes",
                "lemon sorbet",
            ),
            "no": (
                "surprise parties",
                "cilantro",
                "open-plan offices",
                "horror films",
                "crowded beaches",
                "small talk in lifts",
            ),
        },
        (
            "Give me {yes} and I'm happy. Just keep {no} away from me.",
            "I could never say no to {yes}. But {no}? No thanks.",
            "You know me: {yes} any day, {no} never.",
        ),
        (
            ("What would make the perfect day for you?", "{yes}, obviously. And no {no}."),
            ("So what can I do for your birthday?", "Anything with {yes}. Please, no {no}!"),
        ),
        ("What does {me} enjoy most?", "What does {me} dislike?", "What would be a good treat for {me}?"),
        (),
    ),
    Kind(
        "repair",
        {
            "thing": ("the boiler", "the roof", "my old bicycle", "the washing machine", "the garden gate"),
            "fix": (
                "a video from a Dutch plumber",
                "three screws and a prayer",
                "my neighbour's welding set",
                "parts from the scrapyard",
            ),
        },
        (
            "{thing} gave up {when}. I mended it with {fix}.",
            "I fixed {thing} myself! All it took was {fix}.",
            "Two days without {thing}, then {fix} saved us.",
        ),
        (
            ("Why were you cold all week?", "Not any more: {thing} is running again. {fix}, since {when}."),
            ("Did the repairman come?", "Never! I did it on my own, {fix}."),
        ),
        ("What did {me} repair?", "How did {me} get {thing} working again?", "What broke at {me}'s place?"),
        ("When did {thing} of {me} break?",),
    ),
    Kind(
        "concert",
        {
            "band": (
                "the Velvet Herons",
                "Mira Solano",
                "an orchestra from Riga",
                "the Tin Lanterns",
                "Kofi and the Tides",
            ),
            "where": (
                "in an old swimming pool",
                "on the castle hill",
                "at the jazz cellar",
                "in the rain, at the open air",
            ),
        },
        (
            "{when} I saw {band} {where}, I've no voice left.",
            "{band} played {where} and I was in the front row!",
            "I still have goosebumps from {band}. It was {where}.",
        ),
        (
            ("Why are you so hoarse?", "{band}! {when}, {where}."),
            ("Did you get the tickets?", "I did, and {band} were even better {where} than on the record."),
        ),
        ("Which act did {me} see live?", "Whose performance did {me} attend?", "Where was the gig {me} went to?"),
        ("When did {me} see {band}?",),
        "Which musicians has {me} seen live?",
    ),
    Kind(
        "food",
        {
            "dish": ("pierogi", "sourdough", "a green curry", "apple strudel", "tamales", "ramen from scratch"),
            "who": (
                "for forty people",
                "with my nephew",
                "from a card in my grandmother's hand",
                "for the street party",
            ),
        },
        (
            "I made {dish} {when}, {who}. The kitchen looks like a crime scene.",
            "My {dish} finally worked! {who}, and nothing was left.",
            "{who}: {dish}. I think I found my calling.",
        ),
        (
            ("What smells so good in that picture?", "{dish}! I made it {when}, {who}."),
            ("Have you been cooking again?", "Of course. {dish}, {who}."),
        ),
        ("What did {me} cook?", "Which recipe did {me} succeed with?", "Whom did {me} cook for?"),
        ("When did {me} prepare {dish}?",),
        "Which dishes has {me} prepared?",
    ),
    Kind(
        "car",
        {
            "car": (
                "a mint-green van",
                "an electric hatchback",
                "an old tractor",
                "a cargo bike",
                "a sidecar motorcycle",
            ),
            "use": (
                "to sleep in on weekends",
                "to get the kids to school",
                "because the train line closed",
                "just because it made me laugh",
            ),
        },
        (
            "I bought {car} {when}, {use}. Don't tell my bank.",
            "There's {car} in front of the house and it's mine! {use}.",
            "Sold the old one. Now it's {car}, {use}.",
        ),
        (
            ("How do you get around out there?", "With {car}! I got it {when}, {use}."),
            ("Whose is that thing in the driveway?", "Mine! {car}, {use}."),
        ),
        ("Which vehicle did {me} buy?", "What does {me} drive?", "Why did {me} get {car}?"),
        ("When did {me} buy {car}?",),
        now="What does {me} drive nowadays?",
    ),
)

OPENERS = (
    "Hey {you}! Good to hear from you.",
    "Hi {you}, long time no see! What's new with you?",
    "{you}! I was just thinking of you.",
    "Morning {you}, how are things?",
    "Hello stranger! How have you been?",
    "Hey, how's your week going, {you}?",
)
REPLIES = (
    "That's amazing, {you}! I'm so happy for you.",
    "Oh no, poor you. Are you okay now?",
    "Haha, that sounds exactly like you.",
    "Wow, I would never dare to do that.",
    "You're an inspiration, really.",
    "That must have been a lot to take in.",
    "I love that. Send me pictures!",
    "Take it easy, {you}, one thing at a time.",
    "Good for you! It takes courage.",
    "I know what you mean, it's been a strange year.",
    "Ha, my cousin did the same and regretted it.",
    "Thanks, that means a lot to me.",
    "Totally agree. We should do that together some day.",
    "Same here, to be honest.",
    "Oh, I needed to hear that today.",
)
CHATTER = (
    "It's been raining since the morning and the gutters are singing.",
    "Work is busy, nothing special, the usual meetings.",
    "I should sleep more, I keep saying that.",
    "We had pancakes for dinner, that kind of day.",
    "Traffic was terrible again.",
    "My phone battery dies at noon now, I need a new one.",
    "The neighbours are drilling again, so excuse the noise.",
    "I read that sleep matters more than sport. Not sure I believe it.",
    "Time flies, it's almost the end of the month.",
    "I'm trying to drink more water and less coffee.",
    "The kids next door built a snowman with sunglasses.",
    "Did you see the moon last night? Huge.",
    "I can't believe how expensive everything has become.",
)
# Sentences that carry a word of some event but say nothing about it.
DECOYS = (
    "Someone at work talks about {word} all day long, I can't hear it any more.",
    "There was a thing on the radio about {word}.",
    "Do you know anyone who knows about {word}?",
    "My sister once said {word} is overrated, I don't know.",
    "I dreamt of {word} last night, so weird.",
    "Funny that you mention {word}, I saw an ad for it.",
)
CLOSERS = (
    "I have to run, talk soon!",
    "Okay, dinner is ready. Bye {you}!",
    "Let's speak again next week.",
    "Good night, {you}.",
)
NAMES = (
    "Nora",
    "Tobias",
    "Ines",
    "Marlon",
    "Priya",
    "Callum",
    "Yusuf",
    "Greta",
    "Delia",
    "Anton",
    "Suki",
    "Rafael",
    "Wanda",
    "Emre",
    "Lucia",
    "Oskar",
    "Thandi",
    "Joel",
    "Mirela",
    "Piet",
)
