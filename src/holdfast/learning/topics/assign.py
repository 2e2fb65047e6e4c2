"""Detect the topic of a message, and assign new memories to a topic.

A chat model does this. Without a model, rules compare words and vectors. A topic's page consists of the live memories
with that topic. New memories for a topic page are called conclusions here.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import InvalidInput, ModelError
from holdfast.learning import ask_model
from holdfast.learning.answer_shapes import as_topic
from holdfast.learning.ask_model import Outcome
from holdfast.learning.changes.sameness import same_words
from holdfast.learning.topics.clusters import RowVectors, content_terms, rows_for, unit
from holdfast.learning.topics.naming import TopicName, name_topic, naming_terms, prompt_language, slug, title
from holdfast.learning.topics.splitting import split, split_needed
from holdfast.learning.topics.subjects import is_device_talk, subject_scores
from holdfast.runtime.regex import regex
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
]

RULE_VERSION: Final = "topic-rules-1"
_MAX_SHOWN_TOPICS: Final = 100
"""Maximum number of topics in the prompt for the chat model. The caller sorts likely topics first."""
_MAX_TOPICS_WITH_LINES: Final = 30
"""If there are at most this many topics, the prompt also shows one or two lines of each topic's page."""
_MAX_MESSAGE_CHARACTERS: Final = 2000
_MIN_SCORE: Final = 0.5
_MIN_LEAD: Final = 0.1
"""Minimum lead of the best topic's score over the second best. With a smaller lead, no topic is chosen."""
_MIN_MEANING: Final = 0.55
"""Minimum score by meaning with which a topic can be chosen. It applies only if vectors can be compared.

In the conversations that it was tuned on, small talk scores at most 0.44.
"""
_MIN_NAMED_MEANING: Final = 0.3
"""The same minimum for a topic whose whole name occurs in the message."""
_LIST_MARK: Final = regex(r"^(?:[-*•]|\d+[.)])\s+")
_NO_TOPIC: Final = frozenset(("", "null", "none", "no topic", "n/a", "ninguno", "ninguna", "nada"))
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {"topic": {"type": ["string", "null"]}},
    "required": ["topic"],
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownTopic:
    """A topic, described by its name, words and vectors. With this description, the topic's page need not be read again."""

    name: str
    titles: tuple[str, ...] = ()
    """A few lines of the topic's page, newest first."""
    terms: frozenset[str] = frozenset()
    centroid: NDArray[np.float32] | None = field(default=None, repr=False)
    name_vector: NDArray[np.float32] | None = field(default=None, repr=False)
    """Vector of the topic's name."""


class DetectedTopic(NamedTuple):
    """The result of a topic detection.

    ``topic`` is the topic of a message, or None if the message has no known topic. ``usage`` is the usage of the model, and
    ``flaws`` describes the problems that occurred.
    """

    topic: str | None
    usage: Usage
    flaws: tuple[str, ...]


def topic_of(
    memories: Sequence[Memory],
    vectors: RowVectors | None = None,
    *,
    name: str | None = None,
    name_vector: NDArray[np.float32] | None = None,
) -> KnownTopic:
    """Describe a topic by the memories on its page.

    ``vectors`` has one row per memory. ``name`` is the name of the topic; the default is the topic of the memories. Raise
    ``InvalidInput`` if there is neither. ``name_vector`` is the embedding of the name. The terms of the topic are stems of
    words in the memories. If there are five or more memories, a term must occur in at least two of them.
    """
    topic_name = name or next((memory.topic for memory in memories if memory.topic), None)
    if topic_name is None:
        raise InvalidInput("None of these memories has a topic. Pass its name as `name`.")
    rows = rows_for(len(memories), vectors)
    frequencies = Counter(term for memory in memories for term in naming_terms(memory.text))
    min_count = 1 if len(memories) < 5 else 2
    latest = sorted(memories, key=lambda memory: memory.created_at, reverse=True)[:3]
    return KnownTopic(
        name=topic_name,
        titles=tuple(memory.text[:120] for memory in latest),
        terms=frozenset(term for term, count in frequencies.items() if count >= min_count),
        centroid=unit(rows.mean(axis=0)) if rows is not None and len(rows) else None,
        name_vector=None if name_vector is None else unit(name_vector),
    )


def detect_needed(message: str, topics: Sequence[KnownTopic]) -> bool:
    """Return True if a message needs topic detection: there are topics, and the message has content words. Calls no model.

    Return False for commands to a device, and for questions about the time or the weather.
    """
    text = message[:_MAX_MESSAGE_CHARACTERS]
    return bool(topics) and bool(content_terms(text)) and not is_device_talk(text)


