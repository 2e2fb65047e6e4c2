"""Rate the importance of a text from 0 to 10, and choose tags for texts. The rules cover English and Spanish."""

from collections import Counter
from collections.abc import Collection, Sequence

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.details import details
from holdfast.text.language import STOP_WORDS
from holdfast.text.terms import document_terms
from holdfast.text.wordlists import DAYS, MONTHS, NUMBERS, ORDINARY, UNITS

_SIGNS: tuple[tuple[float, str, str], ...] = (
    (
        3.0,
        "request",
        r"remember (?:that|this|to|i)|do(?:n'?t| not) forget|remind me|keep in mind|recuerda|acuerdate|no (?:te )?olvides|recuerdame",
    ),
    (
        3.0,
        "health",
        r"allerg\w*|alergi\w*|intoleran\w*|coeliac|celiac\w*|celiac[oa]s?|diabet\w*|anaphyla\w*|asthma|asma|epilep\w*|pregnan\w*|embaraz\w*",
    ),
    (
        2.5,
        "health",
        r"doctor\w*|medic[oa]s?|hospital\w*|surgery|operacion|diagnos\w*|cancer|medicat\w*|medicacion|medicina|pills?|pastillas?|tension alta",
    ),
    (
        2.5,
        "health",
        r"blood (?:pressure|test|type)|grupo sanguineo|therap\w*|terapia|depress\w*|depresion|accident\w*|emergenc\w*|died|murio|fallecio",
    ),
    (
        1.5,
        "family",
        r"wife|husband|partner|girlfriend|boyfriend|(?:my|his|her|our|their|your|the|a|oldest|youngest) sons?|daughters?|kids?|child(?:ren)?|mother|mum|mom|father|dad|brother|sister|niece|nephew",
    ),
    (
        1.5,
        "family",
        r"mujer|esposa|marido|esposo|pareja|novi[oa]|hij[oa]s?|madre|mama|padre|papa|herman[oa]s?|sobrin[oa]s?|abuel[oa]s?|suegr[oa]s?",
    ),
    (
        2.5,
        "permission",
        r"(?:is|are|am|was|were) (?:not )?(?:allowed|permitted|authori[sz]ed|entitled)|permission|(?:has|have|gets?|give \w+) access|on my behalf|without asking(?: me)?|with(?:out)? my (?:ok|okay|consent|approval)",
    ),
    (
        2.5,
        "permission",
        r"(?:esta|estan|no esta|no estan) (?:autorizad|permitid|habilitad)[oa]s?|permiso|autoriz\w*|tienen? acceso|en mi nombre|sin preguntar(?:me)?|sin mi (?:permiso|consentimiento)|(?:he|she|they|nobody|no one|anyone|everyone|only \w+) (?:can|may)|(?:el|ella|ellos|ellas|nadie|cualquiera|solo \w+) puede[n]?",
    ),
    (
        2.0,
        "constraint",
        r"(?:must|may|should|can) (?:not|never|only)|mustn'?t|no (?:more|less|later|earlier) than|at most|at least|not (?:before|after|until)|only (?:on|after|before|if|when|between|with|by)|except (?:on|for|when|if)|unless",
    ),
    (
        2.0,
        "constraint",
        r"no mas de|no menos de|como (?:maximo|minimo)|a lo sumo|por lo menos|no antes de|no despues de|no hasta|solo (?:si|cuando|los|las|despues|antes|entre|con|por)|salvo (?:que|los|las|si)|excepto|a menos que|prohibid[oa]s?",
    ),
    (2.0, "identity", r"my name is|call me|i(?:'m| am) called|me llamo|mi nombre es|i was born|naci en|nacio"),
    (
        1.5,
        "life",
        r"i (?:live|work|study|moved)|i(?:'m| am) (?:a|an)|vivo en|trabajo (?:en|como|de)|me mud[eo]|estudio|soy (?:de|un|una)",
    ),
    (
        2.0,
        "life",
        r"married|wedding|divorc\w*|engaged|casad[oa]|me caso|boda|moving to|retire[ds]?|jubil\w*|fired|laid off|despid\w*|birthday|cumpleanos|cumple",
    ),
    (
        1.5,
        "money",
        r"budget|salary|mortgage|rent|debt|loan|invoice|contract|deposit|presupuesto|sueldo|hipoteca|alquiler|deuda|prestamo|factura|contrato",
    ),
    (
        1.5,
        "appointment",
        r"deadline|due|expires?|appointment|exam|interview|flight|passport|plazo|fecha limite|vence|caduca|cita|examen|entrevista|vuelo|pasaporte",
    ),
    (1.0, "appointment", r"must|have to|need to|urgent\w*|important\w*|tengo que|hay que|debo|necesito|urgente|importante"),
    (
        2.0,
        "decision",
        r"decided|decision|we agreed|let'?s (?:use|go with)|decidi\w*|decidido|acord(?:amos|ado)|quedamos en|me quedo con|elegi\w*",
    ),
    (
        1.0,
        "preference",
        r"prefer\w*|love|hate|favou?rite|can'?t stand|never|always|prefier\w*|encanta\w*|odio|favorit[oa]s?|nunca|siempre|no soporto",
    ),
)
_NAMED_PERMISSION = regex(
    r"\b(?!(?:You|I|We|It|This|That|What|How|Where|Who|Which|When|Why|There|One|Usted|Yo|Que|Qu[eé]|C[oó]mo|D[oó]nde|Qui[eé]n|Se|No)\b)"
    r"[A-ZÁÉÍÓÚÑ][a-záéíóúñü]+ (?:can|may|cannot|can't|could always|puede|podr[aá]|no puede)\b(?![^.!]*\?)"
)
"""Matches a statement that a named person may or may not do something: "Priya can accept invitations"."""
_RULE = regex(
    r"(?:^|[.!;:,]\s+(?:(?:and|but|so|y|pero)\s+)?)(?:(?:please|por favor),?\s+)?"
    r"(?:do not|don'?t|never|nunca|jamas)\s+(?!know|think|worry|care|mind|forget|olvid|se\b)\w+"
)
"""Matches a rule for the assistant at the start of a clause: "never book before nine"."""
_PATTERNS = tuple((weight, area, regex(rf"\b(?:{words})\b")) for weight, area, words in _SIGNS)
_SMALL_TALK = regex(
    r"\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|great|bye|lol|haha|hola|gracias|vale|genial|adios|jaja|de nada|good (?:morning|night)|buen[oa]s \w+)\b"
)
_REQUESTS = frozenset(
    """tell give show play sing say make do find search look read open start stop set turn help explain translate write please can could
    would will what who where when why how which is are does did cuenta cuentame dime di dame muestra muestrame pon toca canta haz busca
    lee abre ayuda ayudame explica explicame traduce escribe que quien donde cuando como cual por puedes podrias""".split()
)
"""First words of a request or a question."""
_POLITE_REQUESTS = frozenset("can could would will please puedes podrias puede podria quieres".split())
"""First words of a request that has the form of a question."""
_MIN_STATEMENT_WORDS = 4
_BASE = 3.0
_WORD = regex(r"[^\W\d_]{3,}")
_NOT_TAGS = (
    frozenset(ORDINARY) | STOP_WORDS["en"] | STOP_WORDS["es"] | MONTHS.keys() | DAYS.keys() | NUMBERS.keys() | UNITS.keys()
)


