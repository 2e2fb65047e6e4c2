"""Response bodies of recall: hits and context blocks."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from holdfast.server.api.responses.base import Model, TextCode
from holdfast.server.api.responses.items import Memory, Message
from holdfast.types import LeftOutBy, Provenance


class Reason(Model):
    """One way in which an item was found, with the item's rank and score."""

    arm: Annotated[str, Field(examples=["meaning"])]
    """How the item was found: `text` (by words), `meaning`, `time`, `pinned` or `recent`. `rerank:NAME` stands for a reranker."""
    rank: Annotated[int, Field(examples=[1])]
    """The rank of the item among the results found in this way, starting at 1."""
    score: float
    """The score of the item among these results. For a reranker, this is its rating."""


class Hit(Model):
    """A memory or message that was recalled."""

    id: str
    """The id of the memory or message."""
    kind: Annotated[str, Field(examples=["fact"])]
    """The kind of the memory, or `message`."""
    text: Annotated[str, Field(examples=["prefers tea"])]
    """The text to show. For a long message, this is the snippet that matched."""
    score: Annotated[float, Field(examples=[0.91])]
    """The probability from 0 to 1 that the item is relevant. Scores are comparable between embedders."""
    relevant: bool
    """True if the hit is strong enough to be shown in a context block."""
    provenance: Provenance
    """Where the text comes from. `user` stands for the owner's own words, which include topic pages and imports."""
    asked: str | None = None
    """For a message that answers a question: the question."""
    similarity: float | None = None
    """The cosine of the query and the item, or null if they were not compared by meaning."""
    at: datetime
    """The time at which the message was sent, or since which the memory is true."""
    why: list[Reason]
    """The search methods that found the item, each with the item's rank and score."""
    memory: Memory | None = None
    """The memory, or null if the hit is a message."""
    message: Message | None = None
    """The message, or null if the hit is a memory."""
    left_out_by: LeftOutBy | None = None
    """Why a context block does not show the hit. Null if the block shows it, or if there is no block.

    `floor`: the hit is too weak to be relevant. `budget`: it did not fit into the token budget. `limit`: the block has its
    maximum number of hits. `origin`: it is not the user's own text, and the preset has no label for such text.
    """
    successor: Memory | None = None
    """The live memory that superseded the memory derived from this message. Null if there is none, or if the hit is a memory."""
    later: list[str] = []
    """Later sentences of the user that may have made the hit outdated, newest last. Usually empty."""


class Hits(Model):
    """Hits for a query, best first."""

    hits: list[Hit]
    """The hits, best first."""
    notices: list[str]
    """Notices about parts that the recall could not use, such as `Searched by words only: ...`. Usually empty."""
    notice_codes: list[TextCode | None]
    """The codes and values for translating the notices, in the same order. Null for a notice that cannot be translated."""


class Context(Model):
    """A context block: the text for a system prompt."""

    text: str
    """The whole block. Its tags contain a nonce that is new in each block."""
    tokens: int
    """The size of the block in tokens."""
    stable: str
    """The part with pinned memories, in separate tags. It changes only when a pinned memory changes.

    For prompt caches, use `stable` and then `changing` instead of `text`.
    """
    changing: str
    """The part that depends on the query, in separate tags."""
    hits: list[Hit]
    """The hits that the block shows."""
    left_out: list[Hit]
    """The hits that the block does not show. `left_out_by` of each hit says why."""
    notices: list[str]
    """Notices about parts that the recall could not use, such as `Searched by words only: ...`. Usually empty."""
    notice_codes: list[TextCode | None]
    """The codes and values for translating the notices, in the same order. Null for a notice that cannot be translated."""
    trace: str | None = None
    """The id of the trace that records how this block was built, or null if no trace is kept."""
