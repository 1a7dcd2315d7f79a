"""Stop words: grammar, question words and fillers, in several languages.

Folded as `words.tokens` folds them: lower case, without accents, straight apostrophes. The lists of other languages
do not contain words that are also content words of English (German "die", French "but", Dutch "of" is one already).
"""

# ruff: noqa: RUF001  (letters of other scripts are meant)
from __future__ import annotations

_QUESTIONS = """
what whats what's when when's where where's who who's whom whose which why why's how how's
whatever whenever wherever whoever whichever however
"""

_GRAMMAR = """
a an the this that these those such same
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves one ones oneself
each every either neither both all any some no none nobody nothing nowhere somebody someone something somewhere
anybody anyone anything anywhere everybody everyone everything everywhere another other others else
and or but nor so yet if then than because as until while although though unless whereas whether since lest
of at by for with about against between into through during before after above below to from up down in out on off
over under upon within without toward towards among amongst across along around behind beneath beside besides
beyond despite except inside near onto outside per regarding throughout till via amid
am is are was were be been being have has had having do does did doing done can could will would shall should might
must ought need needs needn't dare
here there now again further once ever never always often sometimes usually just only very too also even still
already almost quite rather really pretty enough much many more most less least few fewer several lot lots little bit
not ain't aren't isn't wasn't weren't don't doesn't didn't won't wouldn't can't cannot couldn't shan't shouldn't
mustn't mightn't hasn't haven't hadn't needn't
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's that'd that'll there's there'd there'll here's let's who'd who'll who've what'd
what'll what're what've how'd how'll how're where'd when'd why'd y'all gonna wanna gotta kinda sorta lemme
dont doesnt didnt isnt arent wasnt werent cant couldnt wouldnt shouldnt hasnt havent hadnt im ive youre youve theyre
theyve thats whos hes shes
"""

_TALK = """
get gets got getting gotten let lets say says said saying tell tells told telling mention mentions mentioned mentioning
according regard kind kinds sort sorts thing things stuff way
yes yeah yep nope ok okay oh ah hey hi hello um uh hmm wow well please thanks thank
actually basically literally maybe perhaps probably especially particularly simply indeed anyway
etc eg ie vs am pm ago due
able likely certain specific respectively various different
http https www com
"""

