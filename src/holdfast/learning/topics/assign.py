"""Which topic a message belongs to, and which topic conclusions go to; with a model, and without one by words and meaning.

A topic's page is nothing but the live memories that carry its name.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import InvalidInput, ModelError
from holdfast.learning import ask_model
from holdfast.learning.ask_model import Outcome
from holdfast.learning.topics.clusters import RowVectors, content_terms, rows_for, unit
from holdfast.learning.topics.naming import TopicName, name_topic, slug, spoken, telling_terms
from holdfast.learning.topics.splitting import split, split_needed
from holdfast.text.clean import fold
from holdfast.types import Memory, Put

__all__ = [
    "DetectedTopic",
    "KnownTopic",
    "TopicName",
    "assign",
    "assign_needed",
    "detect",
    "detect_needed",
    "name_topic",
    "slug",
    "split",
    "split_needed",
    "topic_of",
]  # fmt: skip

RULE_VERSION: Final = "topic-rules-1"
_MAX_SHOWN_TOPICS: Final = 100
"""Topics a model chooses from; the caller puts the likely ones first."""
_MAX_TOPICS_WITH_LINES: Final = 30
"""Up to so many topics, a model also sees a line or two of each."""
_MAX_MESSAGE_CHARACTERS: Final = 2000
_MIN_SCORE: Final = 0.5
_MIN_LEAD: Final = 0.1
"""How far the best topic must be ahead of the next."""
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {"topic": {"type": ["string", "null"]}},
    "required": ["topic"],
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownTopic:
    """What is known of a topic without reading its page again."""

    name: str
    titles: tuple[str, ...] = ()
    """A few of its lines, the latest first."""
    terms: frozenset[str] = frozenset()
    centroid: NDArray[np.float32] | None = field(default=None, repr=False)


class DetectedTopic(NamedTuple):
    """The topic of a message, if it has one, and what it took to tell."""

    topic: str | None
    usage: Usage
    flaws: tuple[str, ...]


def topic_of(memories: Sequence[Memory], vectors: RowVectors | None = None, *, name: str | None = None) -> KnownTopic:
    """Describe a topic by the memories on its page; a word counts when it stands in two of them, or when they are few."""
    called = name or next((memory.topic for memory in memories if memory.topic), None)
    if called is None:
        raise InvalidInput("These memories have no topic; give its name.")
    rows = rows_for(len(memories), vectors)
    spread = Counter(term for memory in memories for term in telling_terms(memory.text))
    least = 1 if len(memories) < 5 else 2
    latest = sorted(memories, key=lambda memory: memory.created_at, reverse=True)[:3]
    return KnownTopic(
        name=called,
        titles=tuple(memory.text[:120] for memory in latest),
        terms=frozenset(term for term, count in spread.items() if count >= least),
        centroid=unit(rows.mean(axis=0)) if rows is not None and len(rows) else None,
    )


def detect_needed(message: str, topics: Sequence[KnownTopic]) -> bool:
    """Tell whether there is anything to choose from, and anything to choose by; costs nothing."""
    return bool(topics) and bool(content_terms(message[:_MAX_MESSAGE_CHARACTERS]))


def detect(
    message: str,
    topics: Sequence[KnownTopic],
    *,
    model: ChatModel | None = None,
    vector: NDArray[np.float32] | None = None,
    calibration: tuple[float, float] = (0.52, 0.65),
) -> DetectedTopic:
    """Tell which of the topics a message is about, if any.

    Without a model, ``vector`` is the message's own and ``calibration`` its embedder's; words alone will do.
    """
    if not detect_needed(message, topics):
        return DetectedTopic(None, Usage(), ())
    if model is None:
        return DetectedTopic(_detect_by_rules(message, topics, vector, calibration), Usage(), ())
    prompt = ask_model.load_prompt("topic", spoken([message]))
    names = [_line(topic, with_titles=len(topics) <= _MAX_TOPICS_WITH_LINES) for topic in topics[:_MAX_SHOWN_TOPICS]]
    try:
        shown = ask_model.prompt_turns(prompt, topics=names, message=[message[:_MAX_MESSAGE_CHARACTERS]])
        answer = ask_model.complete(model, shown, _SCHEMA, max_tokens=100)
    except ModelError as error:
        flaw = f"the topic was told by rules, because the model failed: {error}"
        return DetectedTopic(_detect_by_rules(message, topics, vector, calibration), usage_of(error), (flaw,))
    topic, flaws = _read(answer.data, topics[:_MAX_SHOWN_TOPICS])
    return DetectedTopic(topic, answer.usage, (*answer.flaws, *flaws))


def _line(topic: KnownTopic, *, with_titles: bool) -> str:
    about = " / ".join(topic.titles[:2]) if with_titles else ""
    return f"- {topic.name}" + (f" ({about})" if about else "")


def _read(data: Mapping[str, object], topics: Sequence[KnownTopic]) -> tuple[str | None, tuple[str, ...]]:
    """Return the topic a model named, if it is one of those it was shown."""
    named = data.get("topic")
    if named is None:
        return None, ()
    known = {fold(topic.name): topic.name for topic in topics}
    found = known.get(fold(str(named)))
    return found, () if found else ("the model named something that is no topic; taken as none",)


def _detect_by_rules(
    message: str, topics: Sequence[KnownTopic], vector: NDArray[np.float32] | None, calibration: tuple[float, float]
) -> str | None:
    """Choose the nearest topic by name, by words and by meaning, if it is near enough and clearly the nearest."""
    said = message[:_MAX_MESSAGE_CHARACTERS]
    words, every = telling_terms(said), content_terms(said)
    spread = Counter(term for topic in topics for term in topic.terms & words)
    meanings = _meanings(topics, vector, calibration)
    scored: list[tuple[float, int]] = []
    for place, topic in enumerate(topics):
        name = topic.name.replace("-", " ").split()
        by_name = sum(bool(content_terms(word) & every) for word in name) / max(len(name), 1)
        own = sum(1 / spread[term] for term in topic.terms & words)
        by_words = (own / max(len(words), 1) + 1 - 0.5**own) / 2  # how much of the message, and how many words at all
        scored.append((by_name + by_words + 0.6 * meanings[place], place))
    scored.sort(key=lambda one: (-one[0], one[1]))
    best, place = scored[0]
    next_best = scored[1][0] if len(scored) > 1 else 0.0
    return topics[place].name if best >= _MIN_SCORE and best - next_best >= _MIN_LEAD else None


def _meanings(topics: Sequence[KnownTopic], vector: NDArray[np.float32] | None, calibration: tuple[float, float]) -> list[float]:
    """Return how near a message is to the middle of each topic, 0 to 1.

    Some messages are near everything, so it also counts how far a topic is ahead of the nearest other.
    """
    unrelated, matching = calibration
    cosines = [_cosine(topic, vector) for topic in topics]
    nearest = sorted(cosines, reverse=True)[:2]
    meanings = []
    for cosine in cosines:
        next_one = max(unrelated, *(nearest[1:] if cosine == nearest[0] else nearest[:1]), -1.0)
        near = (cosine - unrelated) / (matching - unrelated)
        ahead = (cosine - next_one) / ((matching - unrelated) / 2)
        meanings.append(min(max(near, 0.0), 1.0) * min(max(ahead, 0.0), 1.0))
    return meanings


def _cosine(topic: KnownTopic, vector: NDArray[np.float32] | None) -> float:
    if vector is None or topic.centroid is None or vector.shape != topic.centroid.shape:
        return -1.0
    return float(unit(vector) @ topic.centroid)


def assign_needed(conclusions: Sequence[Put], topic: str | None, *, min_conclusions: int = 3) -> bool:
    """Tell whether assigning would change anything; costs nothing."""
    return bool(conclusions) and (topic is not None or len(conclusions) >= min_conclusions)


def assign(
    conclusions: Sequence[Put],
    topic: str | None,
    *,
    known: Sequence[str],
    min_conclusions: int = 3,
    model: ChatModel | None = None,
) -> Outcome:
    """Give conclusions their topic: the conversation's, or a new one when there are enough of them; else none.

    ``known`` are the topics there are; a new one is never called like any of them.
    """
    if not assign_needed(conclusions, topic, min_conclusions=min_conclusions):
        return Outcome(changes=tuple(conclusions), prompt=RULE_VERSION)
    if topic is not None:
        return Outcome(changes=tuple(replace(put, topic=topic) for put in conclusions), prompt=RULE_VERSION)
    named = name_topic([put.text for put in conclusions], taken=known, model=model)
    return Outcome(
        changes=tuple(replace(put, topic=named.name) for put in conclusions),
        model=named.model,
        prompt=named.prompt,
        flaws=named.flaws,
        usage=named.usage,
    )
