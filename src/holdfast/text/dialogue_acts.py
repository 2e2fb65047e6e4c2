"""Classify the dialogue act of a message: question, request, statement, reply, or small talk.

The rules look at the openings of sentences and clauses, in English and Spanish. They need no punctuation, because dictated
messages have none. A message that states anything is a statement, even if it also asks or requests something. There is one
exception: a short answer to the previous question is a reply.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.no_answers import is_no_answer
from holdfast.text.sentences import split_sentences
from holdfast.types import Act

_MAX_REPLY_WORDS: Final = 40
"""Maximum number of words of a message that counts as a reply to the question before it."""
_MAX_SENTENCES: Final = 40
"""Maximum number of sentences that are examined. A longer message is almost always a statement."""
_MAX_CHARACTERS: Final = 8_000
"""Maximum number of characters that are examined. Splitting a megabyte into sentences takes half a second."""
_MAX_REQUEST_WORDS: Final = 12
"""Maximum number of words of a pure request. A longer one almost always gives a detail or a reason."""
_MIN_STATEMENT_WORDS: Final = 3
"""Minimum number of words of a statement, unless it begins with a subject such as "I" or "my"."""

_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = regex(
    r"[,;:()—–]|\.{2,}|\b(?:because|cause|cuz|coz|cos|since|so|but|and|cause|as|porque|xq|pq|pero|y|ya que|es que|asi que|pues)\b"
)
_ADDRESS = (
    "hey hi hello ok okay so well um uh uhm hmm and but also oh ah please pls plz sorry quick right now then alright listen anyway "
    "actually just yo say wait girl bro man mate love dear honey sis dude look quick hang on oye oiga hola bueno vale pues y pero ah oh eh mira perdon perdona perdone disculpa disculpe venga che vos ahora "
    "entonces porfa tio tia wey guey parce mijo mija amor corazon carino manito marica hermano alexa siri google asistente ey epa ve mire a ver buenas"
)
_OPENERS: Final = frozenset(_ADDRESS.split())
"""Words to skip at the start of a sentence, such as "hey" or "ok"."""

_QUESTION_WORDS: Final = frozenset(
    "what whats what's wat who whos who's whom whose where wheres where's when whens when's why whys why's which how hows how's "
    "wen wher wot wats wots que cual cuales quien quienes cuando cuanto cuanta cuantos cuantas adonde".split()
)
_SPANISH_QUESTION: Final = frozenset("como donde".split())
"""Spanish question words that also begin statements ("como siempre"). They count only if a verb follows directly."""
_INVERTED: Final = frozenset(
    "do does did don't dont doesn't doesnt didn't didnt is are was were isn't isnt aren't arent wasn't wasnt am can could can't cant "
    "couldn't couldnt will would won't wouldn't shall should shouldn't has have had hasn't haven't may might must".split()
)
_PRONOUNS: Final = frozenset("i you he she it we they u".split())
_SUBJECTS: Final = frozenset(
    "i you he she it we they my your his her our their the this that these those there a an any anyone anybody someone somebody "
    "everyone me".split()
)
_ASKING: Final = regex(
    r"(?:do you (?:know|remember|recall|happen)|any idea|any chance|remind me (?:what|who|where|when|how|which|why)|"
    r"tell me (?:what|who|where|when|how|which|why|about)|what about|how about|how come|"
    r"sabes|sabe|sabras|sabe usted|recuerdas|recuerda usted|te acuerdas|se acuerda|te acordas|os acordais|"
    r"(?:dime|decime|digame) que|(?:dime|decime|digame|recuerdame|recordame) (?:cual|quien|donde|cuando|como|cuanto|a que)|"
    r"(?:a|de|en|por|para|con|desde|hasta) (?:que|cual|quien|donde|cuanto|cuantos|cuantas)\b(?! (?:me|te|se|no|el|la|los|las) )|"
    r"por que|hay (?:algun|alguna|algo)|tengo (?:algun|alguna|algo))\b"
)
_LATE_QUESTION: Final = regex(
    r"(?:[^\W_]+ ){1,3}(?:(?:what|who|where|when|which|why|how) (?:is|are|was|were|did|do|does|has|have|had|can|should|much|many|long|"
    r"old|far|often|come|u|you|i)|what(?:'s|s)|who(?:'s|s)|where(?:'s|s)|when(?:'s|s)|how(?:'s|s))\b"
)
"""Matches a question after one to three other words, such as "yo quick" or "my love"."""
_TOPIC_QUESTION: Final = regex(
    r"(?:mis?|el|la|los|las|lo|tus?|sus?|l[oa]s? de) (?:\S+ ){1,6}?(?:como|cuando|donde|cual|quien|cuanto|a que hora|que dia) "
    r"(?:es|era|fue|son|eran|esta|estaba|queda|quedaba|se llama|se llamaba|vence|sale|toca|cuesta|vale)$"
)
"""Matches a Spanish question that names its topic first: "mi dentista cómo se llama"."""
_ACCENTED: Final = regex(
    r"[¿¡\"'\s-]*(?:(?:a|de|en|con|por|para|desde|hasta) )?(?:qué|cuál(?:es)?|quién(?:es)?|cómo|dónde|adónde|cuándo|cuánt[oa]s?)\b"
)
"""Matches a Spanish question word with its accent. Without the accent, the same word often begins a statement."""
_REQUEST: Final = regex(
    r"(?:(?:can|could|would|will|wud|cud) (?:you|u|ya)|i (?:need|want) you to|i'd like you to|help me|let me (?:know|see)|let's|lets|"
    r"give me|tell me|show me|find me|get me|make me|send me|read me|wake me|set|play|stop|pause|skip|start|turn|add|"
    r"remove|delete|cancel|call|text|email|write|draft|word|rewrite|reword|translate|convert|calculate|explain|summarize|"
    r"summarise|list|name|spell|define|suggest|recommend|book|order|schedule|search|look up|google|check|find|open|close|show|read|"
    r"put|make|create|generate|compare|describe|repeat|count|plan|pick|choose|fix|change|update|save|forget|"
    r"(?:me )?(?:puedes|podes|puede|podrias|podria|podeis|pueden)|ayudame|ayudeme|"
    r"(?:pon|ponme|pone|poneme|ponga|pongame|dime|decime|digame|dame|deme|haz|hazme|hace|haceme|haga|hagame|escribe|escribeme|escribime|"
    r"escriba|escribame|busca|buscame|busque|busqueme|avisame|aviseme|explica|explicame|"
    r"expliqueme|explique|traduce|traduceme|traducime|traduzca|calcula|calculame|calcule|manda|mandame|mandale|mande|envia|enviame|"
    r"llama|llame|agrega|agregame|agregue|anade|quita|quite|borra|borre|cancela|cancele|"
    r"reproduce|para|pausa|sube|baja|apaga|prende|enciende|muestra|muestrame|mostrame|ensename|lee|leeme|resume|resumeme|resumime|"
    r"cuenta|cuentame|contame|cuenteme|recomienda|recomiendame|recomendame|recomiendeme|sugiere|sugiereme|sugerime|dale|despiertame|"
    r"despierteme|redacta|redactame|corrige|corrigeme|revisa|checa|checame|fijate|compara|repite|quiero que|necesito que))\b"
)
_POLITE_REQUEST: Final = regex(
    r"(?:(?:can|could|would|will|wud|cud) (?:you|u|ya)|(?:me )?(?:puedes|podes|puede|podrias|podria|podeis|pueden)) (?!tell|remember|decir|recordar)"
)
"""Matches a request in the form of a question: "could you read that again?"."""
_SUBJECT_OPENING: Final = regex(
    r"(?:i|i'm|im|i've|ive|i'd|id|i'll|ill|we|we're|we've|my|our|mine|he|he's|she|she's|they|they're|it's|its|there's|"
    r"yo|mi|mis|nuestro|nuestra|nuestros|nuestras|me|nos|el|ella|ellos|ellas|soy|somos|estoy|estamos|tengo|tenemos|vivo|trabajo|"
    r"voy|vamos|fui|fuimos|compre|compramos|empece|deje|cambie|odio|prefiero|necesito|no puedo|no me|no tengo|se me|le|les|su|sus)\b"
)
_INDIRECT_QUESTION: Final = regex(
    r"(?:(?:i )?(?:just |really )?(?:need|want|wanna|would like|'d like) to know|i'?d like to know|(?:i )?wonder|"
    r"(?:i'?m |i was |just |still )?(?:wondering|trying to (?:remember|recall|work out|figure out|find out))|(?:you )?got any (?:idea|clue)|"
    r"(?:i )?(?:forgot|forget|can'?t (?:think|figure out|work out)) (?:what|who|where|when|which|why|how|if|whether)|"
    r"(?:yo )?(?:quiero|quisiera|queria|necesito|ocupo|me gustaria) saber|me pregunto|"
    r"(?:yo )?(?:(?:ya )?no me acuerdo|se me olvido|olvide)(?: de)? (?:(?:a|de|en|con|por) )?"
    r"(?:que(?! (?:soy|tengo|estoy|me|no)\b)|cual|quien|donde|cuando|como|cuanto))\b"
)
"""Matches the opening of a sentence that asks without being a question: "I need to know ...", "no me acuerdo de dónde ..."."""
_EMPTY_STATEMENT: Final = regex(
    r"(?:i (?:need|want|wanna|forget|would like|mean|think so|guess|see|got it|know)|i (?:forgot|can'?t remember)(?! to (?:mention|say|tell))|"
    r"i'?m (?:asking|looking for)|i'?d like|it'?s (?:ok|okay|fine|alright|all right)|"
    r"(?:yo )?(?:no me acuerdo|quiero|quisiera|queria|necesito|(?:se me olvido|olvide)(?! (?:decir|contar|mencionar|comentar))|me parece bien))\b"
)
"""Matches the opening of a first-person clause that states nothing about the person: "I need ...", "I guess ..."."""
_NAMED_BY_VERB: Final = regex(
    r"(?:[a-z]+-[a-z]|name'?s\b|[a-z]+(?: (?!(?:me|my|your|our|an?|the|it|that|this|wh\w+|how|if|up|out|to|us|you|u|i|si|que)\b)[a-z]+){1,3} "
    r"(?:is|are|was|were|isn'?t|aren'?t|wasn'?t|has|had|will)\b)|"
    r"hace (?:[a-z0-9]+ ){0,3}(?:anos?|mes|meses|semanas?|dias?|horas?|minutos|rato|tiempo|mucho|poco|calor|frio|sol|viento|falta)\b|"
    r"para (?:mi|el|los|las|mis|su|sus|nosotros|ir|poder)\b|cuenta (?:corriente|bancaria|con)\b"
)
"""Matches a sentence that begins with a noun or a preposition that looks like an order: "Order number is ...", "Hace dos años"."""
_SUBORDINATE: Final = regex(
    r"(?:what|who|where|when|how|why) (?:i|we|he|she|they) (?:\S+ ){2,}?(?:i|we|he|she|they|everyone|everybody|is|was|are|were)\b"
)
"""Matches a statement that begins with a question word: "When I was ten we lived in Basra"."""
_TAG_QUESTION: Final = regex(
    r",\s*¿?\s*(?:(?:is|are|was|were|do|does|did|have|has|can|will)n'?t (?:i|you|he|she|it|we|they)|right|correct|yeah|no|verdad|cierto|"
    r"o no|a que s[ií])\s*\?+\s*$",
    re.IGNORECASE,
)
"""Matches the end of a statement that asks only for agreement: "The concert is on Friday, isn't it?"."""
_EXCLAMATION: Final = regex(
    r"(?:what an?\b|how (?!come\b|much\b|many\b|far\b|long\b|so\b|often\b|old\b)\w+$|que (?!hora$|pasa$|paso$|onda$|tal$|hay$|mas$)\w+$)"
)
"""Matches an exclamation that begins with a question word, and has no exclamation mark: "Qué pena", "How lovely"."""
_SMALL_TALK: Final = regex(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|morning|thanks?|thank you|thx|ta|cheers|ok|okay|k|kk|cool|nice|great|"
    r"perfect|awesome|lovely|brilliant|wow|lol|haha+|ha|hmm+|sure|fine|alright|all right|got it|will do|no worries|you'?re welcome|"
    r"bye|goodbye|see (?:you|ya)|night|sounds good|of course|yes|yeah|yep|yup|aye|nope|nah|maybe|please|sorry|never ?mind|"
    r"hola|buenas|buenos dias|buenas (?:tardes|noches)|gracias|muchas gracias|mil gracias|vale|dale|listo|genial|perfecto|bueno|claro|"
    r"de nada|chao|chau|adios|hasta (?:luego|manana|pronto)|jaja+|jeje+|ja|sip|nop|ok(?:ey|is)?|estupendo|guay|chevere|bacano|"
    r"(?:no|si)(?=$|[,.;!]| (?:no|si|thanks?|thank|gracias|pues|claro|please|por favor|problem|worries|way|importa|pasa nada|hay (?:de|problema)|te preocupes|se preocupe|senora?)\b)|"
    r"joya|barbaro|buenisimo|por favor|porfa|perdon|lo siento|nada|olvidalo|dejalo|de acuerdo|entendido|que (?:bueno|bien|lindo|rico))"
    r"\b"
)
_MAX_SMALL_TALK_WORDS: Final = 6
_POLITE: Final = regex(
    r"(?:thanks?|thank you|thx|ta|cheers|never ?mind|bye|goodbye|see (?:you|ya)|good (?:morning|night|evening|afternoon)|hi|hello|hey|"
    r"lol|haha+|gracias|muchas gracias|mil gracias|olvidalo|dejalo|chao|chau|adios|hasta (?:luego|manana|pronto)|hola|jaja+)\b"
)
"""Polite words that never answer a question."""


def classify_act(text: str, previous: str | None = None) -> Act:
    """Return the dialogue act of a message. ``previous`` is the message before it, if another person sent that message."""
    acts = [_act_of_sentence(sentence) for sentence in _first_sentences(text)]
    if not acts:
        return "small_talk"
    if previous is not None and _is_reply(text, acts) and asked_in(previous):
        return "reply"
    for act in ("statement", "question", "request"):
        if act in acts:
            return act
    return "small_talk"


def split_acts(text: str) -> tuple[list[str], list[str]]:
    """Return the clauses of a message in two lists: those that ask or request, and those that state something."""
    asking: list[str] = []
    stating: list[str] = []
    for sentence in _first_sentences(text):
        folded = fold(sentence)
        opening = _opening(folded)
        if _asks(sentence, opening) or _is_order(opening):
            first, *rest = _clauses(folded) or [folded]
            asking.append(first)
            for clause in rest:
                (stating if _states(clause) else asking).append(clause)
        else:
            stating.append(sentence)
    return asking, stating


def asked_in(text: str) -> str | None:
    """Return the question with which a message ends, or None.

    Only the last two sentences are checked. If both are questions, the last one is returned. An exclamation such as "Qué
    pena." is not a question.
    """
    sentences = split_sentences(text[-_MAX_CHARACTERS:])
    asking = (each for each in reversed(sentences[-2:]) if _asks(each, _opening(fold(each))))
    return next((each for each in asking if "?" in each or not ("!" in each or _EXCLAMATION.match(_opening(fold(each))))), None)


def _first_sentences(text: str) -> list[str]:
    return split_sentences(text[:_MAX_CHARACTERS])[:_MAX_SENTENCES]


def is_about_asking(query: str) -> bool:
    """Return True if a query is about the user's earlier questions or requests: "what did I ask you yesterday?"."""
    return _ABOUT_ASKING.search(fold(query)) is not None