# Function words of other languages that would otherwise be the commonest terms of their spaces.
_GERMAN = """
der das den dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen ich du er sie es wir ihr
mich mir dich dir ihn ihm uns euch mein meine meinen dein deine sein seine ihre unser ist sind bin bist waren
wurde wurden wird werden hat habe haben hatte hatten kann konnte muss soll wollen im am auf aus bei mit nach
von vom vor zu zum zur uber unter durch fur gegen ohne um wie wo wer wen wem wann warum wieso welche welcher
welches als wenn dass ob weil denn doch noch schon auch nur sehr mehr immer hier dort dann jetzt dieser diese dieses
diesen sich man nichts etwas alles
"""
_FRENCH = """
le la les un une des du de au aux et ou mais donc ni je tu il elle nous vous ils elles lui leur leurs mon ma mes
ton ta tes ses notre nos votre vos ce cet cette ces qui que quoi dont quand comment pourquoi quel quelle quels quelles
est sont suis sommes etes etait etaient ete etre avoir ont avons avez avait dans sur sous avec sans pour par chez
vers pas ne plus moins tres aussi encore toujours jamais rien tout tous toute toutes si y
"""
_SPANISH = """
el los las una unos unas del al y pero yo ella ello nosotros ustedes ellos ellas mi mis tus su sus nuestro
nuestra quien quienes cual cuales cuando donde como porque por para con sin sobre entre hasta desde hacia es son soy
eres somos era eran fue fueron ser estar esta estan estoy estaba han hay habia haber muy mas menos tambien ya siempre
nunca nada algo todo todos toda todas este estos estas ese esa eso esos esas lo le les nos os
"""
_ITALIAN = """
il gli uno ed ma io lui lei noi voi loro mio mia miei tuo tua suo sua nostro nostra vostro che chi cosa quale quali
quando dove perche della dello dei degli delle nel nella nei nelle sul sulla dal dalla sono sei siamo siete
erano essere avere ho hai abbiamo hanno aveva questo questa questi queste quello quella quelli piu meno molto anche
ancora sempre mai niente tutto tutti tutta tutte
"""
_PORTUGUESE = """
os um uma uns umas da dos das na nas pelo pela ao aos eu ele ela eles elas voce voces meu minha
teu tua seu seus sua suas nosso nossa quem qual quais onde porque mas sem sao sou foi foram estou nao muito muita
tambem ja sempre isso isto aquele aquela esse essa
"""
_DUTCH = """
het een en maar niet geen ik jij je hij zij wij jullie mij jou hem haar ons hun mijn jouw zijn zal
zullen wordt worden heeft hebben kan kunnen moet moeten wil aan op bij met naar van voor uit om te door over
wat wie waar wanneer waarom hoe welke welk dat deze dit die er ook nog wel al heel veel meer altijd nooit iets niets
"""
_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще
нет о из ему когда даже ну ли если уже или ни быть был него до вас вам ведь там потом себя ей они тут где есть
надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет кто этот того потому этого какой
какая какие ним этом мой моя мои эти тебе была были быть этой об это мы нас нам твой твоя ваш наш куда почему зачем
сколько при через после над перед очень
"""

# Particles, pronouns and question words of scripts without spaces.
CHINESE_PARTICLES = "的了吗嗎呢吧啊我你您他她它们們这這那是很"
# Longest first: they are cut out of a text in this order.
CHINESE_QUESTIONS = (
    "什么时候",
    "什麼時候",
    "为什么",
    "為什麼",
    "什么",
    "什麼",
    "怎么",
    "怎麼",
    "哪里",
    "哪裡",
    "哪儿",
    "哪个",
    "哪個",
    "多少",
    "谁",
    "誰",
)
_CJK = """
いつ どこ だれ なぜ なに どの どう 何 언제 어디 누구 누가 무엇 왜
の は を に が と で も へ や か ね よ な です ます した して でし まし から まで こと この その ので
도 은 는 이 가 을 를 의 에 습니 니다 입니 어요 해요 에서 으로
"""

# Words of the lists above that are content or names in an English text.
_CONTENT = """
al arm bin comment con dare das dei den die door dos dove ed ella era fin han hat hay hem hier hun io lei ma mai man mas
met mia mine mir mit mon nada nova op ob os para par pas plus pour real sang sei ser sin siete son sole sous soy ton
uber van vers wen wolf war
"""

_FOREIGN = " ".join((_GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH))
QUESTION_WORDS = frozenset(_QUESTIONS.split())
STOP = frozenset(
    {
        *QUESTION_WORDS,
        *_GRAMMAR.split(),
        *_TALK.split(),
        *(set(_FOREIGN.split()) - set(_CONTENT.split())),
        *_RUSSIAN.split(),
        *_CJK.split(),
        *CHINESE_PARTICLES,
        *CHINESE_QUESTIONS,
    }
)

# Common openings of a sentence that are no names: verbs, greetings, adverbs, adjectives and plain nouns of talk.
_COMMON = """
absolutely add additionally agree agreed allow alternatively although amazing answer anytime apparently aside ask
asked assume avoid awesome bad based believe besides best better big bring buy call can care certainly change check
cheers choose clean clearly click come congrats congratulations consider continue cook cool create currently cut dad
day days dear definitely delete describe design despite discuss draw each easy eat edit eight enjoy ensure eventually
exactly example excited explain fair feel feeling figure fill finally find fine first five follow following forget
found four friend friends full fun furthermore future generally give given glad go goes going good got great guess
guys had happy hate hello help here hi high highly home honestly hope hopefully hot house idea identify imagine
implement important improve include including incredible instead interesting job join keep kids know known last late
lately later latest learn leave life like likewise list listen live lol long look looking looks love loved luckily
make makes making man may mean meanwhile meet mom moreover morning move mum my nah new next nice night nine nothing
obviously old omg only open order our overall own pay people perfect personally pick play plus point previously put
read ready recently remember remembering remind remove reply right run sad same second see seeing seems send set seven
share short show similarly simple since sit six small so some soon sorry sounds speak speaking spend start started
stay step stop suddenly suggest summarise summarize super sure take taking talk talking ten test that there therefore
these think thinking third those though three thus time today together tomorrow tonight total totally translate true
truly try trying turn two type unfortunately unlike until update use used using visit wait wake walk want wanted watch
week welcome went wish wonderful wondering work working works world worry write wrong yay year years yesterday
"""
COMMON = frozenset(_COMMON.split())
