"""Two people who write to each other over months: short turns, questions and answers, things that change."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from benchmarks.made.labelled import BEGIN, Collection, Dice, ago
from benchmarks.made.lives import CHATTER, CLOSERS, DECOYS, KINDS, NAMES, OPENERS, REPLIES, Kind


@dataclass
class Event:
    """Something that happened to one of the two, and the turns that tell of it."""

    kind: Kind
    me: str
    you: str
    slots: dict[str, str]
    turns: list[str] = field(default_factory=list)


def conversation(number: int, *, seed: int = 1, sessions: int = 18, events: int = 34) -> Collection:
    dice = Dice(f"conversation {seed} {number}")
    first, second = dice.some(NAMES, 2)
    made = Collection(f"chat-{number}")
    lives = _events(dice, first, second, events)
    share = [lives[at::sessions] for at in range(sessions)]
    moment = BEGIN
    for at, todo in enumerate(share):
        moment = dice.later(moment, 3, 16)
        _session(dice, made, f"session-{at + 1}", moment, [first, second], todo, lives)
    _questions(dice, made, lives, first, second)
    return made


def _events(dice: Dice, first: str, second: str, count: int) -> list[Event]:
    found = []
    kinds = list(KINDS)
    dice.shuffle(kinds)
    for at in range(count):
        kind = kinds[at % len(kinds)] if at < len(kinds) else dice.choice(kinds)
        me, you = (first, second) if dice.chance(0.5) else (second, first)
        taken = [one.slots for one in found if one.kind is kind]
        for _ in range(8):
            slots = {slot: dice.choice(values) for slot, values in kind.slots.items()}
            if not any(set(slots.values()) & set(other.values()) for other in taken):
                found.append(Event(kind, me, you, slots))
                break
    return found


def _session(
    dice: Dice, made: Collection, session: str, moment: datetime, pair: list[str], todo: list[Event], lives: list[Event]
) -> None:
    speakers = pair if dice.chance(0.5) else pair[::-1]

    def say(speaker: str, text: str) -> str:
        nonlocal moment
        moment += timedelta(seconds=dice.randint(20, 200))
        return made.say(text, time=moment, speaker=speaker, session=session)

    def other(speaker: str) -> str:
        return pair[1] if speaker == pair[0] else pair[0]

    def idle(speaker: str) -> None:
        if dice.chance(0.45):
            event = dice.choice(lives)
            word = dice.choice(sorted(event.slots.values()))
            say(speaker, dice.choice(DECOYS).format(word=word))
        else:
            say(speaker, " ".join(dice.some(CHATTER, dice.randint(1, 3))))

    say(speakers[0], dice.choice(OPENERS).format(you=speakers[1]))
    say(speakers[1], f"{dice.choice(OPENERS).format(you=speakers[0])} {dice.choice(CHATTER)}")
    for event in todo:
        words = dict(event.slots, me=event.me, you=event.you, when=ago(moment, dice.choice((0, 1, 2, 4, 5, 8, 14, 20))))
        if dice.chance(0.5):
            question, answer = dice.choice(event.kind.asked)
            lead = dice.choice(("", "", f"{dice.choice(CHATTER)} ", f"Anyway, {event.me}. "))
            say(event.you, lead + question.format(**words))
            event.turns.append(say(event.me, _around(dice, _capital(answer.format(**words)))))
        else:
            told = _capital(dice.choice(event.kind.told).format(**words))
            event.turns.append(say(event.me, _around(dice, told)))
        say(event.you, _reply(dice, event))
        if dice.chance(0.4):
            say(event.me, f"{dice.choice(REPLIES).format(you=event.you)} {dice.choice(CHATTER)}")
        for _ in range(dice.randint(0, 3)):
            idle(event.me if dice.chance(0.5) else event.you)
    for _ in range(dice.randint(2, 6)):
        speaker = dice.choice(pair)
        idle(speaker)
        if dice.chance(0.6):
            say(other(speaker), dice.choice(REPLIES).format(you=speaker))
    say(speakers[0], dice.choice(CLOSERS).format(you=speakers[1]))


def _questions(dice: Dice, made: Collection, lives: list[Event], first: str, second: str) -> None:
    told = [event for event in lives if event.turns]
    for event in told:
        same = [one for one in told if one.kind is event.kind and one.me == event.me]
        words = dict(event.slots, me=event.me, you=event.you)
        words["who_of"] = event.slots.get("who", "").replace("my ", f"{event.me}'s ")
        evidence = [turn for one in same for turn in one.turns]
        query = _third(dice.choice(event.kind.single).format(**words), event.me)
        named = any(value in query for value in event.slots.values())
        made.ask(query, event.turns if named else evidence, "single" if named or len(same) == 1 else "multi-hop")
        if event.kind.when and dice.chance(0.6):
            query = _third(dice.choice(event.kind.when).format(**words), event.me)
            made.ask(query, event.turns if any(v in query for v in event.slots.values()) else evidence, "temporal")
        if len(same) > 1 and same[-1] is event:
            if event.kind.all_of:
                made.ask(event.kind.all_of.format(**words), evidence, "multi-hop")
            if event.kind.now:
                made.ask(event.kind.now.format(**words), event.turns, "update")
        if same == [event] and dice.chance(0.12):
            swapped = dict(words, me=event.you, you=event.me)
            if not any(one.kind is event.kind and one.me == event.you for one in told):
                made.ask(_third(dice.choice(event.kind.single).format(**swapped), event.you), [], "no answer")
    for me in (first, second):
        fond = [turn for one in told if one.kind.name == "likes" and one.me == me for turn in one.turns]
        if fond:
            made.ask(f"What present or outing would suit {me}?", fond, "preference")
            made.ask(f"How could {me} best be cheered up?", fond, "preference")


def _around(dice: Dice, text: str) -> str:
    """The same with the filling that people put before and after the thing itself."""
    before = f"{dice.choice(REPLIES).format(you='dear')} " if dice.chance(0.4) else ""
    after = f" {dice.choice((*CHATTER, 'And how about you?', 'What do you think?'))}" if dice.chance(0.5) else ""
    return before + text + after


def _reply(dice: Dice, event: Event) -> str:
    """The friend takes up a word of it now and then, which makes the reply look like the telling."""
    word = dice.choice(sorted(event.slots.values())).replace("my ", "your ")
    echo = dice.choice((f" I keep thinking of {word}.", f" Seriously, {word}!", f" How did it come to {word}?", "", ""))
    more = f" {dice.choice(CHATTER)}" if dice.chance(0.4) else ""
    return dice.choice(REPLIES).format(you=event.me) + echo + more


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _third(query: str, me: str) -> str:
    """Events are told in the first person and asked about in the third."""
    return f" {query}".replace(" my ", f" {me}'s ").replace(" I ", " they ").strip()
