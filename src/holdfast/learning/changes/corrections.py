"""Detect that a named thing is gone or has a new version number, or that a name or value was wrong.

"We had to put Biscuit down" says that Biscuit is gone. "Everything runs Django 5 now" gives Django a new version number. In
both cases, the new statement repeats the name from the old statement.

A correction says that a name or a number was wrong. The correction of a name, such as "I got her name wrong, it's Henley",
must contain a name spelled like the old name. The correction of a number must have the same topic as the old statement.
"""

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.endings import change_phrases, languages_of
from holdfast.learning.changes.phrases import LANGUAGES, phrases
from holdfast.learning.changes.slot_clauses import USER, SlotClause, clauses_of, expanded
from holdfast.learning.changes.wording import meaning
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.language import STOP_WORDS

_NAME: Final = regex(r"\b[A-ZÁÉÍÓÚÑ][\w’'-]*\w|\b[A-ZÁÉÍÓÚÑ]\b")
_NO_NAMES: Final = frozenset("i the user user's el la usuario usuaria my mi mis mr mrs ms dr sr sra i'm i've".split())
_NUMBERED: Final = regex(r"\b([^\W\d_]{3,}) (?:v|version |versión )?(\d+(?:\.\d+)*)(?![\w%:/]|\.\d| (?:of|de|am|pm)\b)")
_UNNUMBERED: Final = frozenset(
    "jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august september october november december "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre about around las los the for than "
    "have has take tengo tiene tomo hace aged turned".split()
)
_LOST: Final = (
    r"(?:put|ditched|scrapped|cancell?ed|called off|dropped|deleted|replaced|dumped|binned|swapped|sold|retired|decommissioned|uninstalled|overtaken|"
    r"dethroned|rehomed|buried|lost|abandon(?:ed|amos|é)|descart(?:amos|é)|cancel(?:amos|é|aron)|borr(?:é|amos)|vend(?:í|imos)|reemplaz(?:amos|é|ó)|"
    r"sustitu(?:imos|í|yó)|quit(?:amos|é)|desinstal(?:é|amos)|enterr(?:amos|é)|sacrific(?:ar|amos)|dorm(?:ir|imos)|"
    r"(?:nos|me|se) muri[oó]|muri[oó]|falleci[oó]|desbanc(?:ó|ado)|super(?:ó|ado)|adi[oó]s a|bye to|no more|instead of|en vez de|en lugar de|rather than)"
)
_GONE: Final = (
    r"(?:died|passed away|passed|is dead|was put down|is gone|has gone|ran away|got run over|shut down|closed down|went under|is no more|no longer|"
    r"is history|was stolen|got stolen|broke for good|is out|muri[oó]|falleci[oó]|se muri[oó]|ha muerto|se ha muerto|ya no|cerr[oó]|se escap[oó]|se perdi[oó]|"
    r"qued[oó] descartad[oa]|se cancel[oó]|se cay[oó])"
)
_DEATH: Final = regex(
    r"\b(?:died|dead|passed|put|buried|rehomed|ran away|lost|muri|falleci|muerto|dormir|sacrific|enterr|escap)", re.IGNORECASE
)
_WRONG: Final = regex(
    r"\b(?:wrong|mistake|misspell\w*|misspelt|spelled|spelt|typo|correction|correcting|i meant|i misspoke|mixed up|autocorrect|me equivoqu[eé]|me confund[ií]|"
    r"correcci[oó]n|quise decir|quer[ií]a decir|lo dije mal|lo escrib[ií] mal|se escribe|est[aá] mal|error)\b",
    re.IGNORECASE,
)
_MIN_SPELLING_LIKENESS: Final = 0.72
"""Minimum similarity, from 0 to 1, of two spellings of one name."""


def is_given_up(old: str, new: str, language: str | None = None) -> bool:
    """Return True if, according to the new statement, a thing in the old statement is gone or has another version number.

    For example, "we use Node 20 now" changes the version number in "we use Node 16".
    """
    for code in languages_of(old, new, language):
        before = clauses_of(old, phrases(code), plans=True)
        after = [clause for clause in clauses_of(new, phrases(code)) if not clause.cues & {"also", "temporary", "past"}]
        if any(_is_lost(one, other, code) or _renumbered(one, other, code) for one in before for other in after):
            return True
    return False


