"""Rewrite a Spanish first-person clause in the third person."""

import re

from holdfast.runtime.regex import regex

_TOKEN = regex(r"[^\W\d_]+|[\W\d_]+")
_IRREGULAR = {
    "soy": "es", "estoy": "está", "tengo": "tiene", "voy": "va", "he": "ha", "hago": "hace", "puedo": "puede", "quiero": "quiere", "prefiero": "prefiere",
    "vengo": "viene", "salgo": "sale", "pongo": "pone", "traigo": "trae", "sé": "sabe", "doy": "da", "veo": "ve", "digo": "dice", "oigo": "oye", "juego": "juega",
    "duermo": "duerme", "suelo": "suele", "pienso": "piensa", "empiezo": "empieza", "comienzo": "comienza", "vuelvo": "vuelve", "conduzco": "conduce",
    "conozco": "conoce", "padezco": "padece", "nazco": "nace", "entiendo": "entiende", "pierdo": "pierde", "sigo": "sigue", "pido": "pide", "mido": "mide",
    "visto": "viste", "elijo": "elige", "dirijo": "dirige", "almuerzo": "almuerza", "meriendo": "merienda", "cuento": "cuenta", "encuentro": "encuentra",
    "recuerdo": "recuerda", "despierto": "despierta", "acuesto": "acuesta", "siento": "siente", "cierro": "cierra", "ejerzo": "ejerce", "vuelo": "vuela",
    "leo": "lee", "creo": "cree", "río": "ríe", "fui": "fue", "hice": "hizo", "tuve": "tuvo", "estuve": "estuvo", "pude": "pudo", "puse": "puso",
    "quise": "quiso", "vine": "vino", "dije": "dijo", "supe": "supo", "di": "dio", "vi": "vio", "conduje": "condujo", "traje": "trajo", "haya": "haya",
    "rompí": "rompió", "dormí": "durmió", "pedí": "pidió", "elegí": "eligió", "preferí": "prefirió", "seguí": "siguió", "leí": "leyó", "construí": "construyó",
    "oí": "oyó", "caí": "cayó", "sentí": "sintió", "serví": "sirvió", "restauro": "restaura", "actúo": "actúa", "gradúo": "gradúa", "esquío": "esquía", "crío": "cría",
    "mantengo": "mantiene", "dispongo": "dispone", "convierto": "convierte", "uso": "usa", "podré": "podrá", "tendré": "tendrá",
}  # fmt: skip
_AR = (
    "trabaj estudi habl toc coleccion cocin compr us llev llam tom cen desayun nad entren camin and bail cant pint dibuj program tej laburr labur curr chambe "
    "enseñ manej viaj visit mud cas divorci jubil gradu levant duch bañ alquil rent odi ador am detest evit disfrut madrug medit practic ayud cuid adopt "
    "escuch mir limpi busc necesit pas gan cobr gestion administr lider coordin supervis dedic termin llev dej acab ahorr plane fum calz pes viv mont "
    "naveg esc patin escal sac pase mand reg organiz apunt inscrib anot matricul licenci titul retir cambi prepar par inici mar form public cre lanz fund "
    "complet vacun oper tard esper apoy admir valor apreci respet aguant soport toler trat llor prob celebr festej present entreg regal invit hered gast "
    "cultiv plant coloc vot atiend public revis utiliz ocup levant acost peg afeit maquill desempeñ renunci rescat encant codifico factur "
).split()
_ER_IR = "viv com beb aprend corr escrib vend asist resid comparti compart recib cumpl sub abr sufr insist decid descubr part tos barr cos tem deb permit imprim crec nac promet"
_BOTH = tuple(_ER_IR.split())
_SECOND_PERSON = regex(
    r"\b(?:tú|vos|usted|te|ti|contigo|tu|tus|nos|nosotros|nosotras|nuestr[oa]s?|somos|estamos|tenemos|vamos|hemos|\w{2,}[aei]mos)\b",
    re.IGNORECASE,
)
_ORDER = regex(
    r"^(?:por favor|siempre (?:usa|respond)|nunca (?:me|uses)|no me (?:llames|digas|hables|trates|escribas|mandes|recomiendes|sugieras)|a partir de|de ahora|desde ahora|"
    r"tutéame|tuteame|háblame|hablame|respóndeme|respondeme|contéstame|contestame|llámame|llamame|decime|dime|usa|us[áa] |trátame|tratame|puedes|podés|podes|recuérdame|recordame)\b",
    re.IGNORECASE,
)
_LEADS = frozenset(
    "no nunca ya también tampoco siempre casi solo ahora todavía aún actualmente normalmente generalmente antes recién jamás apenas".split()
)
_OWN = {"mi": "su", "mis": "sus", "conmigo": "consigo", "mí": "él"}
_CLITICS = frozenset("lo la los las le les se".split())
_MASCULINE_IN_A = frozenset("problema idioma sistema programa clima día planeta mapa papá tema dilema".split())
_FEMININE = frozenset("madre mujer moto mano foto actriz bebida suegra sal miel piel nuera doctora jefa directora radio".split())
_ADJECTIVES = frozenset(
    "mejor nuevo nueva primer primera segundo segunda ex gran querido querida antiguo antigua próximo próxima mayor actual viejo vieja".split()
)
_JOINTS = frozenset("y e pero que porque aunque donde cuando".split())
_TIMES = frozenset(
    "lunes martes miércoles jueves viernes sábado sábados domingo domingos mañanas tardes noches mañana tarde noche días día semana semanas mes meses "
    "año años verano invierno vez ayer anoche hoy".split()
)
_BEFORE_VERB = _JOINTS | _LEADS | _CLITICS | _TIMES | {"me"}
_MAX_WORDS = 16
"""Maximum number of words of a clause that is rewritten. A longer clause usually has several verbs, and one could be missed."""
_PLEASES = regex(
    r"(?:gust|encant|interes|import|molest|fascin|apasion|falt|cuest|cost|duel|dol|parec|caen?\b|cay|qued|hacen? falta"
    r"|dan?\b|dio\b|dieron\b|dij|recet|regal|mand|envi|prest|pag|cont|explic|enseñ|salen?\b)\w*$"
)
"""Matches a verb with which "me" becomes "le". With other verbs, "me" may become "lo" or "la": "me tiene harta"."""
_CLUSTER = regex(r"\bme (?:lo|la|los|las|le|les)\b", re.IGNORECASE)
_LEFT_VERB = regex(r"\b(?:lo|la|los|las|le|les|se|me|no|que) (?!como\b)\w{2,}(?:o|oy|é|í)\b", re.IGNORECASE)
"""Matches a word that follows a pronoun and looks like a verb in the first person.

If the rewritten text contains such a word, a verb was overlooked.
"""
_BEFORE_COMO = frozenset("no nunca ya también tampoco siempre casi solo yo y".split())
"""Words after which "como" means "I eat". After other words it means "as": "lo dejé, como predije"."""
_FEMININE_SPEAKER = regex(
    r"\b(?:soy|estoy|era|fui|he sido|estaba) (?:muy |ya |bastante |felizmente )?(?!\w*(?:ista|nauta|cida)\b|una\b|la\b|(?:hincha|poeta|colega|atleta|belga|policía|guía)\b)"
    r"\w+(?:ada|ida|ica|íaca|iaca|ana|era|ora|osa|iva|esta|eta|ina|nda|rta|rda|lta|gada|aria|ra)\b",
    re.IGNORECASE,
)


