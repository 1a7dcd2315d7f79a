"""Marks of a text, independent of any question: up to sixteen flags that the arena stores for every grain."""

# ruff: noqa: RUF001  (signs of other scripts are meant)
from __future__ import annotations

import re

from memory.engine.text import dates, names, scripts
from memory.engine.text.stopwords import QUESTION_WORDS

IS_QUESTION = 1
HAS_TIME_WORD = 2
HAS_NUMBER = 4
HAS_DATE = 8
PREFERENCE = 16
STANDING = 32
FIRST_PERSON = 64
CAPITALS = 128
LIST_OR_CODE = 256

_LONGEST_TITLE = 8  # words
_LONGEST = 64  # characters of the longest chunk that is cached
_READ = 16_384  # characters of a text that are read
_ROOM = 65_536  # cached chunks; a full cache is emptied

_TIME = """
today tonight yesterday tomorrow now recently lately soon later earlier ago before after since until during while
day days week weeks weekend weekends month months year years hour hours minute minutes morning afternoon evening night
noon midnight summer winter spring autumn last next previous first once twice daily weekly monthly yearly always
gestern heute morgen hier demain ayer manana ieri domani вчера сегодня завтра
"""
_LIKING = """
like likes liked love loves loved enjoy enjoys enjoyed prefer prefers preferred preference preferences favorite
favourite favorites favourites hate hates hated dislike dislikes disliked adore adores fond always never usually
rather allergic vegan vegetarian interested passion passionate hobby hobbies fan
lieblings mag liebe gern gerne prefere prefiero gusta encanta люблю нравится любимый любимая
"""
_FIRST = """
i me my mine myself i'm i've i'd i'll im we us our ours we're we've we'll
ich mich mir mein meine wir je j'ai moi mon mes nous yo mi nosotros io noi eu meu minha ik mijn я меня мне мой моя мы
"""
_ORDERS = """
please always never remember remind ensure avoid don't from whenever prefer call want sure should must
bitte immer nie
"""
_ASKING = """
is are was were do does did can could would should
wer wann wo warum wie welche welcher qui quand comment pourquoi quel quelle quien cuando donde cual chi quando dove
perche quem onde wat waar кто где когда почему сколько
"""
_BEGINS_A_QUESTION = QUESTION_WORDS | frozenset(_ASKING.split())
# Flags of a chunk that are not stored: it may begin an instruction; it is capitalised; it ends a sentence.
_ORDER, _CAPITAL, _STOPS = 1 << 16, 1 << 17, 1 << 18
_WORDS = tuple(
    (frozenset(listed.split()), bit)
    for listed, bit in ((_TIME, HAS_TIME_WORD), (_LIKING, PREFERENCE), (_FIRST, FIRST_PERSON), (_ORDERS, _ORDER))
)
# The same words in scripts without spaces between words.
_UNSPACED = tuple(
    (re.compile(pattern), bit)
    for pattern, bit in (
        (
            "昨天|今天|明天|上周|下周|去年|明年|每天|昨日|今日|明日|先週|来週|毎日|어제|오늘|내일|지난|เมื่อวาน|วันนี้|พรุ่งนี้",
            HAS_TIME_WORD,
        ),
        ("喜欢|喜歡|最爱|讨厌|好き|嫌い|좋아|싫어|ชอบ", PREFERENCE),
        ("我|私|僕|俺|저는|나는|제가|내가|ฉัน|ผม", FIRST_PERSON),
        ("以后|以後|从现在起|總是|总是|今後|これから|必ず|앞으로|항상", STANDING),
        (r"\d+ ?[年月日년월일]", HAS_DATE),
    )
)
_WRITTEN_DATE = re.compile(r"(?<!\d)(?:(?:19|20)\d\d|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[^\W\d]{3,9}-\d{1,2}-\d{4})(?!\d)")
# Instructions to the assistant: standing rules, or how answers should be written.
_STANDING = re.compile(
    r"from now on|in (?:the )?future,|going forward|whenever (?:i|you|we)\b|every time (?:i|you)|each time (?:i|you)"
    r"|\bkeep in mind|\bmake sure|\bbe sure to|\bi(?:'d| would)? (?:want|prefer|need|like) (?:you|it if you)"
    r"|(?:^|[.!?\n,;:] *|please |\byou (?:should|must) |\band |\bso |\bbut )(?:always|never|don't ever|do not ever)\b"
    r"|\bremember (?:that|to|i|my)\b|\bcall me\b|\bplease (?:don't|do not|use|include|avoid|keep|answer|respond|reply"
    r"|format|write|call|address|provide|give|tell|explain|limit|stop|ensure|only)\b"
    r"|\b(?:when|if) i (?:ask|say|mention|request)\b|\byour (?:answers|replies|responses)\b"
    r"|(?:^|[.!?\n] *)(?:avoid|ensure|prefer|(?:don't|do not) (?:use|include|mention|call|give))\b"
)
_LISTED = re.compile(r"^[ \t]{0,8}(?:[-*•]|\d{1,2}[.)])[ \t]+\S", re.MULTILINE)
_CODED = re.compile(
    r"[;{}]$|^[ \t]{0,40}(?:def|class|import|return|const|let|var|function|select|#include)\b", re.MULTILINE
)
_ENDS_A_QUESTION = ("?", "؟", "？", "吗", "嗎", "か", "까", "ไหม")
_BRACKETS = re.compile(r" ?\([^()]*\)$")  # "Mercury (planet)": texts only say Mercury
_TRAILING = " \t\n\r\"'”’」』)]*_~。."

