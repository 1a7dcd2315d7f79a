# ruff: noqa: RUF001 - tables of sentences read best one to a line
"""Notes and small chats in German, French, Spanish and Chinese, and spaces where they lie side by side."""

from __future__ import annotations

from datetime import timedelta

from benchmarks.made.labelled import BEGIN, Collection, Dice

# Per language: lists for the slots, then (sentence, question, category), filling, and questions nothing answers.
TONGUES: dict[str, dict[str, tuple]] = {  # type: ignore[type-arg]
    "de": {
        "who": ("Anja", "Opa Heinz", "die Nachbarin", "Herr Vogt", "Lena", "mein Bruder"),
        "thing": (
            "das Fahrrad",
            "die Waschmaschine",
            "den Rasenmäher",
            "die Steuererklärung",
            "das Sofa",
            "den Drucker",
        ),
        "place": ("Graz", "Lübeck", "Basel", "Rostock", "Bozen", "Görlitz"),
        "food": ("Kohlrouladen", "Linsensuppe", "Apfelkuchen", "Käsespätzle", "Heringssalat"),
        "facts": (
            ("{who} ist letzten Monat nach {place} umgezogen.", "Wo wohnt {who} inzwischen?", "single"),
            (
                "{who} hat sich {thing} von uns geliehen und noch nicht zurückgebracht.",
                "Was schuldet uns {who} noch?",
                "single",
            ),
            (
                "Am liebsten esse ich {food}, davon kann ich nie genug bekommen.",
                "Was könntest du mir zum Abendessen vorschlagen?",
                "preference",
            ),
            (
                "Bitte antworte mir ab jetzt immer in kurzen Sätzen.",
                "Wie sollen Antworten an mich formuliert sein?",
                "instruction",
            ),
            ("{who} hat am {n}. März Geburtstag und wird sechzig.", "Wann feiert {who} Geburtstag?", "temporal"),
            (
                "Die Werkstatt in {place} verlangt {n} Euro für die Reparatur.",
                "Wie teuer ist die Reparatur in {place}?",
                "single",
            ),
            (
                "In {place} haben wir {who} kennengelernt, es hat geschneit.",
                "Bei welcher Gelegenheit trafen wir {who} zum ersten Mal?",
                "single",
            ),
        ),
        "fill": (
            "Heute nichts Besonderes, nur Regen.",
            "{who} hat angerufen, ging um nichts.",
            "Über {place} kam etwas im Radio.",
            "Noch {food} einkaufen.",
            "Preise für {thing} vergleichen.",
            "Müde, aber zufrieden.",
        ),
        "none": ("Welche Schuhgröße hat der Briefträger?", "Wie hieß der Hund von Tante Erna?"),
    },
    "fr": {
        "who": ("Camille", "mon voisin", "Mme Perrin", "oncle Marcel", "Élodie", "le plombier"),
        "thing": ("la tondeuse", "le vélo", "la machine à laver", "l'imprimante", "le canapé"),
        "place": ("Nantes", "Annecy", "Lille", "Bayonne", "Dijon"),
        "food": ("la ratatouille", "le gratin dauphinois", "les crêpes", "la soupe à l'oignon"),
        "facts": (
            ("{who} a déménagé à {place} le mois dernier.", "Où habite {who} maintenant ?", "single"),
            (
                "{who} nous a emprunté {thing} et ne l'a pas encore rendu.",
                "Qu'est-ce que {who} doit nous rapporter ?",
                "single",
            ),
            (
                "Mon plat préféré reste {food}, je pourrais en manger tous les jours.",
                "Que me conseilles-tu pour le dîner ?",
                "preference",
            ),
            (
                "À partir de maintenant, réponds-moi toujours en phrases courtes.",
                "Comment faut-il me répondre ?",
                "instruction",
            ),
            ("L'anniversaire de {who} tombe le {n} mars.", "Quand fête-t-on {who} ?", "temporal"),
            (
                "Le garage de {place} demande {n} euros pour la réparation.",
                "Combien coûte la réparation à {place} ?",
                "single",
            ),
            (
                "C'est à {place} que nous avons rencontré {who}, sous la neige.",
                "Dans quelle ville avons-nous connu {who} ?",
                "single",
            ),
        ),
        "fill": (
            "Rien de spécial aujourd'hui, il pleut.",
            "{who} a téléphoné pour rien.",
            "Un reportage sur {place} à la radio.",
            "Acheter de quoi faire {food}.",
            "Comparer les prix pour {thing}.",
        ),
        "none": ("Quelle est la pointure du facteur ?",),
    },
    "es": {
        "who": ("Lucía", "el vecino", "la tía Pilar", "don Ramón", "Mateo", "mi cuñada"),
        "thing": ("la bicicleta", "la lavadora", "el cortacésped", "la impresora", "el sofá"),
        "place": ("Cádiz", "León", "Zaragoza", "Vigo", "Málaga"),
        "food": ("el gazpacho", "las croquetas", "la fabada", "el arroz con leche"),
        "facts": (
            ("{who} se mudó a {place} el mes pasado.", "¿Dónde vive ahora {who}?", "single"),
            ("{who} nos pidió prestada {thing} y todavía no ha vuelto.", "¿Qué nos debe {who}?", "single"),
            (
                "Lo que más me gusta comer es {food}, no me canso nunca.",
                "¿Qué me recomiendas para cenar?",
                "preference",
            ),
            ("A partir de ahora respóndeme siempre con frases cortas.", "¿Cómo hay que contestarme?", "instruction"),
            ("El cumpleaños de {who} es el {n} de marzo.", "¿Cuándo celebra {who} su cumpleaños?", "temporal"),
            ("El taller de {place} pide {n} euros por el arreglo.", "¿Cuánto cuesta el arreglo en {place}?", "single"),
            ("A {who} lo conocimos en {place}, un día de nieve.", "¿En qué ciudad conocimos a {who}?", "single"),
        ),
        "fill": (
            "Hoy nada especial, solo lluvia.",
            "Llamó {who}, nada urgente.",
            "En la radio hablaron de {place}.",
            "Comprar para hacer {food}.",
            "Comparar precios de {thing}.",
        ),
        "none": ("¿Qué número calza el cartero?",),
    },
    "zh": {
        "who": ("小林", "王阿姨", "李老师", "表哥", "张医生", "邻居老陈"),
        "thing": ("自行车", "洗衣机", "打印机", "沙发", "割草机"),
        "place": ("杭州", "成都", "青岛", "西安", "厦门"),
        "food": ("红烧肉", "酸辣汤", "葱油饼", "清蒸鱼"),
        "facts": (
            ("{who}上个月搬到{place}去了。", "{who}现在住在哪里？", "single"),
            ("{who}借走了我们的{thing}，还没有还。", "{who}欠我们什么东西？", "single"),
            ("我最喜欢吃{food}，怎么吃都不腻。", "晚饭给我推荐点什么？", "preference"),
            ("从现在起请一直用简短的句子回答我。", "应该怎样回答我？", "instruction"),
            ("{who}的生日是三月{n}号。", "{who}什么时候过生日？", "temporal"),
            ("{place}的修理店要价{n}元。", "在{place}修理要多少钱？", "single"),
            ("我们是在{place}认识{who}的，那天下着雪。", "我们在哪个城市认识了{who}？", "single"),
        ),
        "fill": (
            "今天没什么特别的，一直下雨。",
            "{who}打来电话，没什么要紧事。",
            "广播里讲到{place}。",
            "记得买{food}的材料。",
            "比较一下{thing}的价格。",
        ),
        "none": ("邮递员穿多大的鞋？",),
    },
}


