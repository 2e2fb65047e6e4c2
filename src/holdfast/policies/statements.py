"""How people say things about themselves, decide, and ask to be remembered: English and Spanish openings.

Each pattern must match at the start of a sentence, so that "if I lived in Rome" or "she said I am a fool" are
not taken for statements. What is kept is the sentence itself, a quote; nothing is rephrased.
"""

import re
from dataclasses import dataclass
from typing import Literal

RULE_VERSION = "statements-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A way to begin a sentence that is worth keeping."""

    kind: Literal["fact", "decision"]
    pattern: re.Pattern[str]
    importance: float = 5.0
    asked: bool = False
    """The speaker asked for it to be remembered: only what follows the opening is kept."""


def _opening(kind: Literal["fact", "decision"], *choices: str, importance: float = 5.0, asked: bool = False) -> Opening:
    pattern = re.compile(rf"(?:{_LEAD})(?:{'|'.join(choices)})", re.IGNORECASE)
    return Opening(kind=kind, pattern=pattern, importance=importance, asked=asked)


_LEAD = (
    r"(?:(?:oh|well|so|and|but|also|hi|hey|hello|yes|yeah|no|ok|okay|actually|anyway|by the way|btw|fyi|please"
    r"|bueno|pues|y|pero|además|también|hola|sí|vale|oye|mira|ah|por cierto|por favor|che)\b[\s,.!:;-]*){0,3}"
)
_KIN_EN = (
    r"wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|kids?|child(?:ren)?|baby|mother|mom|mum|father|dad|parents?"
    r"|brother|sister|sibling|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|niece|nephew|friend|roommate|boss|manager"
    r"|colleague|dog|cat|pet|doctor|dentist|teacher|team|company|landlord|neighbou?r"
)
_TRAIT_EN = (
    r"name|nickname|birthday|anniversary|age|job|work|profession|hobby|hobbies|favou?rite|address|home|hometown|city|country"
    r"|phone|email|car|bike|house|apartment|flat|office|school|university|major|degree|diet|allergy|allergies|blood type|time ?zone"
    r"|native language|pronouns|goal|plan|dream|project|budget|deadline|flight|appointment|surgery|wedding|size|shoe size|height|salary"
)
_KIN_ES = (
    r"esposa|mujer|marido|esposo|pareja|novi[oa]|hij[oa]s?|bebé|madre|mamá|padre|papá|padres|herman[oa]s?|abuel[oa]s?|tí[oa]s?"
    r"|prim[oa]s?|sobrin[oa]s?|amig[oa]s?|jef[ea]|compañer[oa]s?|perr[oa]s?|gat[oa]s?|mascota|médic[oa]|dentista|profesor[a]?|equipo"
    r"|empresa|vecin[oa]"
)
_TRAIT_ES = (
    r"nombre|apodo|cumpleaños|aniversario|edad|trabajo|profesión|afición|hobby|dirección|casa|ciudad|pueblo|país|teléfono|correo|email"
    r"|coche|auto|carro|moto|bici|piso|departamento|oficina|escuela|universidad|carrera|dieta|alergia|grupo sanguíneo|zona horaria"
    r"|idioma|objetivo|meta|plan|sueño|proyecto|presupuesto|vuelo|cita|operación|boda|talla|altura|sueldo|comida favorita|color favorito"
)
_SMALL_EN = r"question|problem|issue|doubt|idea|feeling|bit|little|lot|few|couple|bug|point|headache|moment|minute|second|chance|look|hard time"
_SMALL_ES = r"pregunta|problema|duda|idea|momento|minuto|rato|rato libre|poco|sensación"