def is_about_assistant_asking(query: str) -> bool:
    """Return True if a query is about earlier questions of the assistant: "what did you ask me yesterday?"."""
    return _ASKED_BY_ASSISTANT.search(fold(query)) is not None


_ASKED_BY_ASSISTANT: Final = regex(
    r"\b(?:(?:did|have|had) you (?:just |already |ever |even )?ask(?:ed)?|you (?:just |already )?asked|"
    r"me (?:preguntaste|pediste|has preguntado|has pedido|estuviste preguntando|habias preguntado))\b"
)
_EARLIER: Final = (
    r"(?:(?:last|latest|previous|earlier|first|second|recent|other|old|ultim[oa]s?|primer[oa]s?|anterior(?:es)?|otr[oa]s?) )"
)
_ABOUT_ASKING: Final = regex(
    r"\b(?:me (?:preguntaste|pediste|has preguntado|has pedido)|(?:did|have|had|has) (?:i|we|you|he|she|they|\w+) (?:just |already |ever |even |been )?(?:ask|asked|asking|request|requested)|"
    r"did (?:i|we) (?:want|need) to know|(?:i|we) (?:just |already |ever )?(?:asked|requested|wanted (?:to know|you to))|"
    rf"(?:(?:my|our|the) {_EARLIER}?|{_EARLIER})(?:questions?|requests?)(?! (?:of|for|form|mark))|(?:which|what|any) questions? (?:have|did) (?:i|we)|"
    r"(?:te|le|os|les) (?:pregunte|pregunto|pedi|consulte|he preguntado|he pedido|preguntamos|pedimos|habia preguntado|habia pedido|"
    r"(?:estuve|estaba|he estado|andaba) (?:preguntando|pidiendo|consultando))|(?:queria|quise) saber|pregunte|preguntamos|"
    rf"(?:(?:mi|mis|nuestras?|las?) {_EARLIER}?|{_EARLIER})(?:preguntas?|consultas?|peticion(?:es)?)(?! (?:secreta|de)))\b"
)


