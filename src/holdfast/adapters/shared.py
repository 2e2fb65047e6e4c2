"""Helpers that all adapters share: the kind ``ITEM`` for their data, their namespaces, and the error for a missing framework."""

from typing import TypedDict

import holdfast

ITEM = holdfast.Kind(name="item", meaning="An item that a program stores exactly as it is", keyed="one", plain=True)
"""The plain kind in which adapters keep items and files. Pass it to ``holdfast.open(kinds=[ITEM])``."""

OMITTED = {"omitted": "the result of a tool"}
"""Payload of a message without text that stands for the result of a tool. The result itself is not stored.

The message shows that the assistant's later replies may repeat the result, so they are trusted as little as text of a tool.
"""


class Owner(TypedDict):
    """The user, app and agent that own an adapter's data, as keyword arguments for the engine's methods."""

    user: str | None
    app: str | None
    agent: str | None


def extra_missing(framework: str, extra: str, error: ImportError) -> holdfast.ExtraMissing:
    """Return the error to raise when the package of a framework cannot be imported.

    ``extra`` is the extra of Holdfast's own package that installs the framework. ``error`` is the error of the import.
    """
    return holdfast.ExtraMissing(
        f"The adapter for {framework} cannot import {error.name or framework}. Run: pip install 'holdfast-memory[{extra}]'"
    )


def check_engine(memory: object) -> holdfast.Engine:
    """Return the argument if it is an ``Engine``. Otherwise raise ``InvalidInput``."""
    if not isinstance(memory, holdfast.Engine):
        raise holdfast.InvalidInput(
            f"An adapter needs the memory that holdfast.open() returns, not {type(memory).__name__}. Its async calls use threads."
        )
    return memory


def check_items(memory: object) -> holdfast.Engine:
    """Return the memory if it is an engine that was opened with the kind ``ITEM``. Otherwise raise InvalidInput."""
    engine = check_engine(memory)
    if ITEM not in engine.preset.kinds:
        raise holdfast.InvalidInput(
            "This memory has no kind for the items of adapters. Open it with: holdfast.open(kinds=[holdfast.adapters.ITEM])"
        )
    return engine


def session_of(memory: holdfast.Engine, id: str | None, owner: Owner) -> holdfast.Session:
    """Return the session with this id, or a new session if ``id`` is None.

    Two owners can use the same id for different sessions.
    """
    return memory.session(id=id, shared=not any(owner.values()), **owner)


def root_label(adapter: str, owner: Owner) -> str:
    """Return the first label of an adapter's namespaces. It contains the names of the adapter and of the owner.

    The owner's name separates owners from each other. It is needed because reads for a user also return data without a
    user, which all users share. With the name in the label, an adapter with a user does not see the items of an adapter
    without a user.
    """
    return " ".join([adapter, *(f"{part}={name}" for part, name in owner.items() if name is not None)])