def turn_spanish(text: str, place: str) -> str | None:
    """Return the clause in the third person, or None if it cannot be rewritten safely.

    ``place`` is a placeholder for the subject, which the caller replaces with "the user" or a name.
    """
    if any(mark in text for mark in '"«“') or _SECOND_PERSON.search(text) or _ORDER.match(text):
        return None
    if _CLUSTER.search(text) or len(text.split()) > _MAX_WORDS:
        return None
    if re.match(r"(?:yo|Yo) ", text):
        text = text[3:]
    owned = re.match(r"(?P<to>a )?(?P<my>mis?) (?P<rest>.+)$", text, re.IGNORECASE)
    if owned is not None:
        return _owned(owned, place)
    return _Rewriter(place).turn(text)


def _owned(found: re.Match[str], place: str) -> str | None:
    """Rewrite a clause that starts with "mi" or "mis": "mi hermana ..." becomes "la hermana de" plus the speaker.

    ``found`` is the match of the clause, and ``place`` is the placeholder for the speaker. Return None if the clause cannot
    be rewritten safely.
    """
    words = found["rest"].split(" ")
    length = 2 if words[0].lower() in _ADJECTIVES and len(words) > 1 else 1
    noun, rest = words[:length], words[length:]
    if not rest or not noun[-1].isalpha():
        return None
    head = noun[-1].lower()
    feminine = head in _FEMININE or (
        head.rstrip("s").endswith(("a", "ción", "dad", "sión", "tud", "ie")) and head not in _MASCULINE_IN_A
    )
    article = ("las" if feminine else "los") if found["my"].lower() == "mis" else ("la" if feminine else "el")
    start = ("Al" if article == "el" else f"A {article}") if found["to"] else article.capitalize()
    after = _Rewriter(place, named=True).turn(" ".join(rest))
    return None if after is None else f"{start} {' '.join(noun)} de {place} {after}"


