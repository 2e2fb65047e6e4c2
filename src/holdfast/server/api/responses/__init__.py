"""Response bodies of the HTTP API: the types of ``holdfast.types`` as JSON. A scope becomes ``user``, ``app`` and ``agent``.

Attribute docstrings are the field descriptions in the OpenAPI document.
"""

from holdfast.server.api.responses.base import Counted, Listed, Model, Redaction, Scoped, TextCode
from holdfast.server.api.responses.catalog import Kind, Kinds, TopicLine, TopicPage, Topics, UserProfile, UserRecord
from holdfast.server.api.responses.changes import (
    Change,
    ErasureLosses,
    Forgotten,
    History,
    Job,
    Memories,
    Receipt,
    Sources,
    Steps,
)
from holdfast.server.api.responses.chat import ChatAnswer, ToolUse, Usage
from holdfast.server.api.responses.items import Consent, Memory, Message, Messages, Session
from holdfast.server.api.responses.recall import Context, Hit, Hits, Reason

__all__ = [
    "Change",
    "ChatAnswer",
    "Consent",
    "Context",
    "Counted",
    "ErasureLosses",
    "Forgotten",
    "History",
    "Hit",
    "Hits",
    "Job",
    "Kind",
    "Kinds",
    "Listed",
    "Memories",
    "Memory",
    "Message",
    "Messages",
    "Model",
    "Reason",
    "Receipt",
    "Redaction",
    "Scoped",
    "Session",
    "Sources",
    "Steps",
    "TextCode",
    "ToolUse",
    "TopicLine",
    "TopicPage",
    "Topics",
    "Usage",
    "UserProfile",
    "UserRecord",
]
