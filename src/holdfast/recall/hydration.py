"""Read the rows of found items: memories and messages that the reader may see."""

from collections.abc import Collection, Sequence

from holdfast.protocols import MemoryFilter, MessageFilter, Store
from holdfast.recall.query import RecallQuery
from holdfast.types import Memory, Message, Scope

_MAX_SUCCESSIONS = 20
"""Maximum number of steps from a superseded memory to its live successor."""


def read_rows(store: Store, question: RecallQuery, found: Sequence[int]) -> list[tuple[Memory | Message, Memory | None]]:
    """Read the rows of items that the reader may see.

    If a memory derived from a message was superseded, the message is returned with the memory that is live now.
    """
    wanted = MemoryFilter(items=found, unexpired_at=question.now)
    if question.as_of is not None:
        wanted = MemoryFilter(items=found, as_of=question.as_of, statuses=("live", "superseded", "expired"))
    owners: list[tuple[Memory | Message, Memory | None]] = [
        (memory, None)
        for memory in store.memories(wanted)
        if question.reader.sees(memory.scope) and memory.kind not in question.background_kinds
    ]
    if "message" in question.spaces and len(owners) < len(found):
        owners.extend(_messages(store, question, found))
    return owners


def _messages(store: Store, question: RecallQuery, found: Sequence[int]) -> list[tuple[Message, Memory | None]]:
    """Read messages. Left out are the current session, the sources of forgotten memories, and messages with an action.

    An action is a marker such as ``IGNORE``.
    """
    messages = [
        message
        for message in store.messages(MessageFilter(seqs=found, before=question.as_of))
        if message.session != question.without_session and message.action is None and question.reader.sees(message.scope)
    ]
    if not messages:
        return []
    forgotten, successors = _forgotten_and_superseded(store, question.reader, [message.id for message in messages])
    return [(message, successors.get(message.id)) for message in messages if message.id not in forgotten]


def _forgotten_and_superseded(store: Store, reader: Scope, messages: Collection[str]) -> tuple[set[str], dict[str, Memory]]:
    """Return two values for messages from which retired memories were derived.

    The first is the set of messages from which a forgotten memory was derived. The second is a dictionary for messages from
    which a superseded memory was derived. It maps the id of the message to the live memory that replaced the superseded one.
    """
    derived = store.memories(MemoryFilter(reader=reader, sources=messages, statuses=("forgotten", "superseded")))
    forgotten = {source for memory in derived if memory.status == "forgotten" for source in memory.sources}
    latest = {source: memory for memory in derived if memory.status == "superseded" for source in memory.sources}
    for _ in range(_MAX_SUCCESSIONS):
        ids = {memory.replaced_by for memory in latest.values() if memory.status == "superseded" and memory.replaced_by}
        if not ids:
            break
        newer = {memory.id: memory for memory in store.memories(MemoryFilter(reader=reader, ids=list(ids), statuses=None))}
        latest = {source: newer.get(memory.replaced_by or "", memory) for source, memory in latest.items()}
        if not newer:
            break

    return forgotten, {source: memory for source, memory in latest.items() if memory.status == "live"}