def speaks_as_woman(text: str) -> bool:
    """Return True if the grammar shows that the speaker is female, as in "soy alérgica"."""
    return _FEMININE_SPEAKER.search(text) is not None


class _Rewriter:
    """Rewrites one Spanish clause in the third person."""

    def __init__(self, place: str, *, named: bool = False) -> None:
        self._place = place
        self._named = named
        self._turned = named
        self._unsure = False

    def turn(self, text: str) -> str | None:
        tokens = _TOKEN.findall(text)
        words = [(place, token) for place, token in enumerate(tokens) if token[0].isalpha()]
        out = list(tokens)
        for number, (place, token) in enumerate(words):
            lower = token.lower()
            before = words[number - 1][1].lower() if number else ""
            after = words[number + 1][1].lower() if number + 1 < len(words) else ""
            joined = number == 0 or before in _BEFORE_VERB or not tokens[place - 1].isspace()
            out[place] = self._word(token, lower, before, after, joined=joined)
        if self._unsure or _LEFT_VERB.search("".join(out)):
            return None
        if not self._turned:
            return None if self._mentions_self(text) else text
        return self._with_subject(out, tokens)

    def _word(self, token: str, lower: str, before: str, after: str, *, joined: bool) -> str:
        if lower in _OWN:
            return _OWN[lower]
        if lower == "me":
            self._turned = True
            if _third(after, sure=True):
                return "se"
            self._unsure = self._unsure or _PLEASES.match(after) is None
            return "le"
        is_as = lower == "como" and before not in _BEFORE_COMO and bool(before or _third(after, sure=True))
        third = None if is_as else _third(lower, sure=joined)
        if third is None or before in ("el", "un", "mi", "del", "al", "su", "de", "los", "mucho", "este"):
            return token
        self._turned = True
        return third

    def _mentions_self(self, text: str) -> bool:
        return bool(re.search(r"\b(?:me|mi|mis|yo|conmigo|mí)\b", text, re.IGNORECASE))

    def _with_subject(self, out: list[str], tokens: list[str]) -> str | None:
        """Insert the subject before the converted verb and its clitics. Return None if no verb or pronoun was changed.

        ``tokens`` is the original clause, and ``out`` the clause in the third person. If the rewriter was created with ``named``,
        the clause already has a subject, and ``out`` is returned as text without an insertion.
        """
        if self._named:
            return "".join(out)
        pairs = enumerate(zip(out, tokens, strict=True))
        changed = next((place for place, (new, old) in pairs if new != old and old.lower() not in ("mi", "mis")), None)
        if changed is None:
            return None
        start = changed
        while start >= 2 and out[start - 1].isspace() and out[start - 2].lower() in _LEADS | _CLITICS:
            start -= 2
        subject = f"a {self._place}" if out[changed] == "le" else self._place
        if start == 0:
            out[0] = out[0][:1].lower() + out[0][1:]
            subject = subject[:1].upper() + subject[1:]
        return "".join([*out[:start], subject, " ", *out[start:]])


def _third(word: str, *, sure: bool) -> str | None:
    """Return the third-person form of a first-person verb. Return None if the word is not recognized as such a verb.

    ``sure`` is True if the word is at a position where a verb is expected. If it is False, only irregular verbs are
    converted, and only forms that have no other meaning.
    """
    if word in _IRREGULAR:
        return (
            _IRREGULAR[word]
            if sure or word not in ("juego", "uso", "vuelo", "sé", "di", "visto", "cuento", "almuerzo", "recuerdo", "encuentro")
            else None
        )
    if not sure:
        return None
    if word.endswith("o") and word[:-1] in _BOTH:
        return word[:-1] + "e"
    if word.endswith("o") and word[:-1] in _AR:
        return word[:-1] + "a"
    for ending, new in (
        ("qué", "có"),
        ("gué", "gó"),
        ("cé", "zó"),
        ("ré", "rá" if len(word) > 5 and word[-3] in "aei" else "ró"),
        ("é", "ó"),
        ("í", "ió"),
    ):
        if word.endswith(ending) and len(word) > 3:
            return word[: -len(ending)] + new
    return None
