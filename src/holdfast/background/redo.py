"""Digest messages again: find the memories of the first digest, and decide which of them the new memories replace."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.learning.capture import is_same_statement
from holdfast.protocols import MemoryFilter, Store
from holdfast.types import Memory, Message, Put


def earlier_memories(store: Store, messages: Sequence[Message]) -> tuple[list[Memory], list[Memory]]:
    """Return the memories that were extracted from these messages earlier, as two lists: ``earlier`` and ``fixed``.

    ``earlier`` contains automatic memories of two sorts. Some are live, come from rules, and were neither changed nor pinned.
    The new digest can replace them. The others are retired and must not be added again. ``fixed`` contains all other live
    memories, which stay as they are.
    """
    found = store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
    earlier = [memory for memory in found if memory.origin == "auto" and _is_untouched_rule_memory(store, memory)]
    return earlier, [memory for memory in found if memory.status == "live" and memory not in earlier]


def _is_untouched_rule_memory(store: Store, memory: Memory) -> bool:
    """Return True if a memory is as rules extracted it: no model made it, and nobody changed or pinned it.

    Retired memories are not checked: the result for them is always True.
    """
    if memory.status != "live":
        return True
    changes = store.changes(memory=memory.id)
    return not memory.pinned and len(changes) == 1 and changes[0].author.model is None


def replacing_earlier(puts: Sequence[Put], earlier: Sequence[Memory], fixed: Sequence[Memory], *, by_model: bool) -> list[Put]:
    """Return the memories to store when messages are digested again.

    ``puts`` are the new memories. ``earlier`` and ``fixed`` are the two lists that :func:`earlier_memories` returns. Only
    memories of the same scope are compared. If ``by_model`` is True, a model extracted the new memories. Each new memory
    then replaces the earlier memories of the same kind that say the same. If several new memories say the same as an
    earlier memory, the first of them replaces it.

    A new memory is dropped if a fixed memory says the same. It is also dropped if an earlier memory that says the same was
    retired, for example forgotten. The new memory comes from the same messages, so the user has not stated it again. A Put
    that has an id changes a stored memory, and is never dropped.
    """
    kept: list[Put] = []
    taken: set[str] = set()
    for put in puts:
        same = [memory for memory in earlier if memory.scope == put.scope and _says_the_same(memory, put)]
        known = [memory for memory in fixed if memory.scope == put.scope and _says_the_same(memory, put)]
        if put.id is None and (known or any(memory.status != "live" for memory in same)):
            continue
        replaced = [memory.id for memory in same if by_model and memory.id not in taken and memory.kind == put.kind]
        taken.update(replaced)
        kept.append(replace(put, replaces=tuple(dict.fromkeys((*put.replaces, *replaced)))) if replaced else put)
    return kept


def _says_the_same(memory: Memory, put: Put) -> bool:
    """Return True if a known memory and a new memory say the same.

    If they share a source message, one must contain most words of the other, or both must be summaries of the same kind. If
    they share no source message, the new memory must contain most words of the known memory.
    """
    if not set(memory.sources) & set(put.sources):
        return is_same_statement(memory.text, put.text)
    is_summary = memory.kind == put.kind and "conversation" in put.metadata and "conversation" in memory.metadata
    return is_summary or is_same_statement(memory.text, put.text) or is_same_statement(put.text, memory.text)
