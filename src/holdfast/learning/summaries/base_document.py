"""Write the base document by rules: four sections about a user, updated with new summaries and facts, within a word limit.

Within a section, newer statements come before older ones. A newer statement can replace an older one, as when the user
has a new city or job. The older statement then moves to the history section and is marked as earlier.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.learning.summaries.centrality import content_terms
from holdfast.learning.summaries.durable import is_notable
from holdfast.learning.summaries.extractive import ALSO, clipped
from holdfast.learning.summaries.importance import importance_of, is_worth_keeping
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.details import Detail, details, find_details, missing
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences

HEADINGS: dict[str, tuple[str, str, str, str]] = {
    "en": ("User Profile", "Preferences", "Ongoing Topics", "Key History"),
    "es": ("Perfil del usuario", "Preferencias", "Temas en curso", "Historia clave"),
}
RULE_VERSION = "base-rules-1"
PROFILE, PREFERENCES, ONGOING, HISTORY = range(4)
_SECTION_OF = {fold(heading): place for headings in HEADINGS.values() for place, heading in enumerate(headings)}
_EARLIER = {"en": "Earlier", "es": "Antes"}
_ALSO_PREFIXES = tuple(fold(words) for words in ALSO.values())
_EARLIER_PREFIXES = tuple(fold(words) for words in _EARLIER.values())
_RECENT_SUMMARIES = 3
"""Number of newest summaries that go to the section for ongoing topics. Older summaries go to the history section."""
_MAX_LINE_CHARACTERS = 220
_MIN_OVERLAP = 0.8
"""Minimum share (0 to 1) of common words with which one line counts as a repetition of another."""
_REPORT = regex(r"(?P<speaker>[^:;.?!]{1,60} (?:said|asked|answered|dijo|preguntó|respondió)): (?P<quoted>.+)", re.DOTALL)
"""Matches a sentence of a rule-based summary: the speaker, and quoted sentences that are separated by semicolons."""
_PREFERENCE = regex(
    r"\b(?:prefer\w*|likes?|loves?|hates?|enjoys?|dislikes?|favou?rite|can'?t stand|gustan?|encantan?|prefier\w*|odi[ao]|favorit[oa]s?|detesta)\b"
)
_PLAN = regex(
    r"\b(?:plans? to|planning|wants? to|is going to|working on|learning|preparing|looking for|training for|quiere|planea|va a|piensa"
    r"|aprendiendo|preparando|buscando|trabajando en)\b"
)
_SLOTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, regex(rf"^(?P<who>.{{0,40}}?)\b(?:{words})"))
    for name, words in (
        ("home", r"lives? in|moved to|relocated to|viv[eo] en|se mudo a|me mude a"),
        ("job", r"works? (?:as|at|for)|started (?:working )?at|trabaj[ao] (?:en|como|de|para)"),
        ("name", r"name is|is called|se llama|me llamo|nombre es"),
        ("age", r"(?:is|am) \d+ years old|tien?go? \d+ anos|tiene \d+ anos"),
        ("contact", r"(?:e-?mail|phone(?: number)?|address|telefono|correo|direccion) (?:is|es)"),
        ("favorite", r"(?P<what>favou?rite \w+|\w+ favorit[oa]) (?:is|es)"),
    )
)
_SELF = regex(
    r"^(?:the user|user|i|he|she|they|my|their|el usuario|la usuaria|usuario|yo|mi|su)?(?:'s)?\s*(?:now|currently|ahora|ya)?\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One line of the document, with its section.

    A higher ``recency`` means newer. ``value``, from 0 to 1, is the importance of the line.
    """

    section: int
    text: str
    recency: int
    value: float


def distill(
    base: str, summaries: Sequence[str], facts: Sequence[str], *, max_words: int = 400, language: str | None = None
) -> str:
    """Return the base document (``base``), updated with summaries and facts. Summaries and facts must be sorted, oldest first.

    The result is empty if all inputs are empty.
    """
    if not any(text.strip() for text in (base, *summaries, *facts)):
        return ""
    language = _language(language, base, facts, summaries)
    older, listed = _parse(base, has_new_summaries=bool(summaries))
    wanted = {**find_details("\n".join(reversed(facts))), **find_details(_body(older)), **listed}
    items = _merge([*_from_facts(facts), *_from_summaries(summaries), *older], language)
    return _render(_choose(items, wanted, max_words, language), wanted, max_words, language)


def _language(language: str | None, base: str, facts: Sequence[str], summaries: Sequence[str]) -> str:
    if language is None:
        language = detect_language(" ".join((base, *facts, *summaries))[:2000])
    return language if language in HEADINGS else "en"


def _body(items: Iterable[_Item]) -> str:
    return "\n".join(item.text for item in items)


def _parse(base: str, *, has_new_summaries: bool) -> tuple[list[_Item], dict[str, Detail]]:
    """Parse the previous base document. Return its lines, and the details in its "also mentioned" lines.

    Details are names, numbers and dates. With ``has_new_summaries``, the lines about ongoing topics are moved to the
    history section.
    """
    items: list[_Item] = []
    listed: dict[str, Detail] = {}
    section: int | None = None
    for line in base.splitlines():
        heading = _SECTION_OF.get(fold(line.strip("#*:- \t")))
        if heading is not None:
            section = heading
            continue
        for sentence in [line.strip().lstrip("-*• ")] if line.lstrip()[:1] in ("-", "*", "•") else split_sentences(line):
            text = _without_small_talk(one_line(sentence))
            if fold(text).startswith(_ALSO_PREFIXES):
                listed.update(find_details(text))
            elif text:
                place = _section_of(text) if section is None else section
                # Topics that were ongoing become history once newer summaries arrive.
                place = HISTORY if place == ONGOING and has_new_summaries else place
                items.append(_Item(section=place, text=text, recency=-len(items), value=0.9 if place < ONGOING else 0.5))
    return items, listed


