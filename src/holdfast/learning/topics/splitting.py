"""Split a topic whose page is too long: move each of its memories to a narrower topic, losing none.

Each memory is one line of the page. A chat model proposes the subtopics if one is configured. Without a model, lines are
clustered by their vectors or their words. If no clusters are found, lines are split by age, so that every long page is
split.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import ModelError
from holdfast.learning import ask_model
from holdfast.learning.ask_model import Outcome
from holdfast.learning.topics.clusters import UNPLACED, RowVectors, content_terms, groups, rows_for, term_vectors, with_words
from holdfast.learning.topics.naming import MAX_CHARACTERS, distinctive, prompt_language, slug, unused_name
from holdfast.text.clean import fold
from holdfast.types import Memory, Put

RULE_VERSION: Final = "split-rules-1"
GENERAL: Final = "general"
_MAX_PREFIX_CHARACTERS: Final = 24
_MAX_PAGE_SHARE: Final = 0.85
"""Maximum share (0 to 1) of the lines of a split page that one new page may get.

A larger page would soon need to be split again.
"""
_MAX_GROUPS: Final = 8
_MAX_SHOWN_LINES: Final = 200
_MAX_LINE_CHARACTERS: Final = 160
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "subtopics": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["name", "lines"],
            },
        }
    },
    "required": ["subtopics"],
}


@dataclass(slots=True, kw_only=True)
class _Proposal:
    """A proposed split of a page. ``places`` maps the position of each line to its subtopic.

    Lines without a subtopic go to the general topic.
    """

    places: dict[int, str] = field(default_factory=dict)
    model: str | None = None
    prompt: str = RULE_VERSION
    flaws: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)


def split_needed(memories: Sequence[Memory], *, max_lines: int = 50) -> bool:
    """Return True if a page with these memories has more than ``max_lines`` lines. Calls no model."""
    return len(memories) > max_lines


def split(
    topic: str,
    memories: Sequence[Memory],
    *,
    max_lines: int = 50,
    model: ChatModel | None = None,
    vectors: RowVectors | None = None,
    taken: Collection[str] = (),
) -> Outcome:
    """Move each memory of a page with more than ``max_lines`` lines to a narrower topic.

    The model chooses the narrower topics. If there is no model, or its answer does not help, rules choose them. ``vectors``
    has one row per memory. Subtopics get names that are not in ``taken``. Lines that fit no subtopic go to
    ``<topic>-general``. No new page gets more than 85% of the lines.
    """
    rows = rows_for(len(memories), vectors)
    if not split_needed(memories, max_lines=max_lines):
        return Outcome(prompt=RULE_VERSION)
    proposal = _Proposal()
    if model is not None:
        proposal = _propose(topic, memories, model)
    if not _helps(proposal, len(memories)):
        if model is not None and not proposal.flaws:
            proposal.flaws.append("the model's subtopics leave nearly all lines together; rules split the page instead")
        places = _by_similarity(topic, [memory.text for memory in memories], rows)
        proposal = _Proposal(places=places, flaws=proposal.flaws, usage=proposal.usage)
    if not _helps(proposal, len(memories)):
        proposal = _Proposal(places=_by_age(memories, max_lines), flaws=proposal.flaws, usage=proposal.usage)
    changes = _relabeled(memories, _topics(topic, proposal.places, len(memories), taken))
    return Outcome(
        changes=changes, model=proposal.model, prompt=proposal.prompt, flaws=tuple(proposal.flaws), usage=proposal.usage
    )


def _helps(proposal: _Proposal, lines: int) -> bool:
    """Return True if no new page gets more than ``_MAX_PAGE_SHARE`` of the lines."""
    sizes = Counter(proposal.places.values())
    sizes[GENERAL] += lines - len(proposal.places)
    return max(sizes.values()) <= _MAX_PAGE_SHARE * lines


def _propose(topic: str, memories: Sequence[Memory], model: ChatModel) -> _Proposal:
    """Ask a model for the subtopics and the lines of each. Return the proposed split."""
    if len(memories) > _MAX_SHOWN_LINES:
        return _Proposal(
            flaws=[f"the page has {len(memories)} lines, and a prompt holds at most {_MAX_SHOWN_LINES}; rules split the page"]
        )
    prompt = ask_model.load_prompt("split", prompt_language(memory.text for memory in memories))
    lines = [f"{number} | {memory.text[:_MAX_LINE_CHARACTERS]}" for number, memory in enumerate(memories, 1)]
    try:
        answer = ask_model.complete(model, ask_model.prompt_turns(prompt, topic=[topic], lines=lines), _SCHEMA, max_tokens=2000)
    except ModelError as error:
        flaw = f"rules split the page because the model failed: {error}"
        return _Proposal(flaws=[flaw], usage=usage_of(error))
    proposal = _Proposal(model=model.name, prompt=prompt.version, flaws=list(answer.flaws), usage=answer.usage)
    _read(answer.data, topic, len(memories), proposal)
    return proposal


def _read(data: Mapping[str, Any], topic: str, lines: int, proposal: _Proposal) -> None:
    """Read the valid parts of a model's answer (``data``) into ``proposal``. A line listed twice belongs to the first subtopic.

    ``lines`` is the number of lines on the page.
    """
    unknown = 0
    names: dict[str, None] = {}
    for group in data.get("subtopics") or ():
        name = _without_prefix(topic, str(group.get("name") or ""))
        if not name or name == GENERAL or (name not in names and len(names) >= _MAX_GROUPS):
            continue
        names[name] = None
        for number in group.get("lines") or ():
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= lines:
                unknown += 1
            else:
                proposal.places.setdefault(number - 1, name)
    if unknown:
        proposal.flaws.append(f"the model named {unknown} lines that do not exist; they were ignored")


def _without_prefix(topic: str, name: str) -> str:
    """Return a subtopic's name without the name of its parent topic."""
    full = slug(name, max_words=10)
    return slug(full.removeprefix(f"{slug(topic, max_words=10)}-"))