def _is_lost(old: SlotClause, new: SlotClause, language: str) -> bool:
    if (
        old.cues & {"past", "ended", "not"}
        or change_phrases(language).verbs["like"].match(old.predicate)
        or _is_work(old, language)
    ):
        return False
    whole = new.text if new.subject in {None, USER} else f"{new.subject.split(':')[-1]} {new.predicate}"
    folded = fold(whole)
    for name in _names_in(old):
        if name not in folded:  # a pattern per name is slow to compile, and most names do not occur
            continue
        found = _loss_pattern(name).search(folded)
        if found is None:
            continue
        theirs = old.subject == USER or (old.subject or "").endswith(f":{name}") or old.subject == name
        mine = new.subject in {None, USER, name, old.subject} or (new.subject or "").endswith(f":{name}")
        if theirs and mine and (old.subject == USER or _DEATH.search(found.group(0))):
            return True
    return False


def _is_work(clause: SlotClause, language: str) -> bool:
    return change_phrases(language).verbs["protected"].match(clause.predicate) is not None


@lru_cache(maxsize=1024)
def _loss_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for the loss of a named thing: a word such as "lost" shortly before the name or directly after it."""
    own = re.escape(name)
    return regex(
        rf"\b{fold(_LOST)}\s+(?:(?:my|our|the|a|al|el|la|mi|de|to|de lado)\s+)*(?:\w+\s+)?{own}\b(?!\s+\w+\s+(?:tickets?|trip|plan))"
        rf"|\b{own}(?: is| was| has been| got| fue)?\s+{fold(_GONE)}"
    )


def _names_in(clause: SlotClause) -> list[str]:
    """Return the names in a clause, including the name of its subject."""
    names = [fold(match.group(0)) for match in _NAME.finditer(clause.predicate)]
    own = (clause.subject or "").partition(":")[2] or ("" if clause.subject in {None, USER} else str(clause.subject))
    stop = STOP_WORDS["en"] | STOP_WORDS["es"] | _NO_NAMES | _UNNUMBERED
    return [name for name in dict.fromkeys([*names, own]) if name and name not in stop and len(name) > 2]


def _renumbered(old: SlotClause, new: SlotClause, language: str) -> bool:
    """Return True if both texts name the same thing with different numbers, such as Node 16 and Node 20."""
    changed = "now" in new.cues or change_phrases(language).words["changed"].search(new.text)
    if not changed or old.cues & {"past", "ended"} or old.subject != new.subject:
        return False
    before, after = (
        {word: number for word, number in _NUMBERED.findall(fold(clause.predicate)) if word not in _UNNUMBERED}
        for clause in (old, new)
    )
    return any(before[word] != after[word] for word in before.keys() & after.keys())


def is_corrected(old: str, new: str, language: str | None = None) -> bool:
    """Return True if the new statement corrects the old statement.

    The new statement must say that a name or value was wrong, and state the right name or value.
    """
    if _WRONG.search(new) is None:
        return False
    before, after = _capitals(old), _capitals(new)
    shared = before & after
    if any(_spelled_alike(one, other) for one in before - shared for other in after - shared):
        return True
    code = next(iter(languages_of(old, new, language)), LANGUAGES[0])
    topic = {word for word in meaning(old, code) & meaning(new, code) if len(word) > 3} - change_phrases(code).generic
    numbers = [frozenset(re.findall(r"\d+", text)) for text in (old, new)]
    return bool(topic) and bool(numbers[0] and numbers[1]) and not numbers[1] <= numbers[0]


def _capitals(text: str) -> frozenset[str]:
    return frozenset(fold(match) for match in _NAME.findall(expanded(one_line(text)))) - _NO_NAMES


def _spelled_alike(one: str, other: str) -> bool:
    return len(one) > 3 and len(other) > 3 and SequenceMatcher(None, one, other).ratio() >= _MIN_SPELLING_LIKENESS
