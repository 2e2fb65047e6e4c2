"""Remove parts of a sentence that do not belong to the statement: leading conjunctions, requests, final questions and doubts."""

import re
from collections.abc import Callable
from typing import Final

from holdfast.learning.statements.standalone import begins_with_relative
from holdfast.protocols.sentence_reader import Reading
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold

_LEAD: Final = regex(
    r"(?:(?:oh|ah|hi|hey|hello|yeah|and|but|so|also|plus|anyway|by the way|btw|(?:as|like) i (?:already )?(?:said|mentioned|told you)(?: before| earlier)?"
    r"|hola|oye|y|pero|así que|asi que|además|ademas|por cierto|bueno|como (?:ya )?(?:te |les |le )?(?:dije|dec[ií]a|comenté|comente|conté|mencioné|mencione)"
    r"(?: antes)?)\b[\s,]+)+",
    re.IGNORECASE,
)
_TAIL: Final = regex(
    r"\s*[,;(–—]\s*(?:(?:and|but|so|y|pero|así que|asi que)\s+)?|\s+-+\s+|\s+(?:and|but|so|y|pero|así que|asi que)\s+"
)
_ASKS: Final = regex(
    r"i(?:'m| am)(?: \w+)? (?:not sure|unsure|wondering|curious how|trying to|looking for|hoping)|i (?:was wondering|wonder|want to|need|would like|don'?t know)\b"
    r"|i'd (?:like|love|appreciate)\b|was wondering\b|(?:can|could|would|will|do) (?:you|someone|i)\b|please\b|help me\b|(?:what|how|where|which|when) "
    r"(?:is|are|do|does|can|could|should|would|will|to|about)\b|is (?:that|it|there|this)\b|any (?:tips|ideas|advice|recommendations|suggestions)\b"
    r"|no (?:sé|se|estoy segur[oa])\b|me pregunto\b|(?:quiero|quería|queria|quisiera|necesito|busco|me gustaría|me gustaria)\b|¿"
    r"|(?:me |nos )?(?:puedes|podés|podes|podrías|podrias|puede|recomiendas|recomendás|ayudas|ayudás|dices|decís)\b|por favor\b|ayúda|ayuda(?:me|nos)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a clause in which the user asks for something, or states a doubt or a current need."""
PAUSE: Final = regex(r"\s*[,;:(–—]\s*|\s+-+\s+|\s+(?:and|but|so|because|y|pero|porque|así que|asi que)\s+")
"""Matches a pause or a conjunction between two clauses."""
_STOP: Final = regex(r"\s*[,;:(–—]\s+|\s+-+\s+")
_REASON: Final = regex(r"^(?:since|because|given that|como|ya que|porque|dado que)\s+", re.IGNORECASE)
_OWN_PHRASE: Final = regex(r"(?:my|our|i|i['’]?m|i['’]?ve|we|mis?|nuestr[oa]s?|yo|tengo|soy|estoy|vivo)\b", re.IGNORECASE)
"""Matches the beginning of words about the user or the user's people and things, such as "I" or "my daughter"."""
_TO_WHOM: Final = regex(r"\b(?:a|en|desde|hasta)\s+$", re.IGNORECASE)
"""Matches a Spanish preposition at the end of a text. It belongs to the words after it: "a mi hermano le gusta el fútbol".

The part of the sentence that the sentence reader marks begins after this word.
"""
_PHRASE: Final = regex(
    r"(?:my|our|mis?|nuestr[oa]s?) (?:[\w-]+ ){0,4}?[\w-]+, (?=(?:my|our|mis?|nuestr[oa]s?|i|we)\b)", re.IGNORECASE
)
"""Matches a phrase without a verb before a clause of its own: "my wife, " in "my wife, my mum uses a wheelchair"."""
_ABOUT_THEM: Final = regex(r"\s*[,;:(–—-]+\s*(?:he|she|they|who|él|ella|ellos|ellas|quien)\b", re.IGNORECASE)
"""Matches the beginning of a clause about the person named just before it: ", she turns six"."""
_POLITELY: Final = regex(
    r"[¿ ]*(?:(?:also|and|so|but|hey|ok|okay|oh|please|oye|y|pero|ah|además|también|por favor)[ ,]+)*"
    r"(?:(?:can|could|would|will) (?:you|u) (?:please |pls |just |maybe )*|(?:me |nos )?(?:puedes|podés|podrías|podrias|puede|podría|podria) (?:por favor )?)",
    re.IGNORECASE,
)
_MANNER: Final = regex(
    r"\byour (?:answers|replies|responses|messages|explanations|tone)\b|\b(?:be|sound)\b[^,;]* with me\b"
    r"|\b(?:talk|speak)(?:ing)? to me (?:like|as|in|more|less|so|slow|formally|informally)|\bi(?:'d| would) (?:rather|prefer)(?: it if)? you\b"
    r"|\b(?:stop|quit) (?:being|asking me|calling me|telling me|saying|apologi[sz]ing|repeating|using|lecturing|interrupting)\b"
    r"|\bspeak (?:(?:a )?(?:bit|little|more) )*(?:slow|fast|loud|quiet|soft)"
    r"|(?P<spanish>\b(?:tus|sus) (?:respuestas|mensajes|explicaciones|contestaciones)\b|\btu tono\b|\b(?:sé|sea|ser) [^,;]*conmigo\b"
    r"|\bh[aá]bl(?:a|á|e|ar)me (?:de (?:t[uú]|usted|vos)\b|m[aá]s\b|menos\b|como\b|en\b|claro\b|despacio\b|lento\b|normal\b)"
    r"|\b(?:tr[aá]t(?:a|á|e|ar)|tut[eé](?:a|á|e|ar)|v[oó]s[eé](?:a|á|ar))me\b|\bno me (?:hables|trates|tutees|vosees|hable|trate|llames|expliques|repitas)\b"
    r"|\bque me (?:tut\w+|vos\w+|habl\w+|trat\w+ (?:de|como|con))\b|\bdej(?:a|á|e) de (?:\w+(?:arte|erte|irte|arme|erme|irme)|ser|usar|decir|repetir)\b|\bal grano\b"
    r"|\b(?:escr[ií]b(?:e|í|a|ir)|contest(?:a|á|e|ar)|cont[eé]sta|respond(?:e|é|a|er)|resp[oó]nde)me (?:con|m[aá]s|menos|en)\b)",
    re.IGNORECASE,
)
"""Matches a wish about how the assistant talks to the user, such as "your answers" or "háblame de tú", not about a single text."""
_MAX_INSTRUCTION_WORDS: Final = 20
_MIN_WORDS: Final = 2
_MAX_LEAD_WORDS: Final = 2
_MIN_HEAD_WORDS: Final = 2
_MIN_TAIL_WORDS: Final = 3
_MAX_TAIL_KEEP: Final = 0.5
_MIN_INSTRUCTION: Final = 0.5
"""Minimum probability that an instruction is worth keeping, and that it is useful as a memory."""
_MAX_LOSS: Final = 0.15
"""Maximum decrease of the probability of being worth keeping when a request is removed from the end of a text.

With a larger decrease, the request stays.
"""


def trimmed(text: str, read: Callable[[str], Reading]) -> str:
    """Return a statement without conjunctions at its beginning and without a request, question or doubt at its end.

    The request, question or doubt stays if the sentence reader finds it worth keeping, or if the reader gives the statement
    without it a clearly lower score. ``read`` analyzes a text with the sentence reader.
    """
    return _without_tail(without_lead(text.lstrip(")]}\\.,;: ")), read)


def without_lead(text: str) -> str:
    """Return a text without the conjunctions and fillers at its beginning: "and also my mum is coming" becomes "my mum is coming"."""
    lead = _LEAD.match(text)
    return text if lead is None else text[lead.end() :]


def _without_tail(text: str, read: Callable[[str], Reading]) -> str:
    """Return a text without the request at its end, if the request is not worth keeping.

    ``read`` analyzes a text with the sentence reader. The request stays if the reader gives the shortened text a clearly
    lower score than the whole text.
    """
    for pause in _TAIL.finditer(text):
        head, tail = text[: pause.start()], text[pause.end() :]
        long_enough = len(head.split()) >= _MIN_HEAD_WORDS and len(tail.split()) >= _MIN_TAIL_WORDS
        if long_enough and _ASKS.match(tail) and read(tail).keep < _MAX_TAIL_KEEP:
            return head if read(head).keep >= read(text).keep - _MAX_LOSS else text
    return text


def before_question(sentence: str) -> str:
    """Return the text before the question at the end of a sentence: "I'm vegan" in "I'm vegan, anything for me?"."""
    stops = [stop.start() for stop in _STOP.finditer(sentence)] if sentence.rstrip().endswith("?") else []
    stated = _REASON.sub("", sentence[: stops[-1]]) if stops else ""
    return stated if len(stated.split()) > _MIN_WORDS else ""


def lasting_request(sentence: str, read: Callable[[str], Reading]) -> str:
    """Return what a sentence asks for, if it is an instruction for all replies: "Stop using emojis." of "could you stop using emojis?".

    A wish about how the assistant talks begins with "From now on": "From now on, keep your answers shorter."

    Otherwise return an empty text. ``read`` analyzes a text with the sentence reader, which takes such a sentence for a task.
    """
    polite = _POLITELY.match(sentence)
    asked = sentence[polite.end() if polite else 0 :].strip("¿?¡!. ")
    manner = None if ":" in asked else _MANNER.search(asked)
    if not (polite or manner) or not _MIN_WORDS <= len(asked.split()) <= _MAX_INSTRUCTION_WORDS:
        return ""
    plain = f"{asked[0].upper()}{asked[1:]}."
    if _is_instruction(read(plain)):
        return plain if polite else ""
    lasting = f"{'A partir de ahora' if manner and manner['spanish'] else 'From now on'}, {asked[0].lower()}{asked[1:]}."
    return lasting if manner and _is_instruction(read(lasting)) else ""


def _is_instruction(reading: Reading) -> bool:
    return reading.area == "instruction" and min(reading.keep, reading.worth) >= _MIN_INSTRUCTION


def words_to_keep(sentence: str, reading: Reading) -> str:
    """Return the words of a sentence that are worth keeping, or an empty text if only a question would be left.

    A statement and a standing instruction are kept whole, but without a question at their end. Requests for a task and
    questions are reduced to the part that the sentence reader marks: "write a poem for my daughter Nora, she turns six"
    becomes "my daughter Nora, she turns six".
    """
    stops = [stop.start() for stop in _STOP.finditer(sentence) if stop.start() >= reading.end - 1]
    while stops and _ABOUT_THEM.match(sentence, stops[0]):  # "for my father in law, he collects stamps"
        del stops[0]
    after = stops[0] if stops else len(sentence)
    if reading.act not in ("request", "question") or reading.area == "instruction":
        start, end = 0, after if sentence.rstrip().endswith("?") else len(sentence)
    elif len(sentence[: reading.start].split()) <= _MAX_LEAD_WORDS or _OWN_PHRASE.match(sentence, reading.start):
        start, end = reading.start, after
    else:
        inside = [pause.end() for pause in PAUSE.finditer(sentence) if pause.end() < reading.end]
        before = [place for place in inside if place <= reading.start]
        start, end = before[-1] if before else inside[0] if inside else 0, after
    if start and (pause := _PHRASE.match(sentence, start)) is not None and pause.end() < end:
        start = pause.end()
    if start and (lead := _TO_WHOM.search(sentence, 0, start)) is not None:
        start = lead.start()
    if start and begins_with_relative(fold(sentence[start:end]).strip(" ,;:-–—")):  # "the pills of Ben, who has epilepsy"
        places = [pause.end() for pause in PAUSE.finditer(sentence) if pause.end() < start - 1]
        start = places[-1] if places else 0
    text = sentence[start:end].strip(" ,;:-–—")
    if reading.act == "request" and start:
        text = text.rstrip(" ?!")
    return "" if text.endswith("?") else text
