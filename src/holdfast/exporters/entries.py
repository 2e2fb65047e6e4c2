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
"""Entries of a memory's metadata that are sequence numbers: the first and the last message that the memory's text covers.

Only summaries and the base document have them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """A message. If it answers a question, ``answers`` is the id of the message that asks the question."""

    message: Message
    answers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session, with the ids of the messages that it refers to.

    Some fields of a session hold the sequence number of a message. For example, ``digested_to`` is the number of the last
    digested message. Numbers differ between stores, so ``places`` maps the name of each such field to the id of the message.
    """

    session: SessionRecord
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionEntry:
    """One revision of a memory, and the change that created the revision.

    For a summary or the base document, ``covers`` has the ids of the first and the last message that the text covers (``from``
    and ``to``).
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
    """How far the messages of a scope are summarized. ``up_to`` is the id of the last message that a summary covers."""

    scope: Scope
    up_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job, with the ids of the messages that it refers to.

    A stored job refers to a message by its sequence number, which differs between stores. An export has the message's id
    instead. If a field of ``Job.payload`` holds a sequence number, ``places`` maps the name of that field to the id. If
    ``Job.effect`` ends with a sequence number, as in ``digest:SESSION:NUMBER``, ``place`` is the id. Otherwise ``place`` is
    None.

    If the message was removed, the id of the last message before it is used. If there is no earlier message, the id is left
    out.
    """

    job: Job
    places: Mapping[str, str] = field(default_factory=dict)
    place: str | None = None


Entry: TypeAlias = UserProfile | AppRecord | MessageEntry | SessionEntry | SummarizedEntry | MemoryEntry | JobEntry | Trace
