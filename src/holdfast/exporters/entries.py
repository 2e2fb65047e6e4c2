"""The entries of an export: stored records whose references to messages are ids instead of sequence numbers.

A message has different sequence numbers in different stores, but always the same id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from holdfast.recall.conversation_state import UNLEARNED_TO
from holdfast.types import AppRecord, ChangeRecord, Job, Memory, Message, Scope, SessionRecord, Trace, UserProfile

SESSION_PLACES = ("closed_to", "topic_seq", "tried_to", UNLEARNED_TO, "window_from")
"""Entries of a session's metadata that are sequence numbers of messages."""
JOB_PLACES = ("from", "to", "seq")
"""Entries of a job's payload that are sequence numbers of messages."""
COVERED = ("from", "to")
"""Entries of the metadata of a summary and of the base document: the first and the last message that the text covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """A message, and the id of the message whose question it answers."""

    message: Message
    answers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session, and the messages that its fields refer to.

    In the store, such a field holds the sequence number of a message: ``digested_to`` is the last digested message.
    ``places`` maps the name of each such field to the id of the message.
    """

    session: SessionRecord
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionEntry:
    """One revision of a memory and the change that created it.

    For a summary, also the first and the last message that it covers.
    """

    memory: Memory
    change: ChangeRecord | None = None
    covers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """A memory with all stored revisions, oldest first."""

    revisions: Sequence[RevisionEntry]

    @property
    def memory(self) -> Memory:
        """The current revision."""
        return self.revisions[-1].memory


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizedEntry:
    """The last message (``up_to``) of a scope that is already part of a summary."""

    scope: Scope
    up_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job, and the messages that it refers to.

    In the store, some fields of the job's payload hold the sequence number of a message. ``places`` maps the name of each
    such field to the id of the message. The field ``Job.effect``, such as ``digest:SESSION:NUMBER``, can also end with a
    sequence number. ``place`` is the id of that message.
    """

    job: Job
    places: Mapping[str, str] = field(default_factory=dict)
    place: str | None = None


Entry: TypeAlias = UserProfile | AppRecord | MessageEntry | SessionEntry | SummarizedEntry | MemoryEntry | JobEntry | Trace