OPENINGS: tuple[Opening, ...] = (
    _opening(
        "fact",
        r"(?:can|could) you (?:please )?remember (?:that |this: ?)",
        r"remember (?:that |this: ?|: ?)",
        r"(?:don'?t|do not|never) forget (?:that |: ?)",
        r"(?:make a note|take note|note|keep in mind|bear in mind) (?:that |: ?)",
        r"(?:recuerda|recordá|recuerde|acuérdate|acordate|acuerdate|acuérdese)(?: de)? que ",
        r"(?:no (?:te )?olvid(?:es|és|e)|no se te olvide)(?: de)? que ",
        r"(?:anota|anotá|apunta|apuntá|ten en cuenta|tené en cuenta|toma nota de) que ",
        r"(?:recuerda|recordá|anota|anotá|apunta|apuntá): ?",
        importance=8.0,
        asked=True,
    ),
    _opening(
        "decision",
        r"let'?s (?:use|go with|go for|pick|choose|keep|switch to|stick with|stick to|call it|name it|do it)\b",
        r"we(?:'ve| have)? (?:decided|agreed|chose|chosen|settled on|picked)\b",
        r"we(?:'ll| will| are going to|'re going to) (?:use|go with|stick with|switch to|drop|keep)\b",
        r"we(?:'re| are) going with\b",
        r"i(?:'ve| have)? (?:decided|chose|chosen|settled on|made up my mind)\b",
        r"i(?:'m| am) going with\b",
        r"the decision is\b",
        r"usemos\b",
        r"vamos (?:a usar|con|a quedarnos con|a llamarlo)\b",
        r"(?:hemos decidido|decidimos|hemos acordado|acordamos|hemos elegido|elegimos|quedamos en|nos quedamos con)\b",
        r"(?:he decidido|decidí|he elegido|elegí|me quedo con)\b",
        r"la decisión es\b",
        importance=7.0,
    ),
    _opening(
        "fact",
        r"my (?:full |first |last |middle |nick)?name(?:'s| is)\b",
        r"(?:people |friends |you can |just )?call me\b",
        r"i(?:'m| am) called\b",
        r"i(?: currently| now| still| also)? (?:live|work|study|teach|volunteer|commute) (?:in|at|for|as|on|with|near|from)\b",
        r"i(?:'ve| have)? (?:just |recently )?(?:moved|relocated) (?:to|from|back|in|out)\b",
        r"i (?:grew up|was born|was raised|studied|graduated|worked|retired|got married|got divorced|got engaged|got a|started|quit)\b",
        r"i(?:'m| am) (?:a|an)(?! (?:bit|little|lot|few|huge mess|fool)\b) \w",
        r"i(?:'m| am) (?:the (?!one|only|same|best|worst)|from|based|allergic|intolerant|lactose|diabetic|pregnant|married|single|divorced"
        r"|engaged|retired|vegan|vegetarian|pescatarian|celiac|coeliac|left-handed|right-handed|colou?r-?blind|afraid of|learning|training for"
        r"|working (?:at|for|as|on)|studying|living|moving|\d+ years)\b",
        r"i(?:'ve| have) (?:been (?:living|working|studying|learning|a|an|vegan|vegetarian)|(?:a|an|two|three|four|five|six|no|\d+)"
        rf"(?! (?:quick |small |little |big |good |bad )?(?:{_SMALL_EN})))\b",
        rf"i(?:'ve)? got (?:a|an|two|three|\d+)(?! (?:quick |small |little |big )?(?:{_SMALL_EN}))\b",
        r"i (?:really |absolutely |also |usually |always |generally )?(?:love|prefer|hate|enjoy|dislike|adore|detest|collect|own|play|speak)"
        r"(?! (?:it|that|this|you|how|when|the idea))\b",
        r"i (?:really |also )?like(?! (?:it|that|this|you|how|when|the idea|your))\b",
        r"i (?:don'?t|do not|can'?t|cannot|never|always|usually|no longer) (?:eat|drink|like|stand|smoke|drive|use|work|take|wake|sleep|have)\b",
        r"i (?:eat|drink|drive|use|wake up|go to bed|go to the gym|run|swim|take) \w",
        r"i need (?:my|a wheelchair|glasses|to avoid)\b",
        rf"my (?:\w+ ){{0,2}}?(?:{_KIN_EN})(?:'s|s)?\b(?:[ ,]+[\w'-]+){{0,4}}? (?:is|are|was|has|have|works|lives|likes|loves|hates|was born)\b",
        rf"my (?:{_KIN_EN})'s \w",
        rf"my (?:\w+ ){{0,2}}?(?:{_TRAIT_EN})\b(?:[ ,]+[\w'-]+){{0,4}}? (?:is|are|was|will be)\b",
        rf"my (?:{_TRAIT_EN})'s \w",
    ),
    _opening(
        "fact",
        r"(?:me llamo|mi nombre es|ll[aá]mame|decime|puedes llamarme|todos me dicen|me dicen)\b",
        r"(?:ahora |todavía |actualmente |ya no )?(?:yo )?(?:vivo|trabajo|estudio|enseño|resido) (?:en|como|de|para|con|cerca|desde|por)\b",
        r"(?:recientemente )?me (?:mudé|he mudado|acabo de mudar|casé|he casado|divorcié|jubilé|gradué)\b",
        r"(?:nací|crecí|estudié|trabajé|empecé|dejé) (?:en|como|de|a|el|la|mi|para)\b",
        r"(?:yo )?soy (?:de |un |una |el |la |alérgic[oa]|intolerante|celíac[oa]|diabétic[oa]|vegan[oa]|vegetarian[oa]|zurd[oa]|diestr[oa]"
        r"|casad[oa]|solter[oa]|divorciad[oa]|jubilad[oa]|daltónic[oa]|fan|hinch|estudiante|médic[oa]|abogad[oa]|profesor|ingenier[oa]"
        r"|desarrollador|programador|enfermer[oa]|diseñador|arquitect[oa]|cociner[oa]|músic[oa]|periodista|autónom[oa]|madre|padre)",
        r"estoy (?:casad[oa]|embarazada|divorciad[oa]|jubilad[oa]|aprendiendo|estudiando|trabajando (?:en|como|para)|viviendo)\b",
        rf"(?:yo )?tengo (?:un|una|dos|tres|cuatro|cinco|\d+|alergia)(?! (?:{_SMALL_ES}))\b",
        r"(?:a mí )?(?:no )?me (?:gusta|gustan|encanta|encantan|apasiona|apasionan|interesa|interesan|molesta|da miedo)(?! (?:eso|esto|la idea|que me))\b",
        r"(?:yo )?(?:prefiero|odio|detesto|adoro|colecciono|hablo|toco)(?! (?:eso|esto|que me))\b",
        r"(?:yo )?(?:nunca|siempre|normalmente|no) (?:como|bebo|tomo|fumo|uso|conduzco|manejo|desayuno|ceno|puedo comer)\b",
        r"(?:yo )?(?:desayuno|ceno|corro|nado|madrugo|juego al?|voy al gimnasio)\b",
        rf"mis? (?:\w+ ){{0,1}}?(?:{_KIN_ES})\b(?:[ ,]+[\w'-]+){{0,4}}? (?:es|son|se llama|se llaman|tiene|tienen|vive|viven|trabaja|trabajan|está|nació)\b",
        rf"mis? (?:\w+ ){{0,1}}?(?:{_TRAIT_ES})\b(?:[ ,]+[\w'-]+){{0,4}}? (?:es|son|era|será)\b",
    ),
)
