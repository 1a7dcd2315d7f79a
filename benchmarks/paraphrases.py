"""A question asked again in other words, by machine: its keywords alone, with synonyms, without its rarest word.

The table of synonyms is general English, written by hand; it knows nothing of any set that is measured.
"""

from __future__ import annotations

import re

from memory.engine.index.space_index import Index
from memory.engine.text import words

# One pair a word; inflected forms stand for themselves, because a stemmer may not undo an irregular one.
_PAIRS = """
activities:pastimes activity:pastime advice:guidance afraid:scared aim:goal amazing:incredible angry:furious
animal:creature animals:creatures annual:yearly apartment:flat approximately:roughly area:region arrive:reach
arrived:reached assist:help attend:visit attended:visited author:writer award:prize awards:prizes baby:infant
beautiful:lovely began:started begin:start beginning:start big:large bike:bicycle boss:supervisor bought:purchased
boyfriend:partner build:construct built:constructed business:company busy:occupied buy:purchase car:automobile
career:profession cause:reason change:alteration changes:alterations charity:nonprofit cheap:inexpensive child:kid
children:kids choose:select chose:selected city:town class:course classes:courses close:near clothes:garments
collect:gather college:university companies:firms company:firm concern:worry country:nation create:make created:made
dad:father daughter:girl decide:choose decided:chose describe:characterise described:characterised desire:wish
difficult:hard dinner:supper discover:find discovered:found discuss:talk discussed:talked doctor:physician
dream:aspiration dreams:aspirations drink:beverage earn:gain eat:consume employer:boss encourage:motivate
encouraged:motivated end:finish enjoy:like enjoys:likes enjoyed:liked event:occasion events:occasions exam:test
excited:thrilled exercise:workout expensive:costly experience:undergo experienced:underwent family:relatives
famous:renowned fast:quick favorite:preferred favourite:preferred feel:sense feeling:emotion feelings:emotions
film:movie films:movies finish:complete finished:completed fix:repair fixed:repaired food:meal foods:meals
friend:companion friends:companions frequently:often fun:entertaining game:match games:matches garden:yard get:receive
gift:present gifts:presents girlfriend:partner give:offer gave:offered given:offered goal:objective goals:objectives
got:received group:team grow:develop guide:lead happen:occur happened:occurred happy:glad hard:tough hate:dislike
help:assist helped:assisted helps:assists hobbies:pastimes hobby:pastime holiday:vacation home:residence
house:residence huge:enormous husband:spouse idea:thought ideas:thoughts ill:sick illness:disease
important:significant improve:enhance improved:enhanced injured:hurt injury:wound inspire:motivate inspired:motivated
interested:curious interests:passions invite:ask invited:asked item:thing items:things job:occupation join:enter
joined:entered journey:trip keep:retain kid:child kids:children kind:type kinds:types learn:study learned:studied
leave:depart left:departed like:enjoy likes:enjoys live:reside lives:resides lived:resided location:place look:appear
lose:misplace lost:misplaced love:adore loves:adores make:create made:created makes:creates mad:angry main:primary
marry:wed married:wedded meal:dish meet:encounter met:encountered meeting:appointment mention:note mentioned:noted
method:way mom:mother mother:mum move:relocate moved:relocated movie:film movies:films music:songs name:title
named:titled need:require needs:requires new:recent obtain:get often:frequently old:aged opinion:view
organisation:institution organization:institution organize:arrange organized:arranged own:possess owns:possesses
paint:draw painted:drew painting:picture paintings:pictures parent:mother partner:companion party:celebration
pastime:hobby people:persons perform:play performed:played person:individual pet:animal pets:animals photo:picture
photos:pictures picture:photo pictures:photos place:location places:locations plan:intend planning:intending
plans:intentions planned:intended play:perform played:performed popular:beloved practice:train practise:train
prefer:favour present:gift problem:difficulty problems:difficulties profession:occupation project:undertaking
projects:undertakings purchase:buy purchased:bought quit:leave rain:shower reaction:response reason:motive
reasons:motives receive:get received:got recent:latest recently:lately recommend:suggest recommended:suggested
relationship:bond relax:unwind relatives:family rent:lease reply:answer restaurant:diner result:outcome road:street
sad:unhappy say:state said:stated scared:frightened school:academy see:view seen:viewed share:tell shared:told
shop:store shops:stores show:display showed:displayed sick:ill significant:important similar:alike sister:sibling
brother:sibling small:little smart:clever song:tune songs:tunes speak:talk spoke:talked spouse:partner start:begin
started:began starting:beginning state:condition store:shop story:tale stories:tales street:road stress:pressure
strong:powerful student:pupil study:learn studied:learned stuff:things suggest:recommend suggested:recommended
support:back supported:backed surprise:astonish surprised:astonished talk:speak talked:spoke task:duty teach:instruct
teacher:instructor tell:inform told:informed test:exam thing:object things:objects think:believe thought:believed
tired:exhausted town:city travel:journey traveled:journeyed travelled:journeyed trip:journey trips:journeys
try:attempt tried:attempted trying:attempting type:sort types:sorts university:college use:utilise used:utilised
vacation:holiday vehicle:car visit:see visited:saw volunteer:help volunteered:helped wait:stay walk:stroll want:desire
wants:desires wanted:desired watch:view watched:viewed way:manner weather:climate wedding:marriage wife:spouse
win:achieve won:achieved wonderful:marvellous work:labour works:labours worked:laboured workplace:office worry:concern
worried:concerned write:compose wrote:composed written:composed yearly:annual young:youthful
"""
SYNONYMS = dict(pair.split(":") for pair in _PAIRS.split())
_LETTERS = re.compile(r"[^\W\d_]+")

KINDS = ("keywords", "synonyms", "without the rarest")


def keywords(text: str) -> str:
    """What is left when everything that is grammar is gone; the text itself where nothing else is."""
    kept = [chunk for chunk in text.split() if _tells(chunk)]
    return " ".join(kept) if kept else text


def synonyms(text: str) -> str:
    """Every word that has a synonym in the table gives way to it."""

    def other(match: re.Match[str]) -> str:
        word = match.group()
        found = SYNONYMS.get(word.lower())
        if found is None:
            return word
        return found.capitalize() if word[0].isupper() else found

    return _LETTERS.sub(other, text)


def without_rarest(text: str, index: Index) -> str:
    """Without the word that says most: of those that stand in the space at all, the one in the fewest grains."""
    chunks = text.split()
    rarity = [_frequency(chunk, index) for chunk in chunks]
    known = [count for count in rarity if count > 0]
    if len(known) < 2:
        return text
    rarest = rarity.index(min(known))
    return " ".join(chunk for at, chunk in enumerate(chunks) if at != rarest)


def of(text: str, index: Index) -> dict[str, str]:
    return dict(zip(KINDS, (keywords(text), synonyms(text), without_rarest(text, index)), strict=True))


def _tells(chunk: str) -> bool:
    # A chunk of grammar alone is given back as its tokens: those are no terms of a longer text.
    return words.terms(f"{chunk} {_SENTINEL}")[:-1] != []


_SENTINEL = "zq"


def _frequency(chunk: str, index: Index) -> int:
    if not _tells(chunk):
        return 0
    return int(index.postings.spans(words.keys(words.terms(chunk))).frequency.min())