def importance_of(text: str, found: Collection[str] | None = None) -> float:
    """Return the importance of a text, 0 to 10. Health, family, money, dates and decisions raise it; small talk lowers it.

    ``found`` are the details of the text (names, numbers, dates), if they are known already.
    """
    plain = fold(text)
    words = plain.split()
    if not words:
        return 0.0
    score = _BASE
    # The strongest sign counts in full and each further one less, so that many weak signs do not add up to a strong one.
    signs = [weight for weight, _, pattern in _PATTERNS if pattern.search(plain)]
    extra = [2.5] * bool(_NAMED_PERMISSION.search(text)) + [2.0] * bool(_RULE.search(plain))
    score += sum(weight / (1 + place) for place, weight in enumerate(sorted([*signs, *extra], reverse=True)))
    score += min(2.0, 0.4 * len(details(text) if found is None else found))
    score += 0.5 if len(words) >= 12 else -1.0 if len(words) < 4 else 0.0
    if _SMALL_TALK.match(plain) and len(words) < 6 and not signs and not extra:
        score -= 2.0
    if plain.endswith("?") or text.rstrip().endswith("?"):
        score -= 1.0
    return round(min(10.0, max(0.0, score)), 1)


def is_worth_keeping(text: str) -> bool:
    """Return True if a text is worth keeping. Small talk, short texts, and most questions and requests are not.

    A text with a sign of importance, such as a word about health or money, is always worth keeping. So is a text with a
    name, number or date, unless it is a question. A polite question ("can you move it to Friday?") counts as a request, not
    as a question.
    """
    plain = fold(text)
    if any(pattern.search(plain) for _, _, pattern in _PATTERNS) or _NAMED_PERMISSION.search(text) or _RULE.search(plain):
        return True
    words = [word.strip("¡¿!?.,;:") for word in plain.split()]
    first = next(filter(None, words), "")
    if text.rstrip().endswith("?") and first not in _POLITE_REQUESTS:
        return False
    if details(text):
        return True
    return len(words) >= _MIN_STATEMENT_WORDS and first not in _REQUESTS and not _SMALL_TALK.match(plain)


def areas_of(text: str) -> frozenset[str]:
    """Return the areas of life that a text mentions: ``health``, ``family``, ``identity``, ``money`` and others."""
    plain = fold(text)
    return frozenset(area for _, area, pattern in _PATTERNS if pattern.search(plain))


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
