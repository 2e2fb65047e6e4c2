"""Integer ids of memories, for designs whose own tables have integer primary keys.

The integer id of a memory is the row number of its first revision. It is positive, never reused, and survives a
restart.
"""

from collections.abc import Iterable, Sequence

from holdfast import types
from holdfast.engine import Engine
from holdfast.services import services

__all__ = ["find_numbered", "number_of", "resolve"]


def number_of(engine: Engine, memory: types.Memory) -> int:
    """Return the integer id of a stored memory."""
    if memory.revision <= 1:
        return memory.item
    return min((each.item for each in services(engine).store.revisions(memory.id)), default=memory.item)


def find_numbered(engine: Engine, number: int, memories: Iterable[types.Memory]) -> types.Memory | None:
    """Return the memory with this integer id, or None if none of ``memories`` has it."""
    return next((memory for memory in memories if number_of(engine, memory) == number), None)


def resolve(engine: Engine, id: int | str, memories: Sequence[types.Memory]) -> str | None:
    """Return the engine's id of a memory. ``id`` is the integer id or already the engine's id.

    An integer is looked up in ``memories``, and the result is None if no memory has this integer id. A string is the engine's
    id and is returned unchanged.
    """
    if isinstance(id, str):
        return id
    found = find_numbered(engine, id, memories)
    return found.id if found else None
