"""Rate the importance of a text from 0 to 10, and choose tags for texts. The rules cover English and Spanish."""

import re
from collections import Counter
from collections.abc import Sequence

from holdfast.text.clean import fold
from holdfast.text.details import details
from holdfast.text.language import STOP_WORDS
from holdfast.text.terms import document_terms
from holdfast.text.wordlists import DAYS, MONTHS, NUMBERS, ORDINARY, UNITS

_SIGNS: tuple[tuple[float, str], ...] = (
    # Explicit requests to remember
    (
        3.0,
        r"remember (?:that|this|to|i)|do(?:n'?t| not) forget|remind me|keep in mind|recuerda|acuerdate|no (?:te )?olvides|recuerdame",
    ),
    # Health and safety
    (
        3.0,
        r"allerg\w*|alergi\w*|intoleran\w*|coeliac|celiac\w*|celiac[oa]s?|diabet\w*|anaphyla\w*|asthma|asma|epilep\w*|pregnan\w*|embaraz\w*",
    ),
    (
        2.5,
        r"doctor\w*|medic[oa]s?|hospital\w*|surgery|operacion|diagnos\w*|cancer|medicat\w*|medicacion|medicina|pills?|pastillas?|tension alta",
    ),
    (
        2.5,
        r"blood (?:pressure|test|type)|grupo sanguineo|therap\w*|terapia|depress\w*|depresion|accident\w*|emergenc\w*|died|murio|fallecio",
    ),
    # Family and identity
    (
        1.5,
        r"wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|mother|mum|mom|father|dad|brother|sister|niece|nephew",
    ),
    (
        1.5,
        r"mujer|esposa|marido|esposo|pareja|novi[oa]|hij[oa]s?|madre|mama|padre|papa|herman[oa]s?|sobrin[oa]s?|abuel[oa]s?|suegr[oa]s?",
    ),
    (2.0, r"my name is|call me|i(?:'m| am) called|me llamo|mi nombre es|i was born|naci en|nacio"),
    (
        1.5,
        r"i (?:live|work|study|moved)|i(?:'m| am) (?:a|an)|vivo en|trabajo (?:en|como|de)|me mud[eo]|estudio|soy (?:de|un|una)",
    ),
    (
        2.0,
        r"married|wedding|divorc\w*|engaged|casad[oa]|me caso|boda|moving to|retire[ds]?|jubil\w*|fired|laid off|despid\w*|birthday|cumpleanos|cumple",
    ),
    # Money
    (
        1.5,
        r"budget|salary|mortgage|rent|debt|loan|invoice|contract|deposit|presupuesto|sueldo|hipoteca|alquiler|deuda|prestamo|factura|contrato",
    ),
    # Deadlines and appointments
    (
        1.5,
        r"deadline|due|expires?|appointment|exam|interview|flight|passport|plazo|fecha limite|vence|caduca|cita|examen|entrevista|vuelo|pasaporte",
    ),
    (1.0, r"must|have to|need to|urgent\w*|important\w*|tengo que|hay que|debo|necesito|urgente|importante"),
    # Decisions and preferences
    (
        2.0,
        r"decided|decision|we agreed|let'?s (?:use|go with)|decidi\w*|decidido|acord(?:amos|ado)|quedamos en|me quedo con|elegi\w*",
    ),
    (
        1.0,
        r"prefer\w*|love|hate|favou?rite|can'?t stand|never|always|prefier\w*|encanta\w*|odio|favorit[oa]s?|nunca|siempre|no soporto",
    ),
)
_PATTERNS = tuple((weight, re.compile(rf"\b(?:{words})\b")) for weight, words in _SIGNS)
_SMALL_TALK = re.compile(
    r"\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|great|bye|lol|haha|hola|gracias|vale|genial|adios|jaja|de nada|good (?:morning|night)|buen[oa]s \w+)\b"
)
_BASE = 3.0
_WORD = re.compile(r"[^\W\d_]{3,}")
_NOT_TAGS = (
    frozenset(ORDINARY) | STOP_WORDS["en"] | STOP_WORDS["es"] | MONTHS.keys() | DAYS.keys() | NUMBERS.keys() | UNITS.keys()
)


def importance_of(text: str) -> float:
    """Return the importance of a text, 0 to 10. Health, family, money, dates and decisions raise it; small talk lowers it."""
    plain = fold(text)
    words = plain.split()
    if not words:
        return 0.0
    score = _BASE
    # The strongest sign counts in full and each further one less, so that many weak signs do not add up to a strong one.
    found = sorted((weight for weight, pattern in _PATTERNS if pattern.search(plain)), reverse=True)
    score += sum(weight / (1 + place) for place, weight in enumerate(found))
    score += min(2.0, 0.4 * len(details(text)))
    score += 0.5 if len(words) >= 12 else -1.0 if len(words) < 4 else 0.0
    if _SMALL_TALK.match(plain) and len(words) < 6 and not found:
        score -= 2.0
    if plain.endswith("?") or text.rstrip().endswith("?"):
        score -= 1.0
    return round(min(10.0, max(0.0, score)), 1)


def tags_of(texts: Sequence[str], *, max_tags: int = 5) -> tuple[str, ...]:
    """Return the most characteristic words of some texts as tags, most characteristic first.

    Tags are in lower case, without accents.
    """
    seen: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        names = {word for detail in details(text) for word in detail.split()}
        for word in _WORD.findall(fold(text)):
            if word in _NOT_TAGS:
                continue
            stem = (document_terms(word, None) or [word])[0]
            seen[stem] += 3 if word in names else 2 if len(word) > 5 else 1
            spellings.setdefault(stem, Counter())[word] += 1
    ranked = sorted(seen, key=lambda stem: (-seen[stem], stem))
    return tuple(spellings[stem].most_common(1)[0][0] for stem in ranked[:max_tags])