def tongue(number: int, *languages: str, seed: int = 1, count: int = 160) -> Collection:
    """One language, or several in one space; every other collection has two speakers and sessions."""
    dice = Dice(f"tongue {seed} {number} {languages}")
    made = Collection(f"{'-'.join(languages)}-{number}")
    moment = BEGIN
    open_facts = [(name, fact) for name in languages for fact in TONGUES[name]["facts"] for _ in range(4)]
    dice.shuffle(open_facts)
    chat = number % 2 == 1
    asked: set[str] = set()
    told: list[tuple[str, str, str, str]] = []
    for at in range(count):
        name, fact = open_facts.pop() if open_facts and at % 3 == 0 else (dice.choice(languages), None)
        words = TONGUES[name]
        slots: dict[str, object] = {slot: dice.choice(words[slot]) for slot in ("who", "thing", "place", "food")}
        slots["n"] = dice.randint(2, 30)
        moment = dice.later(moment, 0.2, 3)
        speaker = ("Noor", "Jakob")[at % 2] if chat else ""
        session = f"session-{at // 16 + 1}" if chat else ""
        sentence, query, category = fact or (dice.choice(words["fill"]), "", "")
        text = sentence.format(**slots)
        item = made.say(text[:1].upper() + text[1:], time=moment, speaker=speaker, session=session)
        if query:
            told.append((query.format(**slots), item, category, name))
        moment += timedelta(minutes=5)
    for query, _, category, _ in told:
        if query not in asked:
            asked.add(query)
            made.ask(query, [item for same, item, _, _ in told if same == query], category)
    for name in languages:
        for query in TONGUES[name]["none"]:
            made.ask(query, [], "no answer")
    return made
