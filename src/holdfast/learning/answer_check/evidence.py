"""Collect the sentences against which a statement of the model (one entry of a model's answer) is checked."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from holdfast.learning.answer_check.check import Evidence, SourceSentence, source_sentences
from holdfast.learning.answer_check.sentences import Polarity, bare
from holdfast.learning.answer_check.words import words
from holdfast.learning.statements.own_text import own_sentences
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.sentences import split_sentences
from holdfast.types import Memory, Message

__all__ = ["evidence_for", "evidence_in_texts"]

_PASTED: Final = regex(r"(?<=[?:.!])\s*\n\s*(?:[-*_=]{3,}|(?:From|To|Subject|De|Para|Asunto): [^\n]+)[ \t]*\n")
"""Matches the separator between a user's request and the text that the user pasted below it."""


def evidence_for(
    sources: Sequence[Message],
    messages: Sequence[Message],
    known: Sequence[Memory],
) -> Evidence:
    """Return the evidence for a statement of the model.

    ``sources`` are the messages that the statement comes from, ``messages`` is the whole conversation, and ``known`` are the
    memories known so far.

    From the user's messages, only the user's own sentences count, not quotations. If a message of the user replies to the
    assistant, the sentences it replies to also count, each marked as affirmed, denied or open. Any other sentence of the
    assistant counts only if its message is in ``sources``.
    """
    own: list[SourceSentence] = []
    context: list[SourceSentence] = []
    ids = {message.id for message in sources}
    for place, message in enumerate(messages):
        before = messages[place - 1] if place else None
        found = list(_sentences(message, before, is_source=message.id in ids))
        (own if message.id in ids else context).extend(found)
    return Evidence(
        sources=own,
        context=context,
        known=[str(memory) for memory in known],
        user_names=frozenset(_user_names(messages)),
    )


def evidence_in_texts(texts: Sequence[str], at: datetime) -> Evidence:
    """Return the evidence for checking a text that was written from other texts, such as memories.

    ``texts`` are the other texts, and ``at`` is the time that their relative dates refer to.
    """
    return Evidence(sources=[each for text in texts for each in source_sentences(text, "report", at)], known=texts)


def _sentences(message: Message, before: Message | None, *, is_source: bool) -> Iterator[SourceSentence]:
    if message.role != "user":
        if is_source:
            yield from (SourceSentence(text=text, voice="assistant", at=message.at) for text in split_sentences(message.text))
        return
    if before is not None and before.role != "user":
        yield from _answered(before, _reply(message.text))
    for text in own_sentences(_PASTED.split(message.text)[0], message.language):
        yield SourceSentence(text=text, voice="user", at=message.at)


def _answered(before: Message, reply: Polarity) -> Iterator[SourceSentence]:
    """Yield the sentences of the assistant's message ``before`` that the user's reply is about.

    If the reply begins with "yes" or "no", yield all sentences of the message. If ``reply`` is ``open``, yield only the
    questions.
    """
    for text in split_sentences(before.text):
        if text.rstrip().endswith("?") or reply != "open":
            yield SourceSentence(text=text, voice="assistant", at=before.at, reply=reply)


def _reply(text: str) -> Polarity:
    first = next(iter(re.findall(r"[^\W_]+", bare(text.casefold())[:80])), "")
    if first in words("polarity", "yes"):
        return "yes"
    return "no" if first in words("polarity", "no") else "open"


def _user_names(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for name in (message.scope.user, message.speaker if message.role == "user" else None):
            yield from re.findall(r"[^\W_]+", fold(name or ""))
