"""Find the parts of a sentence that are still true after a change. Words are cut, never added.

After "I moved to Leeds", the sentence "I live in York with my aunt" becomes "I live with my aunt". The changed part is
searched in this order: a claim (a coordinated clause), an item of a list, a phrase with a place, a time, a companion or a
role. If the changed part is not found, no part of the sentence is kept.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from holdfast.learning.changes.changes_in_words import change_in_words
from holdfast.learning.changes.endings import change_phrases, endings_in
from holdfast.learning.changes.moments import times_differ
from holdfast.learning.changes.parts.claims import split_claims, subject_of
from holdfast.learning.changes.parts.lists import list_in
from holdfast.learning.changes.parts.segments import ALONE, DAYS, Segment, segments_of, verb_end
from holdfast.learning.changes.phrases import LANGUAGES, folded
from holdfast.learning.changes.slots import Slot, slots_of
from holdfast.learning.changes.supersede import retires
from holdfast.learning.changes.wording import meaning, shared_words
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.dictation import HE
from holdfast.text.sentences import split_sentences

_POINTS_TO_THING: Final = regex(r"\b(?:it|its|it's|there|that|this|ahí|allí|allá|eso|esto)\b", re.IGNORECASE)
_OWNS: Final = regex(r"(?:(?:yo|i|we) )?(?:tengo|tenemos|have|own|keep|(?:i|we)'ve got)\b")
"""Matches the beginning of a claim that the user has something, in lower case and without accents."""
_HAS: Final = regex(r"(?:(?:yo|i|we|there) )?(?:tengo|tenemos|hay|have|had|is|are|(?:i|we)'ve got)\b")
_OF_IT: Final = regex(
    rf"(?:\w+, )?(?:(?:{HE}|she|it|they|ella?)\b|(?:tiene|es|esta|se llama|pesa|mide|cumple|come|toma|duerme|vive|va|lleva|ya|le|lo|la)\b)"
)
"""Matches the beginning of a claim about something that a claim before it names: "tiene 9 años", "Lento, he is 9"."""
_CALLED: Final = regex(r"\b(?:called|named|se llaman?)\b")
_HAS_ONE: Final = regex(r"\b(?:have|has|got|tengo|tiene|tenemos|tienen) (?:an?|un|una)\b")
_GOES: Final = regex(r"(?:(?:i|we|yo) )?(?:go|voy|vamos)\b")
_LIVES: Final = regex(r"\s*(?:['’]\w+\s+)?(?:\w+\s+)?(?:liv(?:e|es|ing)|viv\w+|resid\w+)\b", re.IGNORECASE)
_DWELLING: Final = regex(
    r"\b(?:flat|apartment|house|studio|room|condo|place|piso|casa|departamento|depto|depa|apartamento|habitación|cuarto)\b",
    re.IGNORECASE,
)
_RENTS: Final = regex(r"\b(?:rent|rents|share|shares|own|owns|alquil\w+|rent[oa]|compart\w+)\b", re.IGNORECASE)
_OPEN_END: Final = regex(
    r"(?:['’](?:s|re|m)|\b(?:is|are|am|was|were|be|been|es|son|soy|era|eran|fue|fueron|está|estoy|están|starts|empieza|sale))$",
    re.IGNORECASE,
)
"""Matches the end of a clause whose verb has lost its complement: "The trip is", after its date was cut."""
_BROKEN: Final = regex(
    r"\b(?:en|con|de|al?|del|por|para|the|an?|my|mi|in|at|on|to|of|with|for|from)\s+(?:no|y|and|but|pero|que|(?:s?he|it|they|i)(?:['’]?s)?|(?:is|es))\b"
    r"|\b(?:to|for|with|at|from|of|para|con|en|de)\s+(?:to|for|with|at|from|para|con|en|por|desde)\b"
    r"|^(?:what|how|where|which|when|qu[eé]|c[oó]mo|d[oó]nde)\s+(?:s?he|it|they|i|we|my)(?:['’]?(?:s|m|re))?\b",
    re.IGNORECASE,
)
"""Matches a preposition or an article whose noun was cut, or a question word whose verb was cut: "Estoy en no llego"."""
_JOB_ATTRIBUTES: Final = frozenset({"employer", "occupation", "school"})
_MIN_TOKEN: Final = 3
_MIN_CHANCE: Final = 0.5
"""Minimum probability with which a claim counts as changed, if it is known that one of several claims has changed."""
_MIN_LIKELIEST: Final = 0.9
"""Minimum probability of the likeliest changed claim with which it alone counts as changed."""
_MIN_LEAD: Final = 0.04
"""The same for the distance to the probability of the second likeliest claim."""
_MIN_ENDS_REST: Final = 0.95
"""Minimum probability with which a new statement that mentions a phrase of a claim also ends the rest of the claim."""
_MIN_ENDS_TOO: Final = 0.99
"""Minimum probability with which a new statement that changes one claim of a sentence also ends another claim it mentions."""

Chance: TypeAlias = Callable[[str, str], float]
"""Function that takes an old claim and a new statement, and returns the probability that the claim is outdated."""


def rest_of(sentence: str, new: str, language: str | None, chance: Chance | None = None) -> list[str]:
    """Return those claims of a sentence that are still true after a new statement, with the outdated words cut out.

    A changed claim is left out if it is unclear which part is still true, or if the new statement repeats that part. A claim
    is also left out if it refers to a thing in the changed claim before it. The list is empty if no claim is left. ``chance``
    estimates which claim has changed if the words do not show it.
    """
    language = language if language in LANGUAGES else "en"
    new = " ".join(each for each in split_sentences(new) if not each.endswith("?")) or new
    claims = split_claims(sentence, language)
    changed = _changed_claims(claims, new, language, chance)
    kept: list[str] = []
    for number, claim in enumerate(claims):
        if number not in changed:
            follows = _is_about(claim, claims[number - 1], language) or _is_consequence(claim, sentence)
            ends_too = number - 1 in changed and (points_to_thing(claim) or follows)
            kept += [] if ends_too else [claim]
        elif (rest := _rest_of_claim(claim, new, language, chance)) and fold(rest).rstrip(" .") not in fold(new):
            kept.append(rest)  # the new statement does not say it itself
    return kept


def _changed_claims(claims: Sequence[str], new: str, language: str, chance: Chance | None) -> set[int]:
    """Return the positions of the claims that a new statement changes. If this is unclear, return all positions.

    ``chance`` estimates which claim has changed if the words do not show it. It also adds the other claims that the new
    statement mentions and ends: "he stopped the pills, so he may eat spinach again" changes two claims.
    """
    every = set(range(len(claims)))
    if len(claims) == 1:
        return every
    about = shared_words(subject_of(claims[0], language), new)  # the name of the person does not tell the claims apart
    shared = [len(shared_words(claim[len(subject_of(claim, language)) :], new) - about) for claim in claims]
    found = _first_changed(claims, shared, new, language, chance)
    mentioned = {number for number in every - found if shared[number]} if chance is not None else set()
    return found | {number for number in mentioned if chance is not None and chance(claims[number], new) >= _MIN_ENDS_TOO}


def _first_changed(claims: Sequence[str], shared: Sequence[int], new: str, language: str, chance: Chance | None) -> set[int]:
    """Return the positions of the claims that a new statement changes, or all positions if no way tells them apart.

    ``shared`` counts, for each claim, the words that the new statement has in common with it.
    """
    every = set(range(len(claims)))
    by_rules = {number for number in every if is_changed(claims[number], new, language)}
    if by_rules:
        return by_rules
    chances = [chance(claim, new) for claim in claims] if chance is not None else []
    likeliest, second = [*sorted(chances, reverse=True), 0.0, 0.0][:2]
    if likeliest >= _MIN_LIKELIEST and likeliest - second >= _MIN_LEAD:
        return {chances.index(likeliest)}
    if max(shared) and shared.count(max(shared)) == 1:
        return {shared.index(max(shared))}
    parallel = {number for number in every if _parallel(claims[number], segments_of(claims[number], language), new, language)}
    if len(parallel) == 1:
        return parallel
    named = {number for number in every if _names_in(claims[number]) & _names_in(new)}
    if len(named) == 1:
        return named
    return {number for number, each in enumerate(chances) if each >= _MIN_CHANCE} or every


def points_to_thing(claim: str) -> bool:
    """Return True if a claim refers to a thing or place that was named before it: "my brother lives there"."""
    return _POINTS_TO_THING.search(claim) is not None


def _is_consequence(claim: str, sentence: str) -> bool:
    """Return True if a claim says what follows from the claim before it: "I work nights, so I sleep till noon"."""
    return (
        re.search(rf"\b(?:so|así que|por eso|de modo que) (?:que )?{re.escape(fold(claim).rstrip(' .'))}", fold(sentence))
        is not None
    )


def _is_about(claim: str, owned: str, language: str) -> bool:
    """Return True if a claim does not stand alone, but continues the claim before it (``owned``).

    It describes what the user has, names what somebody has, or only says when the user goes, as in "Voy los lunes".
    """
    if _CALLED.search(fold(claim)) and _HAS_ONE.search(fold(owned)):
        return True
    if _OWNS.match(fold(owned)) is not None and _OF_IT.match(fold(claim)) is not None:
        return True
    goes = _GOES.match(fold(claim))
    return goes is not None and not meaning(DAYS[language].sub(" ", claim[goes.end() :]), language)


def is_changed(text: str, new: str, language: str) -> bool:
    """Return True if, according to the rules, a new statement changes something in a text."""
    if _retired(text, new, language) or change_in_words(text, new, language) is not None:
        return True
    claims = split_claims(text, language)
    return len(claims) > 1 and any(is_changed(claim, new, language) for claim in claims)


def _retired(text: str, new: str, language: str) -> list[tuple[Slot, Slot]]:
    """Return those slots of a text that a new statement makes outdated. Each is paired with the new slot."""
    after = slots_of(new, language=language)
    return [(slot, change) for slot in slots_of(text, language=language) for change in after if retires(slot, change)]


def _rest_of_claim(claim: str, new: str, language: str, chance: Chance | None) -> str | None:
    """Return that part of a changed claim that is still true after the statement ``new``.

    Return None if no part is still true, or if it is unclear what has changed. If a phrase is cut only because the new
    statement mentions it, ``chance`` checks that the new statement does not end the rest, too.
    """
    listed = list_in(claim, language)
    if listed is not None and not all(DAYS[language].match(item) for item in listed.items):
        shared = [len(shared_words(item, new) - shared_words(listed.before, new)) for item in listed.items]
        dropped = {number for number, count in enumerate(shared) if count and count == max(shared)}
        if dropped and _is_listed_again([listed.items[number] for number in dropped], new, language):
            return None
        if dropped and len(dropped) < len(listed.items):
            left_over = _clean(listed.without(dropped))
            return None if _are_days(listed.items, dropped, language) or _is_broken(left_over, claim) else left_over
    retired = _retired(claim, new, language)
    if any(change.ended and slot.attribute in _JOB_ATTRIBUTES for slot, change in retired):
        return None  # someone who left a job no longer has its role
    segments = segments_of(claim, language)
    changed = _changed_segments(claim, segments, retired, new, language)
    mentioned = [] if changed else _named(segments, new, language)
    changed = changed or mentioned or _no_longer_alone(segments, new)
    if not changed or _has_ended(segments[0].text if retired else claim, claim, new, language):
        return None
    left = [each for each in segments if each not in changed and _is_independent(each, claim, changed, retired)]
    if _retired(_clean("".join(each.text for each in left)), new, language):  # a new day can also change the hour
        left = [each for each in left if each.sort != "time"]
    rest = _clean("".join(each.text for each in left))
    ends_too = chance is not None and mentioned and chance(rest, new) >= _MIN_ENDS_REST
    if ends_too or _OPEN_END.search(rest) or _is_broken(rest, claim) or _retired(rest, new, language):
        return None
    return rest if _says_something(left, claim, language) else None


def _is_broken(rest: str, claim: str) -> bool:
    """Return True if the rest of a clause has a preposition without its noun, and the clause itself has none."""
    return _BROKEN.search(rest) is not None and _BROKEN.search(claim) is None


def _are_days(items: Sequence[str], dropped: set[int], language: str) -> bool:
    """Return True if the other items of a list only say when something takes place that has ended.

    For example, nothing is left of "yoga at the gym, Mondays and Fridays" without the yoga. ``dropped`` are the positions of
    the ended items.
    """
    days = {number for number, item in enumerate(items) if not meaning(DAYS[language].sub(" ", item), language)}
    return bool(days) and days == set(range(len(items))) - dropped


def _is_listed_again(items: Sequence[str], new: str, language: str) -> bool:
    """Return True if a new statement has a list that contains one of these items: "now I run on Monday and Sunday".

    The new list then replaces the whole old list. Return False if the new statement says that something has ended.
    """
    lists = [found for claim in split_claims(new, language) if (found := list_in(claim, language)) is not None]
    again = any(shared_words(item, other) for item in items for each in lists for other in each.items)
    return again and not any(endings_in(new, language))


def _changed_segments(
    claim: str, segments: Sequence[Segment], retired: Sequence[tuple[Slot, Slot]], new: str, language: str
) -> list[Segment]:
    """Return those phrases of a clause (``claim``) that a new statement changes.

    ``segments`` are all phrases of the clause. ``retired`` are the slots that the new statement makes outdated, each
    with the new slot.
    """
    added = segments[1:]
    values = {token for slot, _ in retired for token in folded(slot.value).split() if len(token) >= _MIN_TOKEN}
    dated = any(slot.attribute.startswith("when ") for slot, _ in retired)
    by_value = [
        each for each in added if values & set(re.findall(r"[\w&]+", fold(each.text))) and (each.sort == "time" or not dated)
    ]
    if by_value:
        return by_value
    person = _names_in(subject_of(new, language))
    by_person = [each for each in added if each.sort == "company" and person & _names_in(each.text)]
    if by_person and not re.search(r"\b(?:and|y)\b", subject_of(new, language)):
        return by_person
    return _parallel(claim, segments, new, language)


def _no_longer_alone(segments: Sequence[Segment], new: str) -> list[Segment]:
    """Return the word "alone" of a clause, such as "I live alone in York", if a new statement names no other part of it."""
    alone = [each for each in segments if each.text.strip(" .").casefold() in ALONE]
    others = [each for each in segments[1:] if each not in alone]
    return [] if any(shared_words(each.text, new) for each in others) else alone


def _named(segments: Sequence[Segment], new: str, language: str) -> list[Segment]:
    """Return the phrases of a clause, other than its core, that a new statement mentions.

    The core consists of subject, verb and object. The list is empty if the new statement also mentions the object. The list
    is also empty if the core alone says nothing. For example, "I go" is no statement: after "I cancelled the gym", nothing of
    "I go to the gym with Tom" is kept.
    """
    core = segments[0].text[verb_end(segments[0].text, language) :]
    has_role = any(each.sort == "role" for each in segments)
    if shared_words(core, new) or not (meaning(core, language) or has_role):
        return []
    return [each for each in segments[1:] if shared_words(each.text, new)]


def _parallel(claim: str, segments: Sequence[Segment], new: str, language: str) -> list[Segment]:
    """Return those phrases of a clause for which a new statement gives another value, such as another place or time.

    A phrase of the new statement that only names what the clause names is no other value: "I was fired from Acme" does not
    give another place for "I work at Acme in Leeds".
    """
    others = [
        each
        for statement in split_sentences(new)
        for other in split_claims(statement.rstrip(" .!"), language)
        for each in segments_of(other, language)[1:]
    ]
    others = [each for each in others if each.sort == "time" or not _repeats(each, claim)]
    found = []
    for each in segments[1:]:
        same = [other for other in others if other.sort == each.sort]
        if each.sort == "time":
            differs = any(times_differ(each.text, other.text, moved=False) for other in same)
        else:
            comparable = any(_comparable(each.text, other.text) for other in same)
            differs = each.sort != "other" and comparable and not shared_words(each.text, new)
        if differs:
            found.append(each)
    times = [number for number, each in enumerate(segments) if each in found and each.sort == "time"]
    found += [
        each
        for number, each in enumerate(segments)
        if each.sort == "time"
        and each not in found
        and {number - 1, number + 1} & set(times)
        and times_differ(each.text, new, moved=False)
    ]  # the whole date changes: "wednesday 8 april" of "wednesday 8 april at 2"
    return found


def _repeats(phrase: Segment, claim: str) -> bool:
    """Return True if a claim contains all words of a phrase of another statement. What follows a comma does not count."""
    words = phrase.text.partition(",")[0]
    return len(shared_words(words, claim)) >= len(meaning(words, None))


def _comparable(old: str, new: str) -> bool:
    """Return True if two phrases can be two values of one attribute.

    They can if both contain a name, or if neither does and both begin with the same word.
    """
    names = bool(_names_in(old)), bool(_names_in(new))
    return all(names) or (not any(names) and old.split(maxsplit=1)[0].casefold() == new.split(maxsplit=1)[0].casefold())


def _has_ended(part: str, claim: str, new: str, language: str) -> bool:
    """Return True if the new statement says that something in a part of a clause is over.

    The other phrases of the clause are then outdated, too. ``part`` is the whole clause, or only its core (subject, verb and
    object) if it is known which value of the clause has changed.
    """
    words = meaning(part[len(subject_of(claim, language)) :], language)
    return any(ending.things and ending.things <= words for ending in endings_in(new, language))


def _is_independent(
    segment: Segment,
    claim: str,
    changed: Sequence[Segment],
    retired: Sequence[tuple[Slot, Slot]],
) -> bool:
    """Return True if a phrase of a clause is still true although other phrases of the clause (``changed``) are outdated.

    Normally, the result is True, and it is always True for the core of a clause (subject, verb and object). There are two
    exceptions. If the user moved, only a companion ("with my aunt") is still true. If the place of a job or school changed,
    only the role is still true.

    ``segment`` is the phrase, and ``claim`` is the whole clause. ``retired`` are the slots that the new statement makes
    outdated, each with the new slot.
    """
    if segment.sort == "core":
        return True
    moved = any(each.sort == "place" for each in changed)
    if moved and _LIVES.match(claim, len(subject_of(claim, "en") or subject_of(claim, "es"))):
        return segment.sort == "company"
    if moved and any(slot.attribute in _JOB_ATTRIBUTES for slot, _ in retired):
        return segment.sort == "role"
    return True


def _says_something(left: Sequence[Segment], claim: str, language: str) -> bool:
    """Return True if the remaining phrases of a clause still state a fact, not only a verb and a time.

    ``left`` are the remaining phrases, and ``claim`` is the whole clause.
    """
    core = next((each.text for each in left if each.sort == "core"), "")
    added = [each for each in left if each.sort not in ("core", "time")]
    if _RENTS.search(core) and _DWELLING.search(core):
        return False  # the dwelling changes with its place
    named = meaning(core[verb_end(claim, language) :], language)
    if added:
        return not (_OPEN_END.search(core.strip()) and added[0].sort == "other")  # "My dad is with flu" lacks its complement
    if _LIVES.match(claim, len(subject_of(claim, language))):
        return False
    return bool(named) and not (_HAS.match(fold(core)) and named <= change_phrases(language).generic)


def _names_in(text: str) -> set[str]:
    return {fold(name) for name in re.findall(r"[A-ZÁÉÍÓÚÑ][\w’'-]+", text)} - {
        "my",
        "our",
        "the",
        "mi",
        "el",
        "la",
        "i",
        "we",
        "yo",
    }


def _clean(text: str) -> str:
    text = re.sub(r"\s+([,.])", r"\1", " ".join(text.split()))
    text = re.sub(r",(?:\s*,)+", ",", text).strip(" ,;")
    return text[:1].upper() + text[1:]
