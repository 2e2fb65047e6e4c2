"""Determine how far memories can be trusted, from the trust of the text that they are derived from.

A chat model chooses which messages it names as the sources of a memory, so the named sources do not determine the memory's
trust. Its trust is the lowest trust of all text that the model was shown, unless the memory repeats the user's own words.
"""

from collections.abc import Mapping, Sequence

from holdfast.learning.input_filter import OUTSIDE_ORIGINS, own_words
from holdfast.runtime.regex import regex
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import QUOTED_TRUST, Message

OWN_SHARE = 0.6
"""Minimum share (0 to 1) of a memory's terms that must occur in the user's statements. Otherwise the memory loses trust.

It applies if the model also saw text of others.
"""
PARAPHRASE_SHARE = 0.3
"""Minimum share (0 to 1) of a memory's terms that must occur in the user's statements, if the model saw no text of others.

It is lower than ``OWN_SHARE``, because models rephrase what people say.
"""
_NARRATION = frozenset({"user", "usuario", "usuari", "usuaria", "person", "persona"})
_NAME = regex(r"[^\W_][\w@./:-]*[\w@/]|\w")
_LANGUAGES = ("en", "es")


def trust_of(messages: Sequence[Message]) -> dict[str, float]:
    """Return the trust of each message of a conversation, by id. The messages must be in order, starting with the first.

    A reply of the assistant is normally trusted like the user's words. But after text of a tool, a web page or a file, or
    after a quotation, a reply could repeat that text. All later replies therefore get the lowest trust of these texts.
    """
    lowest = 1.0
    trusts: dict[str, float] = {}
    for message in messages:
        if message.origin in OUTSIDE_ORIGINS:
            lowest = min(lowest, message.trust)
            trusts[message.id] = message.trust
        elif message.origin == "assistant":
            trusts[message.id] = lowest
        else:
            trusts[message.id] = 1.0
            lowest = min(lowest, QUOTED_TRUST) if own_words(message.text) != message.text else lowest
    return trusts


def lowest_trust(messages: Sequence[Message], trusts: Mapping[str, float]) -> float:
    """Return the lowest trust of the given messages. Messages missing in ``trusts`` have full trust."""
    return min((trusts.get(message.id, 1.0) for message in messages), default=1.0)


def repeats_own_words(text: str, messages: Sequence[Message], *, min_share: float) -> bool:
    """Return True if the memory ``text`` repeats statements of the user in ``messages``.

    All names and numbers of the memory must occur in the statements. Of the memory's words, at least the share ``min_share``
    (0 to 1) must occur in the statements. Questions do not count as statements.
    """
    stated = [
        sentence
        for message in messages
        if message.role == "user" and message.origin == "user"
        for sentence in split_sentences(own_words(message.text))
        if "?" not in sentence and "¿" not in sentence
    ]
    words = {word for part in stated for language in _LANGUAGES for word in document_terms(part, language)}
    terms = [term for term in query_terms(text, _LANGUAGES) if not term & _NARRATION]
    if sum(not term.isdisjoint(words) for term in terms) < min_share * len(terms):
        return False
    said = "\n".join(stated).casefold()
    return all(name.casefold() in said for name in _names(text))


def _names(text: str) -> list[str]:
    """Return the names, numbers and addresses in a text.

    A capitalized word counts as a name unless it begins a sentence or follows a colon.
    """
    found = []
    for match in _NAME.finditer(text):
        word = match[0].rstrip(".:")
        starts = not text[: match.start()].rstrip(" \"'«“(") or text[: match.start()].rstrip(" \"'«“(")[-1] in ".!?:"
        inner = any(sign in word for sign in ".@/") or any(letter.isdigit() for letter in word)
        if inner or (word[:1].isupper() and not starts):
            found.append(word)
    return found
