"""Derive memories again if only some of their sources were erased. No chat model is used.

The new memories have only the tags and values that the remaining sources state.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from holdfast.errors import ModelError
from holdfast.learning.capture import Extractor
from holdfast.learning.input_filter import extractable
from holdfast.learning.summaries.importance import tags_of
from holdfast.learning.summaries.roll_up import base_put, summary_put
from holdfast.learning.summaries.summaries import distill, paragraph_by_rules, summarize
from holdfast.learning.topics.recent import summarize_topic
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import MemoryFilter, MessageFilter, SentenceReader, Transaction
from holdfast.text.clean import fold
from holdfast.types import Memory, Message, Put
from holdfast.write import Writer

_REASON = "derived again after an erasure"


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Statements that the sentence reader found in the remaining messages, before the transaction of the erasure began.

    ``messages`` has the ids of the messages that were read. The statements are used only if exactly these messages
    still remain when the transaction runs.
    """

    messages: frozenset[str] = frozenset()
    puts: tuple[Put, ...] = ()

    @classmethod
    def of(cls, extractor: Extractor, messages: Sequence[Message], reader: SentenceReader) -> "ReadAgain":
        """Extract statements from messages with the sentence reader.

        If the reader fails, the result is empty, and :func:`rebuild` uses rules instead.
        """
        try:
            found = extractor.rules(extractable(messages), reader) if messages else []
        except ModelError:
            return cls()
        return cls(frozenset(message.id for message in messages), tuple(found))


def rebuild(
    writer: Writer,
    mixed: Iterable[Memory],
    survivors: Sequence[Message],
    read: ReadAgain = ReadAgain(),  # noqa: B008  (frozen)
) -> list[Memory]:
    """Derive memories again from their remaining sources, and return the new memories. The old ones are already removed.

    ``mixed`` are the removed memories that have both erased and remaining sources. Only the live ones are derived again.
    ``survivors`` are the remaining source messages. ``read`` has the sentence reader's results for these messages.
    """
    preset = writer.preset
    lost = sorted((memory for memory in mixed if memory.status == "live"), key=lambda memory: memory.item)
    summaries = [memory for memory in lost if memory.kind == "summary"]
    bases = [memory for memory in lost if preset.base and memory.kind == preset.base.kind]
    topic_notes = [memory for memory in lost if preset.topics and memory.kind == preset.topics.recent_kind]
    statements = [memory for memory in lost if memory not in (*summaries, *bases, *topic_notes)]
    puts = [*_statements(writer, statements, survivors, read), *_summaries(summaries, survivors)]
    made = writer.apply(puts, shown=())
    for base in bases:  # after the summaries, from which they are derived
        put = _base(writer.tx, preset, base, [memory for memory in made if memory.kind == "summary"])
        made += writer.apply([put], shown=()) if put else []
    puts = [put for note in topic_notes if (put := _topic_note(writer.tx, note, made)) is not None]
    return made + writer.apply(puts, shown=())


def _statements(writer: Writer, lost: Sequence[Memory], survivors: Sequence[Message], read: ReadAgain) -> list[Put]:
    """Extract statements again from the remaining messages. Return those that are identical to a removed memory.

    ``lost`` are the removed memories, and ``survivors`` are the remaining messages. ``read`` has the sentence reader's
    results for these messages. Some presets store one paragraph per conversation instead of statements. For such a preset,
    write the removed paragraphs again from the remaining messages.
    """
    extractor = writer.preset.extractor
    if isinstance(extractor, Paragraph):
        written = [
            Put(
                scope=memory.scope,
                kind=memory.kind,
                text=paragraph_by_rules(said, max_characters=extractor.max_characters)[0],
                tags=tags_of([message.text for message in said]),
                importance=memory.importance,
                sources=tuple(message.id for message in said),
                valid_from=said[-1].at,
                metadata=_own_metadata(memory, said),
                reason=_REASON,
            )
            for memory in lost
            if memory.kind == extractor.kind and (said := extractable(_own_messages(memory, survivors)))
        ]
        return [put for put in written if put.text]
    wanted = {memory.content_hash for memory in lost}
    if read.messages and read.messages == {message.id for message in survivors}:
        found = list(read.puts)
    else:
        found = extractor.rules(extractable(survivors), None) if isinstance(extractor, Extractor) else []
    return [put for put in found if writer.identity(put) in wanted]