def _is_reply(text: str, acts: Sequence[Act]) -> bool:
    """Return True if a message can be an answer to a question. It must be short and ask nothing, and not be "I don't know".

    A message such as "thanks" or "hello" is not an answer, unless it also states something. ``acts`` are the dialogue acts of
    the message's sentences.
    """
    opening = _opening(fold(text))
    orders = "request" in acts and not _EMPTY_STATEMENT.match(opening)  # "I want the blue one" can be an answer
    if "question" in acts or orders or len(_WORD.findall(text[:_MAX_CHARACTERS])) > _MAX_REPLY_WORDS:
        return False
    return not is_no_answer(opening) and ("statement" in acts or not _POLITE.match(opening))


def _act_of_sentence(sentence: str) -> Act:
    folded = fold(sentence)
    opening = _opening(folded)
    words = _WORD.findall(opening)
    asks = _asks(sentence, opening) and not _POLITE_REQUEST.match(opening)
    if is_no_answer(opening):
        return "small_talk"
    if any(_states(clause) for clause in _clauses(folded)[1:]):
        return "statement"
    if asks:
        return "question"
    if _EMPTY_STATEMENT.match(opening) or (_is_order(opening) and len(words) <= _MAX_REQUEST_WORDS):
        return "request"
    is_short = len(words) < _MIN_STATEMENT_WORDS and not _SUBJECT_OPENING.match(opening)
    is_phrase = len(words) <= _MAX_SMALL_TALK_WORDS and _SMALL_TALK.match(opening or folded)
    return "small_talk" if is_short or is_phrase else "statement"


