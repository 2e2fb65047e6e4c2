"""Recognize sentences in which the speaker does not answer: "I don't know", "you never told me", "no tengo ese dato".

Sentences that state a fact can have the same opening: "I don't know how to swim", "no tengo hermanos", "I'm afraid of moths".
So the patterns include the words after the opening.
"""

from typing import Final

from holdfast.runtime.regex import regex

_APOLOGY: Final = (
    r"(?:(?:i'?m|i am) (?:so |very |really )?(?:sorry|afraid)|(?:my )?apologies|sorry|unfortunately|regrettably|hm+|honestly|"
    r"as an ai(?: \w+){0,2}|as far as i know|(?:it )?(?:looks|seems|appears) (?:like|that)|"
    r"lo siento|lo lamento|(?:mil )?disculpas?|disculpe|perdon[ae]?|me temo que|lamentablemente|desafortunadamente|"
    r"desgraciadamente|por desgracia|que yo sepa|la verdad(?: es que)?|parece que|hijole|uy|eso|de eso|sobre eso|"
    r"es[ae] (?:dato|informacion)|todavia|aun|hasta ahora|por ahora)"
)
"""Words that can come before a refusal to answer. On their own they refuse nothing: "Unfortunately my knee needs surgery"."""
_END: Final = r"(?=$|[.,;:!?]| (?:sorry|yet|either|offhand|exactly|right now|actually|aun|todavia|ahora|lo siento|la verdad)\b)"
_WH: Final = r"(?:what|who|whom|whose|where|when|which|why|how(?! to\b)|if|whether)\b"
_WH_ES: Final = (
    r"(?:(?:a |de |en |con |por |para )?(?:que|cual|cuales|quien|quienes|donde|cuando|cuanto|cuanta|cuantos|cuantas)|"
    r"como(?! \w+[aei]r\b)|si)\b"
)
_THAT: Final = r"(?:that|this|it|anything|your|you)\b"
_THAT_ES: Final = r"(?:es[aoe]|tus?|sus?|nada (?:de eso|sobre))\b"
_DATA: Final = (
    r"(?:(?:any|a|the|that|this|such|more|enough) )?"
    r"(?:idea|clue|records?|information|info|data|details?|memory|memories|notes?|mention|access|knowledge|answer|way|date|name|"
    r"number|address|time)\b"
)
_DATA_ES: Final = (
    r"(?:(?:es[ae]|est[ae]|la|el|los|las|ningun|ninguna|mas|tus?|sus?|nada) )?"
    r"(?:datos?|informacion|respuesta|registros?|constancia|idea|detalles?|acceso|(?:anota|guarda|apunta|registra)d[oa]s?|nombre|"
    r"fecha|direccion|numero|forma|manera|como saber)\b"
)
_TOLD: Final = r"(?:told|tell|said|say|mention(?:ed)?|shared?|given?|gave|specif(?:y|ied))\b"
_ENGLISH: Final = (
    r"(?:(?:i'?m|i am) )?not (?:sure|certain)\b",
    rf"(?:(?:i'?m|i am) )?(?:so |very |really )?sorry(?:{_END}| (?:to hear|about|for)\b)",
    rf"i (?:really |just )?(?:don'?t|do not) (?:know|remember|recall)(?:{_END}| {_WH}| about\b| {_THAT}| the {_DATA})",
    rf"i (?:don'?t|do not) (?:currently |actually )?(?:have|see) (?:{_THAT}|{_DATA})",
    rf"(?:i have|i've|i've got|i got|there is|there's|there was) (?:no {_DATA}|nothing (?:about|on|for|in)\b)",
    (
        rf"i (?:can'?t|cannot|couldn'?t|could not|was unable to|am unable to) (?:find|recall|remember|see|locate|tell|say)"
        rf"(?:{_END}| {_WH}| {_THAT}| {_DATA})"
    ),
    r"(?:i'?m|i am) (?:unable|not able) to (?:find|recall|remember|see|locate|tell|say|answer)\b",
    r"i (?:wasn'?t|haven'?t been|have not been) told\b",
    rf"idk\b|(?:i )?dunno\b|no (?:idea|clue)\b|nothing (?:about|on|comes)\b|no {_DATA} (?:of|about|on|for)\b",
    r"i (?:don'?t|do not) (?:think|believe) (?:you|we)(?:'ve|'d| have| ever)? (?:ever )?(?:told|said|mentioned|shared|gave|given|discussed)\b",
    rf"you (?:haven'?t|have not|hadn'?t|didn'?t|did not|never|have never|have yet to) (?:ever |yet |actually |really )?{_TOLD}",
    r"we (?:haven'?t|have not|have never|never|didn'?t) (?:ever |yet |actually )?(?:discuss|talk|spoke)\w*\b",
    r"(?:that|this|it) (?:has never|hasn'?t|has not|never) (?:ever )?(?:come|came|been (?:mentioned|said|shared))\b",
    r"(?:that|this|it)(?: isn'?t|'s not| is not| wasn'?t) something you(?:'ve| have|'d)? (?:ever )?(?:told|shared|mentioned|said)\b",
    r"[^.?!]{0,60}\b(?:isn'?t|is not|aren'?t|wasn'?t) (?:in|part of|among) (?:my|our) (?:notes|memor|records?|conversations?|chats?)",
)
_SPANISH: Final = (
    rf"no (?:lo |la |los |las )?(?:se|recuerdo|conozco)(?:{_END}| {_WH_ES}| {_THAT_ES}| la respuesta\b)",
    r"no estoy segur[oa]\b|desconozco\b|ni idea\b",
    rf"lo (?:siento|lamento)(?:{_END}| (?:mucho|tanto)\b)",
    r"no (?:te |le |os |les )?(?:sabria|puedo|podria) (?:decir|saber|responder|contestar)\w*\b",
    rf"no (?:la|lo|los|las) tengo{_END}|no tengo (?:{_DATA_ES}|{_THAT_ES})",
    rf"no (?:dispongo de|cuento con|hay) (?:{_DATA_ES}|{_THAT_ES})",
    rf"no (?:lo |la |los |las )?(?:encuentro|encontre)(?:{_END}| nada\b| en mis\b| {_THAT_ES}| {_DATA_ES})",
    (
        r"(?:no|nunca|jamas|tampoco) (?:me |nos )?(?:lo |la |los |las )?"
        r"(?:(?:has|habias|habeis|ha) (?:dicho|contado|comentado|mencionado|dado|compartido|hablado de)|"
        r"dijiste|contaste|comentaste|mencionaste|diste|compartiste|hablaste|consta|figura|aparece)\b"
    ),
)
_NO_ANSWER: Final = regex(rf"(?:{_APOLOGY}[,.:;]* (?:but |pero |that |que )?)*(?:{'|'.join((*_ENGLISH, *_SPANISH))})")


def is_no_answer(opening: str) -> bool:
    """Return True if a sentence says that the speaker does not know, or was not told.

    ``opening`` is the beginning of the sentence, in lower case and without accents.
    """
    return _NO_ANSWER.match(opening) is not None
