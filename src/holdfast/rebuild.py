"""Making again, by rules, what was derived from something erased and from something that stays."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.policies.fence import fenced
from holdfast.policies.learning import Capture
from holdfast.policies.rollup import base_put, summary_put
from holdfast.policies.summaries import distil, paragraph, summarise
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import MemoryFilter, Transaction
from holdfast.types import Memory, Message, Put
from holdfast.write import Writer

_REASON = "made again without what was erased"


def rebuild(writer: Writer, mixed: Iterable[Memory], survivors: Sequence[Message]) -> list[Memory]:
    """Make live memories again from the sources that are left; returns those that could be."""
    preset = writer.preset
    lost = sorted((memory for memory in mixed if memory.status == "live"), key=lambda memory: memory.item)
    summaries = [memory for memory in lost if memory.kind == "summary"]
    bases = [memory for memory in lost if preset.base and memory.kind == preset.base.kind]
    statements = [memory for memory in lost if memory not in summaries and memory not in bases]
    again = [*_statements(writer, statements, survivors), *_summaries(summaries, survivors)]
    made = writer.apply(again, shown=())
    for base in bases:  # last: they are made from the summaries made just now
        put = _base(writer.tx, preset, base, [memory for memory in made if memory.kind == "summary"])
        made += writer.apply([put], shown=()) if put else []
    return made


def _statements(writer: Writer, lost: Sequence[Memory], survivors: Sequence[Message]) -> list[Put]:
    """Return what the surviving messages say that is the same as what was lost, or a paragraph of what is left of a talk."""
    capture = writer.preset.capture
    if isinstance(capture, Paragraph):
        return [
            Put(
                scope=memory.scope, kind=memory.kind, text=paragraph(said, longest=capture.longest), tags=memory.tags,
                importance=memory.importance, sources=tuple(message.id for message in said), valid_from=said[-1].at,
                metadata=memory.metadata, reason=_REASON,
            )
            for memory in lost
            if memory.kind == capture.kind and (said := fenced(_own(memory, survivors)))
        ]  # fmt: skip
    wanted = {memory.content_hash for memory in lost}
    found = capture.rules(fenced(survivors)) if isinstance(capture, Capture) else []
    return [put for put in found if writer.identity(put) in wanted]


def _summaries(lost: Sequence[Memory], survivors: Sequence[Message]) -> list[Put]:
    puts = []
    for memory in lost:
        said = fenced(_own(memory, survivors))
        if said:
            # It covers the same range as before: what was erased of it is not summarised, and not missing either.
            put = summary_put(said, summarise(said), memory.scope, importance=memory.importance, tags=memory.tags, reason=_REASON)
            puts.append(replace(put, metadata={**put.metadata, **memory.metadata}))
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
    text = distil("", [memory.text for memory in summaries], [str(fact) for fact in facts], most_words=preset.base.most_words)
    return base_put(text, summaries, lost.scope, kind=lost.kind, key=lost.key, facts=facts, reason=_REASON)


def _own(memory: Memory, survivors: Sequence[Message]) -> list[Message]:
    return [message for message in survivors if message.id in memory.sources]
