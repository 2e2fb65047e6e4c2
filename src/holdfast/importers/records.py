"""The records that readers of foreign formats yield: conversations, their messages, and notes (memories to import).

A reader only computes records. ``run.py`` stores them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from holdfast.exporters.entries import Entry
from holdfast.types import Kind, MessageOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Record that starts a conversation. The records of its messages follow this record."""

    id: str
    """Id of the conversation in the foreign program. It becomes the id of the session."""
    title: str | None = None
    at: datetime | None = None
    """Time of the start. None if it is unknown."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    learn: bool = True
    """False if nothing is to be learned from the conversation, for example because the foreign program has learned from it already."""
    app: str | None = None
    """App of the conversation, if the foreign store names one. It replaces the app of the import."""
    user: str | None = None
    """User of the conversation, if the foreign store names one. It is used if the import names no user."""
    agent: str | None = None
    """Agent of the conversation, if the foreign store names one. It is used if the import names no agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of the conversation that was started last."""

    id: str
    role: str
    text: str = ""
    at: datetime | None = None
    """Time of the message; None stands for the time of the message before it."""
    speaker: str | None = None
    payload: Any = None
    origin: MessageOrigin | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A memory to import."""

    id: str
    """Id in the foreign program. A second import skips a memory with the same id."""
    text: str
    file: str | None = None
    """Path of the document that the note is a section of. The note's id starts with this path."""
    kind: str | None = None
    """Name of the kind. If the preset has no such kind, the default kind is used and the name is kept in the metadata."""
    other_kind: str | None = None
    """Name of the kind to use if the preset does not have ``kind``."""
    key: str | None = None
    topic: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float | None = None
    pinned: bool | None = None
    namespace: tuple[str, ...] = ()
    trust: float = 1.0
    created_at: datetime | None = None
    expires_at: datetime | None = None
    vector: bytes | None = None
    """Vector of the text in the foreign program, as float32 numbers. It is kept if the store's embedder is the same model."""
    user: str | None = None
    """User of the memory, if the foreign store names one. It is used if the import names no user."""
    app: str | None = None
    """App of the memory, if the foreign store names one. It replaces the app of the import."""
    agent: str | None = None
    """Agent of the memory, if the foreign store names one. It is used if the import names no agent."""


SkipReason: TypeAlias = Literal["template"]
"""Why a file was not imported: it is a template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file in an imported folder that was not imported itself."""

    file: str
    """Path of the file in the folder."""
    reason: SkipReason
    detail: str
    """What identified the file as a template: a placeholder in its text, or the folder that contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWarning:
    """A file that was imported without some of the properties at its top, because they are not valid YAML."""

    file: str
    """Path of the file in the folder."""
    detail: str
    """The error in the properties."""


Record: TypeAlias = Entry | Kind | Conversation | Said | Note
"""Something that a reader yields and an import stores, such as a message or a note."""
Found: TypeAlias = Record | SkippedFile | FileWarning
"""Anything that a reader yields: a record to store, a skipped file, or a warning about a file."""
