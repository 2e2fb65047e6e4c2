"""Read the rows of found items: memories and messages that the reader may see."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from holdfast.learning.input_filter import own_words
from holdfast.protocols import MemoryFilter, MessageFilter, Store
from holdfast.recall.query import RecallQuery
from holdfast.types import QUOTED_TRUST, Memory, MemoryStatus, Message, Outcome

_MAX_SUCCESSIONS = 20
"""Maximum number of steps from a superseded memory to its live successor."""


def read_rows(
    store: Store, question: RecallQuery, found: Sequence[int], *, unread: Collection[int] = ()
) -> list[tuple[Memory | Message, Memory | None]]:
    """Read the rows of the items that the recall may use. ``found`` contains item numbers.

    Return one pair per row. The first value is the memory or message. The second value is None for a memory, and usually
    for a message. If a memory derived from the message was superseded, it is the memory that replaced the superseded one.

    ``unread`` contains the numbers of candidates that have not been read yet. A memory among them is read now if it was
    derived from one of the messages. So the choice between a message and its memories does not depend on the limit of the
    query.
    """
    wanted = MemoryFilter(items=found, unexpired_at=question.now)
    if question.as_of is not None:
        wanted = MemoryFilter(items=found, as_of=question.as_of, statuses=("live", "superseded", "expired"))
        unread = ()
    owners: list[tuple[Memory | Message, Memory | None]] = [
        (memory, None) for memory in store.memories(wanted) if memory_obstacle(memory, question) is None
    ]
    if "message" in question.spaces and len(owners) < len(found):
        owners.extend(_messages(store, question, found, unread={*unread}.difference(found)))
    return owners


def _messages(
    store: Store, question: RecallQuery, found: Sequence[int], *, unread: AbstractSet[int]
) -> Iterator[tuple[Memory | Message, Memory | None]]:
    """Read the messages that the recall may use. Yield each message with a memory or None, as in :func:`read_rows`.

    Messages of the current session, sources of forgotten memories, and messages with an action (a marker such as ``IGNORE``)
    are left out. The query searches either trusted or untrusted text. Messages without text of this type are left out, too
    (see :func:`_admitted`). The memories in ``unread`` that were derived from the messages are also yielded.
    """
    messages = [
        message
        for message in store.messages(MessageFilter(seqs=found, before=question.as_of))
        if message_obstacle(message, question) is None
    ]
    if not messages:
        return
    statuses: tuple[MemoryStatus, ...] = ("live", "forgotten", "superseded") if unread else ("forgotten", "superseded")
    sources = [message.id for message in messages]
    derived = store.memories(MemoryFilter(reader=question.reader, sources=sources, statuses=statuses))
    forgotten = {source for memory in derived if memory.status == "forgotten" for source in memory.sources}
    successors = _successors(store, question, derived)
    yield from ((message, successors.get(message.id)) for message in messages if message.id not in forgotten)
    yield from ((memory, None) for memory in derived if memory.item in unread and _is_current(memory, question))


def _is_current(memory: Memory, question: RecallQuery) -> bool:
    """Return True if a memory is live and not expired, and the recall may use it."""
    expired = memory.expires_at is not None and memory.expires_at <= question.now
    return memory.status == "live" and not expired and memory_obstacle(memory, question) is None


def memory_obstacle(memory: Memory, question: RecallQuery) -> Outcome | None:
    """Return the reason why a recall leaves out a memory that its search found, or None if the memory can be used."""
    if not question.reader.sees(memory.scope):
        return "scope"
    if memory.kind in question.background_kinds:
        return "kind"
    return None if question.admits(memory.trust) else "origin"


def message_obstacle(message: Message, question: RecallQuery) -> Outcome | None:
    """Return the reason why a recall leaves out a message that its search found, or None if the message can be used."""
    if not question.reader.sees(message.scope):
        return "scope"
    if message.session == question.without_session:
        return "session"
    if message.action is not None:
        return "hidden"
    return None if _admitted(message, question) else "origin"


def own_part(message: Message, question: RecallQuery) -> str:
    """Return the text of a message without untrusted quotations.

    Quotations are removed only from the user's own messages, if these are trusted. If the query's ``min_trust`` is so low
    that quotations count as trusted, nothing is removed. The text of any other message is returned unchanged.
    """
    gated = message.origin == "user" and message.trust >= question.min_trust > QUOTED_TRUST
    return own_words(message.text) if gated else message.text


def _admitted(message: Message, question: RecallQuery) -> bool:
    """Return True if a message contains text of the type that the query searches: trusted or untrusted.

    A user's message can contain both: a quotation in it is untrusted, and the other words are trusted. Such a message can be
    returned by both types of query.
    """
    own = own_part(message, question)
    if question.outside:
        return message.trust < question.min_trust or own != message.text
    return message.trust >= question.min_trust and (own == message.text or bool(own.strip()))


def _successors(store: Store, question: RecallQuery, derived: Iterable[Memory]) -> dict[str, Memory]:
    """Map the sources of superseded memories to the live memories that replaced them.

    The keys are message ids. A live memory with less trust than the question requires is left out.
    """
    latest = {source: memory for memory in derived if memory.status == "superseded" for source in memory.sources}
    for _ in range(_MAX_SUCCESSIONS):
        ids = {memory.replaced_by for memory in latest.values() if memory.status == "superseded" and memory.replaced_by}
        if not ids:
            break
        newer = {
            memory.id: memory for memory in store.memories(MemoryFilter(reader=question.reader, ids=list(ids), statuses=None))
        }
        latest = {source: newer.get(memory.replaced_by or "", memory) for source, memory in latest.items()}
        if not newer:
            break

    live = {source: memory for source, memory in latest.items() if memory.status == "live"}
    return {source: memory for source, memory in live.items() if memory.trust >= question.min_trust}