def _section_of(statement: str) -> int:
    plain = fold(statement)
    return PREFERENCES if _PREFERENCE.search(plain) else ONGOING if _PLAN.search(plain) else PROFILE


def _from_facts(facts: Sequence[str]) -> Iterator[_Item]:
    for number, fact in reversed(list(enumerate(facts, start=1))):
        text = clipped(one_line(fact).lstrip("-*• "), _MAX_LINE_CHARACTERS)
        if text:
            yield _Item(section=_section_of(text), text=text, recency=10_000 + number, value=1.0)


def _from_summaries(summaries: Sequence[str]) -> Iterator[_Item]:
    for number, summary in reversed(list(enumerate(summaries, start=1))):
        is_recent = number > len(summaries) - _RECENT_SUMMARIES
        for sentence in map(_without_small_talk, split_sentences(summary)):
            is_question = sentence.rstrip(' ."”»').endswith("?")  # a question about the world is small talk
            if fold(sentence).startswith(_ALSO_PREFIXES) or is_question or not is_notable(sentence):
                continue
            value = (0.5 if is_recent else 0.2) + importance_of(sentence) / 40
            yield _Item(
                section=ONGOING if is_recent else HISTORY,
                text=clipped(one_line(sentence), _MAX_LINE_CHARACTERS),
                recency=number,
                value=value,
            )


def _without_small_talk(sentence: str) -> str:
    """Remove the quoted questions, requests and small talk from a sentence that quotes a speaker. Return the sentence.

    The result is empty if nothing else is quoted. A sentence without a quotation is returned unchanged.
    """
    report = _REPORT.fullmatch(sentence)
    if report is None:
        return sentence
    parts = (part.rstrip(" .") for part in report["quoted"].split("; "))
    told = [part for part in parts if not part.endswith("?") and is_notable(part) and is_worth_keeping(part)]
    return f"{report['speaker']}: {'; '.join(told)}." if told else ""


def _merge(items: Iterable[_Item], language: str) -> list[_Item]:
    """Drop repeated lines. Move a line to the history if a newer line states another value of the same attribute."""
    kept: list[_Item] = []
    terms: list[frozenset[str]] = []
    slots: set[str] = set()
    for item in sorted(items, key=lambda item: -item.recency):
        words = frozenset(content_terms(item.text, language))
        if any(
            _is_repeat(words, other) and details(item.text) <= details(old.text) for other, old in zip(terms, kept, strict=True)
        ):
            continue
        slot = _slot(item.text) if item.section < ONGOING else None
        if slot in slots:
            item = replace(item, section=HISTORY, text=f"{_EARLIER[language]}: {item.text}", value=0.4)  # noqa: PLW2901
        elif slot:
            slots.add(slot)
        kept.append(item)
        terms.append(words)
    return kept


def _is_repeat(words: frozenset[str], other: frozenset[str]) -> bool:
    return not words or words <= other or len(words & other) >= _MIN_OVERLAP * len(words | other)


def _slot(statement: str) -> str | None:
    """Return a name for the attribute that a statement describes, such as a person's home.

    Return None if the statement describes no known attribute, or if it begins with "Earlier" and is therefore outdated.
    """
    plain = fold(statement)
    if plain.startswith(_EARLIER_PREFIXES):
        return None
    for name, pattern in _SLOTS:
        match = pattern.match(plain)
        if match:
            what = match.groupdict().get("what") or ""
            return f"{name} {what} {_SELF.sub('', match['who']).strip()}"
    return None


def _choose(items: Sequence[_Item], wanted: dict[str, Detail], max_words: int, language: str) -> list[_Item]:
    """Choose lines within the word limit, one at a time.

    Valuable lines are preferred. So are lines with a detail in ``wanted`` that no chosen line contains. Details are names,
    numbers and dates.
    """
    room = max_words - sum(len(heading.split()) + 1 for heading in HEADINGS[language])
    chosen: list[_Item] = []
    covered: set[str] = set()
    rest = [(item, details(item.text)) for item in items]
    while rest:
        best = max(
            rest, key=lambda pair: pair[0].value + 2.0 * len(pair[1] & wanted.keys() - covered) / (len(pair[0].text.split()) + 4)
        )
        rest.remove(best)
        item, item_details = best
        left = [detail.short for key, detail in wanted.items() if key not in covered | item_details]
        reserve = min(sum(len(short.split()) for short in left) + 4 if left else 0, max_words // 3)
        cost = len(item.text.split()) + 1
        if cost + reserve <= room:
            chosen.append(item)
            covered |= item_details
            room -= cost
    return chosen


def _render(chosen: Sequence[_Item], wanted: dict[str, Detail], max_words: int, language: str) -> str:
    lines = []
    for section, heading in enumerate(HEADINGS[language]):
        items = sorted((item for item in chosen if item.section == section), key=lambda item: -item.recency)
        lines += [f"## {heading}", *(f"- {item.text}" for item in items)]
    text = "\n".join(lines)
    lost = missing(wanted, text)
    lead = f"\n- {ALSO[language]}: "
    room = max_words - len(text.split()) - len(lead.split())
    listed = []
    for detail in (detail for key, detail in wanted.items() if key in lost):
        spelling = detail.full if len(detail.full.split()) <= room else detail.short
        if len(spelling.split()) <= room:
            listed.append(spelling)
            room -= len(spelling.split())
    return f"{text}{lead}{', '.join(listed)}." if listed else text
