"""Compare a message with topics by meaning, relative to everyday subjects.

The cosine of a message and a topic is not enough: small talk is similar to everything (0.45 to 0.55 with talk-embed-s), and
a question about a topic has only 0.30 to 0.45. Therefore the decision depends on the topic's lead over the other topics
and over everyday subjects.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.learning.topics.clusters import RowVectors, unit
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.sentences import split_sentences

_DEVICE: Final = regex(
    r"^(?:(?:hey|ok|okay|please|and|che|oye|por favor|y|now|ahora)[\s,]+)*(?:"
    r"(?:what(?:'s| is)|tell me) the (?:time|date|day|weather)\b|what (?:time|date|day) is (?:it|today)\b|(?:set|start|stop|cancel) (?:a |an |the |my )?(?:timer|alarm|reminder)|wake me"
    r"|(?:turn|switch) (?:it |that |the \w+ )?(?:up|down|on|off)|(?:tell|sing|play) me|(?:will|is) it (?:be |going to )?(?:rain|snow|sun|cold|hot|warm)\w*"
    r"|how many days|(?:can|could) you (?:repeat|say that)|(?:speak|talk) (?:up|louder|slower)|louder|repeat"
    r"|(?:a )?que (?:hora|dia|fecha|tiempo|clima) (?:es|son|estamos|tenemos|hace|hara|va a hacer)\b|cuanto falta para|(?:va a|ira a) (?:llover|nevar|hacer (?:frio|calor|sol))|(?:llueve|nieva|hace (?:frio|calor))\b"
    r"|(?:pon|pone|poneme|ponme|programa|apaga|para|cancela)\w* (?:un|una|el|la) (?:alarma|temporizador|cronometro|recordatorio)|despiert?ame|(?:sub|baj)[aei]\w* (?:el|la) (?:volumen|musica|luz)"
    r"|(?:canta|conta|cuenta)(?:me|nos)?\b|(?:podes|puedes) repetir|repeti\w*|habla mas)"
)
"""Matches a command to a device, or a question about time or weather, in a text in lower case without accents."""
_MIN_SUBJECT_LEAD: Final = 0.1
"""Minimum lead of a topic's score over the best everyday subject. With a smaller lead, the topic scores 0."""


def is_device_talk(text: str) -> bool:
    """Return True if a message only operates the device or asks for the time or the weather."""
    sentences = split_sentences(text)
    return bool(sentences) and all(_DEVICE.match(fold(sentence).lstrip("¿¡ ")) for sentence in sentences)


@cache
def subject_texts(language: str) -> tuple[str, ...]:
    """Return the everyday subjects in a language. English is used for languages without a list."""
    table = tomllib.loads((resources.files("holdfast.learning") / "words" / "subjects.toml").read_text("utf-8"))
    return tuple(table.get(language) or table["en"])


def subject_scores(
    vector: NDArray[np.float32], centroids: RowVectors, names: RowVectors, subjects: RowVectors, *, span: float
) -> list[float]:
    """Return a score for each topic: how much more similar a message is to the topic than to everyday subjects.

    The score is ``(cosine with centroid + cosine with name - 2 * average) / span``. The cosines are those of ``vector``, the
    vector of the message. ``centroids`` and ``names`` have one row per topic: the mean vector of the topic's contents, and
    the vector of its name. ``average`` is the message's average cosine with the everyday ``subjects``, and ``span`` is the
    embedder's calibration span.

    A topic that is not well ahead of every everyday subject scores 0. The subject nearest to the topic's name is ignored,
    because it may be the topic itself.
    """
    query = unit(vector)
    leads = subjects @ query
    average = float(leads.mean())
    leads = (leads - average) / span
    scores = (centroids @ query + names @ query - 2 * average) / span
    own_subject = (names @ subjects.T).argmax(axis=1)
    return [
        float(score) if _is_ahead(float(score), leads, int(own)) else 0.0 for score, own in zip(scores, own_subject, strict=True)
    ]


def _is_ahead(score: float, leads: NDArray[np.float32], own: int) -> bool:
    others: Sequence[float] = [float(lead) for place, lead in enumerate(leads) if place != own]
    return score >= max(others, default=0.0) + _MIN_SUBJECT_LEAD
