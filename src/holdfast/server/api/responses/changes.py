"""Response bodies for changes of memories, erasures and background work."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from holdfast.server.api.responses.base import Model
from holdfast.server.api.responses.items import Memory, Message
from holdfast.types import JobState


class Change(Model):
    """One entry of a memory's history."""

    id: str
    """The id of the change. Pass it to `/v1/undo` to undo the change."""
    batch: str
    """The id of the batch. All changes of a batch are undone together."""
    at: datetime
    """The time of the change."""
    action: Literal["created", "revised", "retired", "restored"]
    """The type of the change: `created`, `revised`, `retired` or `restored`."""
    memory: str
    """The id of the memory that was changed."""
    revision: int
    """The number of the revision that the change created."""
    actor: Annotated[str, Field(examples=["user"])]
    """The author of the change."""
    model: str | None = None
    """The chat model that proposed the change."""
    prompt: str | None = None
    """The version of the prompt that the chat model was given."""
    job: str | None = None
    """The id of the job that made the change."""
    reason: str | None = None
    """The reason for the change."""
    after: Memory | None = None
    """The memory after the change, or null if that revision was erased."""


class History(Model):
    """The changes of a memory."""

    items: list[Change]
    """The changes, oldest first."""


class Sources(Model):
    """The messages and memories that a memory was derived from."""

    messages: list[Message]
    """The source messages that still exist and that you may read."""
    memories: list[Memory]
    """The source memories that still exist and that you may read."""


class Memories(Model):
    """A list of memories."""

    items: list[Memory]
    """The memories in their current state."""


class Forgotten(Model):
    """The result of a request to forget memories."""

    forgotten: Annotated[int, Field(examples=[1])]
    """The number of memories that were forgotten."""


class Receipt(Model):
    """The result of an erasure, verified by scanning the files."""

    id: str
    """The id with which the receipt can be retrieved later."""
    target: dict[str, str]
    """The data that the request asked to erase. In a receipt that is retrieved later, names are replaced by `(erased)`."""
    at: datetime
    """The time of the erasure."""
    memories: int
    """The number of memories erased."""
    revisions: int
    """The number of revisions erased."""
    messages: int
    """The number of messages erased."""
    sessions: int
    """The number of sessions erased."""
    jobs: int
    """The number of jobs erased."""
    vectors: int
    """The number of vectors erased."""
    rebuilt: int
    """The number of memories that were kept and derived again. Each had other sources, which were not erased."""
    status: Literal["erased", "pending"]
    """`erased`, or `pending` if the bytes are overwritten later, for example together with those of other erasures."""
    verified: bool
    """True if the files were scanned and contain none of the erased data."""
    residue: list[str]
    """The files in which the scan still found erased data."""
    backups: list[str]
    """Copies of the store that may still contain the data, because they could not be changed."""
    missing: list[str]
    """Copies that Holdfast has made and that are no longer where they were written."""


class ErasureLosses(Model):
    """The number of items that an erasure would remove. Nothing was changed."""

    memories: Annotated[int, Field(examples=[21])]
    """The number of memories that would be removed, including `derived`."""
    live: Annotated[int, Field(examples=[18])]
    """The number of these memories that are in use. The others are retired."""
    derived: int
    """The number of these memories that the request does not name. They were derived only from the data to erase."""
    rebuilt: int
    """The number of further memories that would be removed and derived again from their other sources."""
    revisions: int
    """The number of stored versions of all these memories."""
    messages: int
    """The number of messages that would be removed."""
    sessions: int
    """The number of sessions that would be removed."""
    hidden: int
    """The number of messages that would be hidden, so that nothing is extracted from them again. They stay stored."""


class Job(Model):
    """A durable piece of background work."""

    id: str
    """The id of the job."""
    kind: Annotated[str, Field(examples=["digest"])]
    """The type of the work."""
    payload: dict[str, Any]
    """The arguments of the job."""
    state: JobState
    """`queued`, `running`, `done`, or `dead` if all attempts failed."""
    attempt: int
    """The number of attempts so far."""
    created_at: datetime
    """The time the job was queued."""
    not_before: datetime
    """The earliest time of the next attempt."""
    finished_at: datetime | None = None
    """The time the job finished, or null if it has not finished."""
    cost: float
    """The cost of the job's model calls in US dollars."""
    error: str | None = None
    """The error of the last attempt."""
    worker: str | None = None
    """The worker that runs the job."""


class Steps(Model):
    """The result of a request to run background work."""

    steps: Annotated[int, Field(examples=[3])]
    """The number of steps that were run."""
