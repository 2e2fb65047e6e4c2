"""The value types of Holdfast.

All are immutable and independent of stores and models. Times are timezone-aware datetimes in UTC. A user's time zone only
determines when the user's day ends; see :class:`UserProfile`.
"""

from holdfast.types.common import (
    TRUST,
    Act,
    JobState,
    KeyLevel,
    MemoryOrigin,
    MemoryStatus,
    MessageOrigin,
    Metadata,
    Redaction,
    SessionStatus,
    Where,
)
from holdfast.types.memory import Author, Change, ChangeRecord, Keyed, Kind, Lifetime, Memory, NewMemory, Put, Retire
from holdfast.types.records import (
    AppRecord,
    Job,
    KeyRecord,
    Message,
    NewMessage,
    SessionRecord,
    Spend,
    StoredResponse,
    UserProfile,
    UserRecord,
)
from holdfast.types.results import Context, Finding, Hit, Hits, Reason, Receipt, Stats
from holdfast.types.scope import Scope

__all__ = [
    "TRUST",
    "Act",
    "AppRecord",
    "Author",
    "Change",
    "ChangeRecord",
    "Context",
    "Finding",
    "Hit",
    "Hits",
    "Job",
    "JobState",
    "KeyLevel",
    "KeyRecord",
    "Keyed",
    "Kind",
    "Lifetime",
    "Memory",
    "MemoryOrigin",
    "MemoryStatus",
    "Message",
    "MessageOrigin",
    "Metadata",
    "NewMemory",
    "NewMessage",
    "Put",
    "Reason",
    "Receipt",
    "Redaction",
    "Retire",
    "Scope",
    "SessionRecord",
    "SessionStatus",
    "Spend",
    "Stats",
    "StoredResponse",
    "UserProfile",
    "UserRecord",
    "Where",
]
