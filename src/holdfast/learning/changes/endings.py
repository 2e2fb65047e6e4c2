"""Endings of any sort of thing: "cancelled HelloFresh", "I gave up the ukulele", "ya no juego al pádel".

Slots know a few attributes well. What they do not know is compared here by its words: an ending ends a statement of
the same person that holds all it names, if that sort of ending can end that sort of statement. Selling ends owning,
finishing ends what was in progress, and neither ends what one likes, or where one works and lives.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from holdfast.learning.changes.phrases import LANGUAGES, SlotPhrases, accent_free, phrases
from holdfast.learning.changes.slot_clauses import USER, SlotClause, clauses_of
from holdfast.learning.changes.wording import content_words, meaning
from holdfast.text.language import detect_language

_PLURAL: Final = re.compile(
    r"\b(?:two|three|four|five|six|several|many|some|[2-9]|dos|tres|cuatro|cinco|seis|vari[oa]s|algun[oa]s)\b|\b(?:and|y|e)\b",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(r"\b(?:at|in|for|with|en|con|para)\s+([^,.;]+)", re.IGNORECASE)
_TAIL: Final = re.compile(r"(?<=\w) (?:in|on|at|en|al) (?:my |the |our |mi |el |la |los |las )?\w+", re.IGNORECASE)
_HYPHEN: Final = "z2dz"
"""What a hyphen is in a stem: sugar-free is no form of sugar."""
_BOTH: Final = re.compile(r"\b(?:all|both|the (?:two|three)|todos|todas|ambos|ambas|l[oa]s (?:dos|tres))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePhrases:
    """How one language says that something turned."""

    endings: Mapping[str, tuple[re.Pattern[str], ...]]
    verbs: Mapping[str, re.Pattern[str]]
    words: Mapping[str, re.Pattern[str]]
    parts: tuple[re.Pattern[str], ...]
    """The parts of a day or week, each with its names."""
    generic: frozenset[str]
    """Stems that name no thing of their own: course, subscription, meeting."""
    schedule: frozenset[str]
    """Stems that only tell when or how much: planned, moved, raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Something that came to an end."""

    subject: str | None
    sort: str
    verb: str
    """What is no longer done, as said; empty where only the thing is named."""
    things: frozenset[str]
    limit: frozenset[str]
    """What narrows it: of "stopped drinking coffee at night" the night."""
    all_of_them: bool


@lru_cache(maxsize=len(LANGUAGES))
def change_phrases(language: str) -> ChangePhrases:
    """Return how a language, one of ``LANGUAGES``, says it."""
    file = resources.files("holdfast.learning") / "words" / f"slots_turns_{language}.toml"
    table = tomllib.loads(file.read_text("utf-8"))
    words: dict[str, str] = {name: text for name, text in table["words"].items() if isinstance(text, str)}
    return ChangePhrases(
        endings={sort: tuple(map(_compiled, patterns)) for sort, patterns in table["endings"].items()},
        verbs={name: _compiled(text) for name, text in table["verbs"].items()},
        words={name: _compiled(words[name]) for name in ("limit", "changed", "moment", "since", "turned")}
        | {name: _compiled(rf"\b(?:{words[name]})\b") for name in ("numbers",)}
        | {"units": _compiled(rf"(?P<n>\d+(?:[.,]\d+)?)\s*(?P<u>(?:{words['units']})(?!\w))?")},
        parts=tuple(_compiled(rf"\b(?:{names})\b") for names in table["words"]["parts"]),
        generic=_stems(words["generic"], language),
        schedule=_stems(words["schedule"], language),
    )


def languages_of(old: str, new: str, language: str | None) -> list[str]:
    """Return the languages in which to read a pair: the one told, else what either shows, else all."""
    found = [code for code in (language, detect_language(old), detect_language(new)) if code in LANGUAGES]
    return list(dict.fromkeys(found)) or list(LANGUAGES)


def ends(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether a new statement says that what an old one tells has come to an end."""
    for code in languages_of(old, new, language):
        endings = list(endings_in(new, code))
        if endings and any(
            _is_over(clause, ending, code) for clause in clauses_of(old, phrases(code), plans=True) for ending in endings
        ):
            return True
    return False


