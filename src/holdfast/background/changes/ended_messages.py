"""Find claims in earlier messages that a new memory makes outdated, and that were never stored as memories.

This is for presets that show messages of the user in context blocks. Such a claim is stored as a memory that the new
memory has superseded. The message is then shown together with what has changed since.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.learning.changes.wording import spoken_words
from holdfast.learning.statements.conversation import is_spoken_by_user
from holdfast.protocols import MemoryFilter, MessageFilter, SearchFilter, SentenceReader, Space, Store
from holdfast.recall.embedding import Embedding
from holdfast.text.sentences import split_sentences
from holdfast.types import Message, Put

_SPACES: Final[tuple[Space, ...]] = ("message",)
_MAX_MATCHES: Final = 12
"""Maximum number of matches per search. Messages of the assistant are dropped afterwards."""
_MAX_COMPARED: Final = 2
"""Maximum number of messages that a new memory is compared with."""


def ended_messages(
    puts: Sequence[Put], said: Mapping[str, str], *, store: Store, embedding: Embedding, reader: SentenceReader
) -> list[tuple[Put, Put]]:
    """Find claims in the user's earlier messages that new memories make outdated.

    Return pairs. The first of each pair is the new memory. The second is a memory that contains the outdated claims.
    ``said`` maps the id of each new message to its text.
    """
    new = [put for put in puts if put.id is None and put.sources and "conversation" not in put.metadata]
    comparer = ClaimComparer(reader)
    found: list[tuple[Put, Put]] = []
    for put, messages in zip(new, find_earlier(new, said, store=store, embedding=embedding), strict=True):
        for place, message in enumerate(messages):
            whole = said.get(put.sources[-1], "")
            if change := comparer.change(message.text, put.text, nearest=place == 0, whole=whole):
                claims = [each for each in split_sentences(message.text) if each not in change.kept and not each.endswith("?")]
                found.append((put, _history(put, message, " ".join(claims))))
    return found


def find_earlier(puts: Sequence[Put], said: Mapping[str, str], *, store: Store, embedding: Embedding) -> list[list[Message]]:
    """Return, for each new memory, the earlier messages of the user that are most similar to it, the most similar one first.

    The new messages, whose ids are in ``said``, are left out. Earlier messages whose claims are already known to be outdated
    are left out, too. Without an embedder, nothing is found, and all lists are empty.
    """
    vectors = embedding.documents([spoken_words(put.text)[1] for put in puts]) if puts else None
    if vectors is None or not embedding.name:
        return [[] for _ in puts]
    found = []
    for put, vector in zip(puts, vectors, strict=True):
        matches = store.find_vectors(embedding.name, vector, SearchFilter(reader=put.scope, spaces=_SPACES), limit=_MAX_MATCHES)
        places = {match.item: place for place, match in enumerate(matches)}
        messages = [
            message
            for message in store.messages(MessageFilter(seqs=list(places)))
            if message.scope == put.scope and message.id not in said and is_spoken_by_user(message) and _precedes(message, put)
        ]
        nearest = sorted(messages, key=lambda message: places[message.seq])[:_MAX_COMPARED]
        changed = _changed(store, nearest, put)
        found.append([message for message in nearest if message.id not in changed])
    return found


def _precedes(message: Message, put: Put) -> bool:
    return put.valid_from is not None and message.at < put.valid_from


def _changed(store: Store, messages: Sequence[Message], put: Put) -> set[str]:
    """Return the ids of the messages whose claims are known to be outdated.

    A claim is known to be outdated if a memory derived from its message was superseded, or if the new memory ``put``
    supersedes that memory.
    """
    if not messages:
        return set()
    derived = store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=("live", "superseded")))
    return {source for each in derived if each.status == "superseded" or each.id in put.replaces for source in each.sources}


def _history(put: Put, message: Message, claim: str) -> Put:
    """Return a memory of an outdated claim, dated to the time of the message that contains the claim.

    ``put`` is the new memory that makes the claim outdated. Scope and kind are taken from it.
    """
    return Put(
        scope=put.scope,
        kind=put.kind,
        text=claim,
        metadata={"speaker": message.speaker} if message.speaker else {},
        sources=(message.id,),
        language=message.language,
        trust=message.trust,
        valid_from=message.at,
        reason="changed since",
    )
