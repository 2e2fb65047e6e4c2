"""Rewrite an English first-person clause in the third person."""

import re

from holdfast.runtime.regex import regex

_TOKEN = regex(r"[A-Za-z]+(?:'[A-Za-z]+)?|[^A-Za-z]+")
_ADVERBS = frozenset(
    "also always never usually often still just now currently really actually recently finally already only sometimes rarely mostly mainly "
    "generally normally typically personally absolutely especially particularly definitely hardly ever no longer both even regularly almost "
    "simply truly secretly strongly occasionally seldom once then honestly probably".split()
)
_MODALS = frozenset("can could will would should must might may cannot can't couldn't won't wouldn't shouldn't mustn't".split())
_PAST = frozenset(
    "was had did went got came saw made took found left lost broke bought sold met ran won became began began grew gave knew thought told said "
    "wrote read spent kept slept taught caught felt fell flew drove rode spoke chose quit put set cut hurt let built sent paid heard held led "
    "drank ate sang swam wore tore froze stole woke understood used hid hit shut split spread dealt dreamt learnt burnt forgot".split()
)
_BASES = frozenset(
    "live work study teach play speak love like hate prefer enjoy drink eat drive ride run own use have go collect sing cook bake paint draw write "
    "read watch listen wake sleep swim walk cycle volunteer manage lead need want know take wear keep make do commute travel garden".split()
)
_FIXED = {
    "i'm": ("is", "are"), "im": ("is", "are"), "i've": ("has", "have"), "ive": ("has", "have"), "i'll": ("will", "will"), "i'd": ("would", "would"),
}  # fmt: skip
_WORDS = {"my": "their", "our": "their", "me": "them", "mine": "theirs", "myself": "themselves"}
_AUXILIARY = {"am": ("is", "are"), "was": ("was", "were"), "have": ("has", "have"), "do": ("does", "do"), "don't": ("doesn't", "don't"),
              "haven't": ("hasn't", "haven't"), "wasn't": ("wasn't", "weren't"), "dont": ("doesn't", "don't")}  # fmt: skip
_SUBJECTLESS = regex(
    r"^(?:(?:just|recently|finally|also) )*(?:moved|quit|got|started|bought|sold|adopted|signed|lost|broke|turned|finished|graduated|joined|"
    r"became|switched|decided|booked|studied|worked|lived|passed|failed|retired|settled|enrolled|inherited|hired|launched|published|stopped|gave)\b"
)
_IS_WHAT = regex(
    r"^(?:allergic|vegan|vegetarian|based|married|training|learning|working|living|studying|freelancing|renting|pregnant|diabetic|retired|saving)\b"
)
_ADDRESSED = regex(r"\b(?:you|your|yours|we|us|ourselves|let's|lets|we'\w+)\b", re.IGNORECASE)
_ORDER = regex(
    r"^(?:please|always|never|don't|do not|from now on|use|keep|call|answer|reply|respond|speak|talk|give|avoid|stop|treat|be|remind|when|going forward)\b",
    re.IGNORECASE,
)
_CONDITION = regex(r"\bif i\b", re.IGNORECASE)


def turn_english(text: str, place: str) -> str | None:
    """Return the clause in the third person, or None if it cannot be rewritten safely.

    ``place`` is a placeholder for the subject, which the caller replaces with "the user" or a name.
    """
    if '"' in text or "“" in text or _ADDRESSED.search(text) or _CONDITION.search(text):
        return None
    lower = text.lower()
    if not re.search(r"\b(?:i|i'\w+|im|ive|my|me|mine|myself|our)\b", lower):
        return _without_first_person(text, lower, place)
    if _ORDER.match(text):
        return None
    return _Rewriter(place).turn(text)


def _without_first_person(text: str, lower: str, place: str) -> str | None:
    if _SUBJECTLESS.match(lower):
        return f"{place} {text[0].lower()}{text[1:]}"
    if _IS_WHAT.match(lower):
        return f"{place} is {text[0].lower()}{text[1:]}"
    return None if _ORDER.match(text) else text


class _Rewriter:
    """Rewrites one English clause. The first mention of the speaker becomes the subject, later ones "they" and "their"."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._named = False
        self._verb_next = False
        self._agrees = 1
        """Index of the verb form to use: 0 (singular) after the speaker's name or "the user", 1 (plural) after "they"."""
        self._free = False
        """True if a verb after "and" or "but" also has the speaker as its subject, and so must be put in the third person.

        This is so in "I cook and bake" ("cooks and bakes"), but not in "I want to cook and bake" ("wants to cook and bake").
        """

    def turn(self, text: str) -> str | None:
        out: list[str] = []
        tokens = _TOKEN.findall(text)
        for number, token in enumerate(tokens):
            turned = self._word(token, tokens[number - 2].lower() if number >= 2 else "")
            if turned is None:
                return None
            out.append(turned)
        return "".join(out) if self._named and not self._verb_next else None

    def _word(self, token: str, before: str) -> str | None:
        lower = token.lower()
        if not token[0].isalpha():
            return token
        if lower == "i" or lower in _FIXED:
            return self._subject(lower)
        if self._verb_next:
            return self._verb(token, lower)
        if lower in _WORDS:
            return self._own(lower)
        second_verb = self._free and self._agrees == 0 and before in ("and", "but") and lower in _BASES
        self._free = self._free and lower != "to" and lower not in _MODALS
        return _third(lower) if second_verb else token

    def _own(self, lower: str) -> str | None:
        if self._named:
            return _WORDS[lower]
        self._named = True
        return {"my": f"{self._place}'s", "our": f"{self._place}'s", "me": self._place}.get(lower)

    def _subject(self, lower: str) -> str:
        self._agrees = 1 if self._named else 0
        subject = "they" if self._named else self._place
        self._named = True
        if lower == "i":
            self._verb_next = True
            return subject
        self._free = False
        return f"{subject} {_FIXED[lower][self._agrees]}"

    def _verb(self, token: str, lower: str) -> str | None:
        if lower in _ADVERBS or (lower.endswith("ly") and lower not in ("fly", "rely", "apply", "reply")):
            return token
        self._verb_next = False
        if lower in _AUXILIARY:
            self._free = lower == "have"
            return _AUXILIARY[lower][self._agrees]
        if lower in _MODALS or lower in _PAST or (lower.endswith("ed") and lower not in ("need", "feed", "breed", "speed")):
            return token
        if lower in ("a", "an", "the", "to", "and", "or", "as", "in", "at", "not"):
            return None
        self._free = True
        return _third(lower) if self._agrees == 0 else token


def _third(verb: str) -> str:
    """Return the third-person singular of a verb."""
    if verb in ("have", "go", "do"):
        return {"have": "has", "go": "goes", "do": "does"}[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"