def endings_in(text: str, language: str) -> Iterator[Ending]:
    """Yield what a text says to have ended."""
    words, turns = phrases(language), change_phrases(language)
    for clause in clauses_of(text, words):
        if clause.cues & {"temporary", "past"} and "ended" not in clause.cues:
            continue
        if clause.cues & {"ended", "not"}:
            yield from _denied(clause, words, turns)
            continue
        for sort, patterns in turns.endings.items():
            found = next((match for pattern in patterns if (match := pattern.match(clause.said))), None)
            if found:
                yield from _ending(clause, sort, found.group("o"), words, turns)


def is_limited(said: str, language: str) -> bool:
    """Tell whether something narrows what is said to have ended: coffee after six, meat on Fridays."""
    return _limit_in(said, "stop", change_phrases(language)) is not None


def _limit_in(said: str, sort: str, turns: ChangePhrases) -> re.Match[str] | None:
    said = said.split(",", maxsplit=1)[0]
    narrowed = turns.words["limit"].search(said)
    tail = _TAIL.search(said) if sort == "stop" and narrowed is None else None
    return narrowed or (tail if tail and not turns.words["since"].search(tail.group(0)) else None)


def _denied(clause: SlotClause, words: SlotPhrases, turns: ChangePhrases) -> Iterator[Ending]:
    """Yield the ending of "I no longer volunteer" and "ya no estoy en el colegio"."""
    place = turns.verbs["place"].match(clause.said)
    if place:
        if "ended" in clause.cues:
            yield from _ending(clause, "left", clause.said[place.end() :], words, turns)
        return
    yield from _ending(clause, "stop", clause.said, words, turns)


def _ending(clause: SlotClause, sort: str, said: str, words: SlotPhrases, turns: ChangePhrases) -> Iterator[Ending]:
    end = words.clauses["stop"].search(said)
    whole = said[: end.start()] if end else said
    limit = _limit_in(said, sort, turns)
    verb, rest = _verb_of(whole, sort, clause, turns)
    head = words.clauses["deed"].sub("", rest)
    things = meaning(head, words.language) - turns.generic or meaning(rest, words.language) - turns.generic
    if things or verb:
        narrowed = meaning(limit.group(0), words.language) or frozenset({limit.group(0).casefold()}) if limit else frozenset()
        yield Ending(
            subject=clause.subject,
            sort=sort,
            verb=verb,
            things=things,
            limit=narrowed - things,
            all_of_them=bool(_BOTH.search(said)),
        )


def _verb_of(said: str, sort: str, clause: SlotClause, turns: ChangePhrases) -> tuple[str, str]:
    """Take what is no longer done apart into its verb and the rest; a thing alone has no verb."""
    if sort != "stop":
        return "", said
    if said.casefold().startswith("no "):
        return "", said[3:]
    plain = turns.verbs["auxiliary"].sub("", said, count=1) if turns.verbs["auxiliary"].match(said) else said
    verb, _, rest = plain.partition(" ")
    is_verb = clause.cues & {"ended", "not"} or turns.verbs["light"].match(plain) or re.search(r"(?:ing|[aei]r)$", verb)
    return (verb, rest) if is_verb else ("", said)


def _is_over(old: SlotClause, ending: Ending, language: str) -> bool:
    turns = change_phrases(language)
    if old.cues & {"past", "ended", "not"} or ending.subject != old.subject or old.subject is None:
        return False
    if any(pattern.match(old.said) for patterns in turns.endings.values() for pattern in patterns):
        return False  # what has ended cannot end again
    told = meaning(old.said, language)
    if not _among(ending.things, told) or not _among(ending.limit, told) or not _fits(old, ending, turns, language):
        return False
    if ending.sort == "stop" and ending.things and not _is_headed(old, ending, turns, language):
        return False
    return not _PLURAL.search(old.said) or ending.all_of_them or ending.sort in {"left", "stop"}