_chunk_flags: dict[str, int] = {}


def mark_text(text: str) -> int:
    """The marks of a text."""
    text = text[:_READ]
    marks, previous, first = 0, _STOPS, ""
    for raw in text.split():
        flags = _chunk_flags.get(raw)
        if flags is None:
            flags = _mark_chunk(raw)
        if previous & _STOPS and not first:
            first = raw
        elif flags & _CAPITAL and not previous & _STOPS:
            marks |= CAPITALS
        marks |= flags
        previous = flags
    if _is_question(text, first):
        marks |= IS_QUESTION
    if marks & _ORDER and _STANDING.search(text.lower()):
        marks |= STANDING
    if "```" in text or ("\n" in text and (_CODED.search(text) or len(_LISTED.findall(text)) > 1)):
        marks |= LIST_OR_CODE
    return marks & 0xFFFF


def _is_question(text: str, first: str) -> bool:
    """Whether the text ends like a question, or begins like one and does not end like a statement."""
    if text.rstrip(_TRAILING).endswith(_ENDS_A_QUESTION):
        return True
    return (
        not text.rstrip().endswith((".", "!", "。"))
        and names.judge_chunk(scripts.normalised(first)).core in _BEGINS_A_QUESTION
    )


def _mark_chunk(raw: str) -> int:
    """Flags of one chunk, cached."""
    normal = scripts.normalised(raw)
    chunk = names.judge_chunk(normal)
    flags = _CAPITAL * chunk.capital | _STOPS * chunk.stops
    for listed, bit in _WORDS:
        if chunk.core in listed:
            flags |= bit
    if chunk.shown & ~(dates.DIGIT | dates.MONTH | dates.SPELLED):
        flags |= HAS_TIME_WORD
    if chunk.shown & dates.DIGIT:
        flags |= HAS_NUMBER
        if _WRITTEN_DATE.search(normal):
            flags |= HAS_DATE
    # "may" and "march" are months only with a capital letter.
    if chunk.core in dates.MONTHS and (chunk.core not in ("may", "march") or normal.lstrip("\"'([")[:1].isupper()):
        flags |= HAS_DATE | HAS_TIME_WORD
    if scripts.unspaced(normal):
        for pattern, bit in _UNSPACED:
            if pattern.search(normal):
                flags |= bit
    if len(raw) <= _LONGEST:
        if len(_chunk_flags) >= _ROOM:
            _chunk_flags.clear()
        _chunk_flags[raw] = flags
    return flags


def find_title(text: str) -> str | None:
    """Title at the beginning of a text, folded like a name in another text; None without one."""
    head = text[:200].lstrip()
    line, _, rest = head.partition("\n")
    prefix, colon, remainder = line.partition(": ")
    if colon and remainder.strip():
        line = prefix
    elif not rest.strip():
        return None
    line = _BRACKETS.sub("", line.strip().strip("#*=_ ")).strip()
    if not line or line.endswith((".", "!", "?", ",", ";")) or len(line.split()) > _LONGEST_TITLE:
        return None
    cores = [names.judge_chunk(raw).core for raw in scripts.normalised(line).split()]
    if len(cores) > 1 and cores[0] in ("the", "a", "an"):
        del cores[0]
    return " ".join(core for core in cores if core) or None