def _states(clause: str) -> bool:
    """Return True if a clause states something about a person, such as "my sister is vegan".

    It is used for the clauses after a question or a request: "what should I cook, my sister is vegan".
    """
    return (
        _SUBJECT_OPENING.match(clause) is not None
        and _EMPTY_STATEMENT.match(clause) is None
        and _TOPIC_QUESTION.match(clause) is None
        and len(_WORD.findall(clause)) >= _MIN_STATEMENT_WORDS
    )


def _clauses(folded: str) -> list[str]:
    """Return the clauses of a sentence, which is in lower case and without accents.

    The sentence is split at punctuation and at conjunctions such as "because" and "and".
    """
    parts = [part.strip(" ¿?¡!.\"'") for part in _CLAUSE.split(folded)]
    return [part for part in parts if part]


def _opening(folded: str) -> str:
    """Return a sentence without words such as "hey" or "ok" at its start. The sentence is in lower case and without accents."""
    words = folded.lstrip(" ¿¡\"'-").split()
    while len(words) > 1 and words[0].strip(",.!") in _OPENERS:
        words = words[1:]
    return " ".join(words).lstrip("¿¡\"'")


def _asks(sentence: str, opening: str) -> bool:
    """Return True if a sentence asks something, with or without a question mark. ``opening`` is the result of ``_opening``."""
    if _TAG_QUESTION.search(sentence) and not _is_question(opening):
        return False
    marked = "?" in sentence or "¿" in sentence or _ACCENTED.match(_opening(sentence.lower())) is not None
    return marked or _is_question(opening) or _INDIRECT_QUESTION.match(opening) is not None


def _is_order(opening: str) -> bool:
    """Return True if a sentence begins like a request to do something, such as "set a timer"."""
    return _REQUEST.match(opening) is not None and _NAMED_BY_VERB.match(opening) is None


def _is_question(opening: str) -> bool:
    words = _WORD.findall(opening)
    if not words or _SUBORDINATE.match(opening):
        return False
    if words[0] in _QUESTION_WORDS or _ASKING.match(opening):
        return len(words) > 1 or words[0] in _QUESTION_WORDS
    if words[0] in _SPANISH_QUESTION:
        return len(words) > 1 and words[1] in _SPANISH_VERBS
    if _LATE_QUESTION.match(opening) or _TOPIC_QUESTION.match(opening):
        return True
    if words[0] in ("have", "had"):  # not "have a good day"
        return len(words) > 1 and words[1] in _PRONOUNS
    return words[0] in _INVERTED and len(words) > 1 and words[1] in _SUBJECTS


_SPANISH_VERBS: Final = frozenset(
    "se es era esta estan fue van va hago hace hacer puedo era llama llamaba vivo vive queda".split()
)