def _is_headed(old: SlotClause, ending: Ending, turns: ChangePhrases, language: str) -> bool:
    """Tell whether what ended is what the old clause is about, not only a word beside it: chocolate, and chocolate cake."""
    words = phrases(language)
    liked = turns.verbs["like"].match(old.said)
    said = old.said[liked.end() :] if liked else old.said.partition(" ")[2]
    head = words.clauses["deed"].sub("", words.clauses["stop"].split(said, maxsplit=1)[0])
    named = [word for each in head.split() for word in meaning(each, language)]
    if len(named) < 2:
        return True
    last = named[0] if language == "es" else named[-1]
    return last in turns.generic or _among(frozenset({last}), ending.things | meaning(ending.verb, language))


def _fits(old: SlotClause, ending: Ending, turns: ChangePhrases, language: str) -> bool:
    """Tell whether this sort of ending can end what the old clause says."""
    said, is_a = old.said, turns.verbs
    if is_a["like"].match(said):
        return (
            ending.sort == "stop"
            and bool(ending.things)
            and bool(is_a["consume"].match(ending.verb) or _same_verb(old, ending, turns, language))
        )
    same = _same_verb(old, ending, turns, language)
    if is_a["protected"].match(said) or old.subject != USER:
        return bool(ending.things) and (
            same or ending.sort == "left" or (ending.sort == "leave" and _is_where(old, ending, language))
        )
    return _fits_own(old, ending, turns, language, same=same) if ending.things else same and len(said.split()) <= 4


def _fits_own(old: SlotClause, ending: Ending, turns: ChangePhrases, language: str, *, same: bool) -> bool:
    """Tell the same of what somebody has or does."""
    said, is_a = old.said, turns.verbs
    held, going_on = bool(is_a["have"].match(said)), bool(is_a["progress"].match(said))
    if is_a["be"].match(said) and not held and not going_on:
        return ending.sort in {"left", "gone"} or same or (ending.sort == "leave" and _is_where(old, ending, language))
    if ending.sort == "stop" and ending.verb:
        return same or (bool(is_a["light"].match(ending.verb)) and bool(going_on or is_a["light"].match(said)))
    if ending.sort == "finish":
        return going_on
    return ending.sort != "sell" or held or bool(re.match(r"(?:my|our|the|mi|el|la|nuestr[oa])\b", said, re.IGNORECASE))


def _is_where(old: SlotClause, ending: Ending, language: str) -> bool:
    """Tell whether what was left is where or with whom the old clause says somebody is: at the hotel, with the choir."""
    places = _PLACE.findall(old.said)
    return any(_among(ending.things, meaning(place, language)) for place in places)


def _same_verb(old: SlotClause, ending: Ending, turns: ChangePhrases, language: str) -> bool:
    if not ending.verb:
        return False
    plain = turns.verbs["auxiliary"].sub("", old.said, count=1) if turns.verbs["auxiliary"].match(old.said) else old.said
    before, after = content_words(plain.split(" ")[0], language), content_words(ending.verb, language)
    if not before or not after:
        return plain.split(" ")[0].casefold() == ending.verb.casefold()
    return _akin(before[0], after[0]) or not meaning(plain.split(" ")[0], language).isdisjoint(meaning(ending.verb, language))


def _among(words: frozenset[str], told: frozenset[str]) -> bool:
    return all(any(_akin(word, other) for other in told) for word in words)


def _akin(one: str, other: str) -> bool:
    """Tell whether two stems are of one word, which may be clipped: furgo, furgoneta."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= 4 and longer.startswith(shorter) and _HYPHEN not in longer


def _stems(names: str, language: str) -> frozenset[str]:
    return frozenset(stem for name in names.split("|") for stem in meaning(name, language))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(accent_free(pattern), re.IGNORECASE)