def _by_similarity(topic: str, texts: Sequence[str], rows: RowVectors | None) -> dict[int, str]:
    """Cluster similar lines. Return a mapping from the position of a line to the name of its subtopic.

    The name is a word that distinguishes the cluster of the line from the other clusters. Outliers are left out. ``topic`` is
    the name of the page, and ``rows`` are the vectors of the lines. If ``rows`` is None, only the words of the lines are
    compared.
    """
    labels = groups(term_vectors(texts) if rows is None else with_words(rows, texts))
    places: dict[int, str] = {}
    for label in range(int(labels.max(initial=UNPLACED)) + 1):
        members = [place for place in range(len(texts)) if labels[place] == label]
        others = [texts[place] for place in range(len(texts)) if labels[place] != label]
        name = _name(topic, [texts[place] for place in members], others, set(places.values()))
        places.update(dict.fromkeys(members, name))
    return places


def _by_age(memories: Sequence[Memory], max_lines: int) -> dict[int, str]:
    """Divide the lines of a page into parts by age. Return a mapping from the position of a line to the name of its part.

    ``part-1`` has the oldest lines, and so on. Each part has half of ``max_lines`` lines. The last part can have fewer.
    """
    oldest_first = sorted(range(len(memories)), key=lambda place: (memories[place].valid_from, memories[place].item))
    size = max(1, max_lines // 2)
    return {place: f"part-{number // size + 1}" for number, place in enumerate(oldest_first)}


def _name(topic: str, texts: Sequence[str], others: Sequence[str], taken: Collection[str]) -> str:
    """Return a name for a subtopic of ``topic``: a word that distinguishes ``texts`` from ``others``.

    The word is neither part of the topic's name nor one of the names in ``taken``. If there is no such word, the name is
    "part", with a number if needed.
    """
    topic_terms = content_terms(topic.replace("-", " "))
    words = [word for word in distinctive(texts, others) if not content_terms(word) & topic_terms]
    unused = (name for word in words if (name := slug(word)) and name != GENERAL and name not in taken)
    return next(unused, None) or unused_name("part", taken)


def _topics(topic: str, places: Mapping[int, str], lines: int, taken: Collection[str]) -> list[str]:
    """Return the full name of the new topic of each line, in the order of the lines.

    ``lines`` is the number of lines on the page of ``topic``. ``places`` maps the position of a line to its subtopic. Lines
    that are not in ``places`` get the general topic. Names in ``taken`` are not given to subtopics.
    """
    prefix = slug(topic, max_words=10, max_characters=_MAX_PREFIX_CHARACTERS) or "topic"
    general = f"{prefix}-{GENERAL}"
    if fold(general) == fold(topic):
        general = unused_name(general, {topic, *taken})
    full: dict[str, str] = {}
    for name in dict.fromkeys(places.values()):
        wanted = slug(f"{prefix}-{name}", max_words=20, max_characters=MAX_CHARACTERS)
        full[name] = unused_name(wanted, {topic, general, *taken, *full.values()})
    return [full[places[place]] if place in places else general for place in range(lines)]


def follow(notes: Sequence[Memory], lines: Sequence[Put], *, general: str | None = None) -> tuple[Put, ...]:
    """Return the notes of a split page, each moved to the topic that most of its source lines moved to.

    A note records a recent conversation about the topic. If none of its source lines moved, the note goes to ``general``
    or, if that is None, to one of the new topics.
    """
    moved = {put.id: put.topic for put in lines}
    puts: list[Put] = []
    for note in notes:
        topics = Counter(topic for id in note.sources if (topic := moved.get(id)))
        chosen = topics.most_common(1)[0][0] if topics else general or next(iter(moved.values()), None)
        if chosen is not None:
            puts += _relabeled([note], [chosen])
    return tuple(puts)


def _relabeled(memories: Sequence[Memory], topics: Sequence[str]) -> tuple[Put, ...]:
    return tuple(
        Put(
            scope=memory.scope,
            kind=memory.kind,
            text=memory.text,
            id=memory.id,
            key=memory.key,
            topic=topic,
            origin=memory.origin,
            trust=memory.trust,
            language=memory.language,
            reason=f"{memory.topic or 'its page'} was split",
        )
        for memory, topic in zip(memories, topics, strict=True)
    )