def _summaries(lost: Sequence[Memory], survivors: Sequence[Message]) -> list[Put]:
    puts = []
    for memory in lost:
        said = extractable(_own_messages(memory, survivors))
        if said:
            # Keep the range of the lost summary, so that the gap does not count as not yet summarized.
            put = summary_put(
                said, summarize(said), memory.scope, importance=memory.importance, tags=_own_tags(memory, said), reason=_REASON
            )
            puts.append(replace(put, metadata={**put.metadata, **_own_metadata(memory, said)}))
    return puts


def _base(tx: Transaction, preset: Preset, lost: Memory, made: Sequence[Memory]) -> Put | None:
    if preset.base is None:
        return None
    sources = tx.memories(MemoryFilter(ids=list(lost.sources), newest_first=False))
    summaries = sorted(
        [*(memory for memory in sources if memory.kind == "summary"), *(memory for memory in made if memory.scope == lost.scope)],
        key=lambda memory: memory.valid_from,
    )
    facts = [memory for memory in sources if memory.kind != "summary"]
    if not summaries and not facts:
        return None
    text = distill("", [memory.text for memory in summaries], [str(fact) for fact in facts], max_words=preset.base.max_words)
    return base_put(text, summaries, lost.scope, kind=lost.kind, key=lost.key, facts=facts, reason=_REASON)


def _topic_note(tx: Transaction, lost: Memory, made: Sequence[Memory]) -> Put | None:
    """Summarize a topic again from its remaining memories. Return the Put for the new topic note.

    A topic note is a memory that summarizes a topic. ``lost`` is the removed note. ``made`` are the memories that the erasure
    has already derived again. Return None if no memory of the topic remains.
    """
    remaining = [*tx.memories(MemoryFilter(ids=list(lost.sources))), *(memory for memory in made if memory.topic == lost.topic)]
    if not remaining:
        return None
    return Put(
        scope=lost.scope,
        kind=lost.kind,
        text=summarize_topic([memory.text for memory in remaining]),
        key=lost.key,
        topic=lost.topic,
        sources=tuple(dict.fromkeys(memory.id for memory in remaining)),
        valid_from=lost.valid_from,
        reason=_REASON,
    )


def clear_restated(writer: Writer, restated: Iterable[Memory], gone: Collection[str]) -> None:
    """Remove the data of erased sources from memories that stay because a remaining source also stated their text.

    From each memory, remove the erased sources (``gone``) and the history. From a live memory, also remove the tags that no
    remaining message contains. If no message remains, keep the tags that the memory's text contains.
    """
    tx = writer.tx
    for memory in restated:
        (present,) = tx.memories(MemoryFilter(ids=(memory.id,), statuses=None))
        remaining = tuple(source for source in present.sources if source not in gone)
        tx.set_sources(present.id, remaining)
        said = tx.messages(MessageFilter(ids=list(remaining)))
        kept = _own_tags(present, said)
        if kept != present.tags and present.status == "live":
            writer.apply([_same(present, kept)])
        tx.remove_history(present.id)


def _same(memory: Memory, tags: tuple[str, ...]) -> Put:
    emptied: frozenset[Literal["tags"]] = frozenset() if tags else frozenset({"tags"})
    return Put(
        id=memory.id, scope=memory.scope, kind=memory.kind, key=memory.key, text=memory.text, tags=tags, emptied=emptied, reason=_REASON
    )  # fmt: skip


def _own_tags(memory: Memory, said: Sequence[Message]) -> tuple[str, ...]:
    """Return those tags of a memory that occur in the remaining messages (``said``).

    If there are no remaining messages, return the tags that occur in the memory's text.
    """
    stated = fold(" ".join([memory.text if not said else "", *(message.text for message in said)]))
    return tuple(tag for tag in memory.tags if fold(tag) in stated)


def _own_metadata(memory: Memory, said: Sequence[Message]) -> dict[str, Any]:
    """Return a memory's metadata without the values that are strings, because a string can contain erased text.

    A string stays if it is the id of the session of one of the remaining messages (``said``).
    """
    sessions = {message.session for message in said}
    return {name: value for name, value in memory.metadata.items() if not isinstance(value, str) or value in sessions}


def _own_messages(memory: Memory, survivors: Sequence[Message]) -> list[Message]:
    return [message for message in survivors if message.id in memory.sources]