def detect(
    message: str,
    topics: Sequence[KnownTopic],
    *,
    model: ChatModel | None = None,
    vector: NDArray[np.float32] | None = None,
    calibration: tuple[float, float] = (0.52, 0.65),
    subjects: RowVectors | None = None,
    earlier: str = "",
) -> DetectedTopic:
    """Return the topic that a message is about, or None, with the usage and flaws of the detection.

    The model chooses the topic. If there is no model, or if it fails, rules choose the topic. The rules compare the
    words of the topics with the words of the message and the ``earlier`` messages. If ``vector`` is given, the rules
    also compare vectors. ``vector`` is the embedding of the message and the earlier messages, and ``calibration``
    belongs to the embedder that computed it. ``subjects`` contains the vectors of everyday subjects
    (``subject_texts``).
    """
    if not detect_needed(message, topics):
        return DetectedTopic(None, Usage(), ())
    known = _Meanings(vector=vector, calibration=calibration, subjects=subjects)
    if model is None:
        return DetectedTopic(_detect_by_rules(f"{earlier}\n{message}", topics, known), Usage(), ())
    prompt = ask_model.load_prompt("topic", prompt_language([message]))
    names = [_line(topic, with_titles=len(topics) <= _MAX_TOPICS_WITH_LINES) for topic in topics[:_MAX_SHOWN_TOPICS]]
    try:
        turns = ask_model.prompt_turns(prompt, topics=names, message=[message[:_MAX_MESSAGE_CHARACTERS]])
        shape = ask_model.AnswerShape(schema=_SCHEMA, adapt=as_topic, bare=lambda text: _bare_name(text, topics))
        answer = ask_model.complete(model, turns, shape, max_tokens=100)
    except ModelError as error:
        flaw = f"rules detected the topic because the model failed: {error}"
        return DetectedTopic(_detect_by_rules(f"{earlier}\n{message}", topics, known), usage_of(error), (flaw,))
    topic, flaws = _read_topic(answer.data, topics[:_MAX_SHOWN_TOPICS])
    return DetectedTopic(topic, answer.usage, (*answer.flaws, *flaws))


def _line(topic: KnownTopic, *, with_titles: bool) -> str:
    about = " / ".join(topic.titles[:2]) if with_titles else ""
    return f"- {topic.name}" + (f" ({about})" if about else "")


def _read_topic(data: Mapping[str, object], topics: Sequence[KnownTopic]) -> tuple[str | None, tuple[str, ...]]:
    """Return the topic that the model named, and no flaws. If that topic was not in the prompt, return None and a flaw.

    The model can write the name as a file name, with a list mark, or as a whole line of the list. If the model named no
    topic, return None and no flaws.
    """
    named = data.get("topic")
    if named is None:
        return None, ()
    known = {fold(topic.name): topic.name for topic in topics}
    known |= {fold(title(topic.name)): topic.name for topic in topics if fold(title(topic.name)) not in known}
    found = next((known[fold(spelling)] for spelling in _spellings(str(named)) if fold(spelling) in known), None)
    if found is None and fold(str(named)).strip(" .\"'") in _NO_TOPIC:
        return None, ()
    return found, () if found else ("the model named something that is no topic; the answer was ignored",)


def _bare_name(text: str, topics: Sequence[KnownTopic]) -> Mapping[str, str | None] | None:
    """Read an answer without JSON that is only the name of a topic, or a word such as "none". Return None for other texts."""
    if not text.strip():
        return None
    topic, flaws = _read_topic({"topic": text}, topics[:_MAX_SHOWN_TOPICS])
    return None if flaws else {"topic": topic}


def _spellings(named: str) -> Iterator[str]:
    """Yield the topic names that a model's answer can mean.

    The first name is the answer itself. The other names are the answer without list marks, without a path and file
    extension, or without an explanation.
    """
    yield named
    bare = _LIST_MARK.sub("", named.strip().strip("`\"'*"))
    yield bare
    line = re.split(r"\s+\(|: | - | – ", bare, maxsplit=1)[0].strip().strip("`\"'*.")
    for spelling in (bare, line):
        file = spelling.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
        yield file.removesuffix(".md").removesuffix(".MD").strip()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Meanings:
    """Data for comparing a message by meaning: its vector, the calibration of its embedder, and vectors of everyday subjects."""

    vector: NDArray[np.float32] | None
    calibration: tuple[float, float]
    subjects: RowVectors | None

    def scores(self, topics: Sequence[KnownTopic]) -> list[float] | None:
        """Return the score of each topic by meaning, or None if some vectors are missing."""
        centroids = [topic.centroid for topic in topics if topic.centroid is not None]
        names = [topic.name_vector for topic in topics if topic.name_vector is not None]
        if self.vector is None or self.subjects is None or not len(centroids) == len(names) == len(topics):
            return None
        span = self.calibration[1] - self.calibration[0]
        return subject_scores(self.vector, np.stack(centroids), np.stack(names), self.subjects, span=span)


def _detect_by_rules(message: str, topics: Sequence[KnownTopic], known: _Meanings) -> str | None:
    """Return the topic with the best score, computed from name, terms and meaning. Return None if no topic is clearly best.

    ``known`` contains the vectors for the comparison by meaning. If vectors are available, a topic must also be similar to
    the message in meaning. Common words alone are not enough, because single words occur in conversations about anything.
    """
    text = message[-_MAX_MESSAGE_CHARACTERS:]
    terms, all_terms = naming_terms(text), content_terms(text)
    frequencies = Counter(term for topic in topics for term in topic.terms & terms)
    meanings = known.scores(topics)
    similarities = meanings or [0.6 * each for each in _similarities(topics, known.vector, known.calibration)]
    scored: list[tuple[float, int]] = []
    for position, topic in enumerate(topics):
        name = topic.name.replace("-", " ").split()
        by_name = sum(bool(content_terms(word) & all_terms) for word in name) / max(len(name), 1)
        weight = sum(1 / frequencies[term] for term in topic.terms & terms)
        # The mean of the share of the message's terms, and of a value that grows with their number.
        by_words = (weight / max(len(terms), 1) + 1 - 0.5**weight) / 2
        if meanings is None or meanings[position] >= (_MIN_NAMED_MEANING if by_name == 1 else _MIN_MEANING):
            scored.append((by_name + by_words + similarities[position], position))
    if not scored:
        return None
    scored.sort(key=lambda one: (-one[0], one[1]))
    best, position = scored[0]
    next_best = scored[1][0] if len(scored) > 1 else 0.0
    return topics[position].name if best >= _MIN_SCORE and best - next_best >= _MIN_LEAD else None


def _similarities(
    topics: Sequence[KnownTopic], vector: NDArray[np.float32] | None, calibration: tuple[float, float]
) -> list[float]:
    """Return the similarity of a message to each topic, 0 to 1, from the cosine with the topic's centroid (mean vector).

    Some messages are similar to every topic. Therefore each similarity is multiplied by a factor from 0 to 1 that measures
    the lead over the best other topic.
    """
    unrelated, matching = calibration
    cosines = [_cosine(topic, vector) for topic in topics]
    nearest = sorted(cosines, reverse=True)[:2]
    similarities = []
    for cosine in cosines:
        next_one = max(unrelated, *(nearest[1:] if cosine == nearest[0] else nearest[:1]), -1.0)
        near = (cosine - unrelated) / (matching - unrelated)
        ahead = (cosine - next_one) / ((matching - unrelated) / 2)
        similarities.append(min(max(near, 0.0), 1.0) * min(max(ahead, 0.0), 1.0))
    return similarities


def _cosine(topic: KnownTopic, vector: NDArray[np.float32] | None) -> float:
    if vector is None or topic.centroid is None or vector.shape != topic.centroid.shape:
        return -1.0
    return float(unit(vector) @ topic.centroid)


def assign_needed(conclusions: Sequence[Put], topic: str | None, *, min_conclusions: int = 3) -> bool:
    """Return True if ``assign`` would give the new memories (``conclusions``) a topic. Calls no model."""
    return bool(conclusions) and (topic is not None or _count_different(conclusions) >= min_conclusions)


def _count_different(conclusions: Sequence[Put]) -> int:
    """Return the number of conclusions (new memories), counting those with the same words once."""
    different: list[Put] = []
    for put in conclusions:
        if not any(same_words(other.text, put.text, put.language) for other in different):
            different.append(put)
    return len(different)


def assign(
    conclusions: Sequence[Put],
    topic: str | None,
    *,
    known: Sequence[str],
    min_conclusions: int = 3,
    model: ChatModel | None = None,
) -> Outcome:
    """Return the new memories (``conclusions``) with a topic.

    If ``topic`` is given, all memories get this topic. If ``topic`` is None, at least ``min_conclusions`` different memories
    are needed. All of them then get a new topic, or the topic in ``known`` that has the same name. If there are fewer, the
    memories are returned without a topic.
    """
    if not assign_needed(conclusions, topic, min_conclusions=min_conclusions):
        return Outcome(changes=tuple(conclusions), prompt=RULE_VERSION)
    if topic is not None:
        return Outcome(changes=tuple(replace(put, topic=topic) for put in conclusions), prompt=RULE_VERSION)
    named = name_topic([put.text for put in conclusions], known=known, model=model)
    return Outcome(
        changes=tuple(replace(put, topic=named.name) for put in conclusions),
        model=named.model,
        prompt=named.prompt,
        flaws=named.flaws,
        usage=named.usage,
    )
