"""Determine the trust of messages from the earlier messages of their sessions."""

from collections.abc import Sequence

from holdfast.learning.provenance import trust_of
from holdfast.protocols import MessageFilter, Reads
from holdfast.types import Message

_MAX_EARLIER_MESSAGES = 1000
"""Maximum number of messages, counted from the last one, in which text of tools, web pages and files is looked for."""


def session_trusts(reads: Reads, messages: Sequence[Message]) -> dict[str, float]:
    """Return the trust of messages by id. The trust of a reply depends on the earlier messages of its session.

    The result also contains these earlier messages. See :func:`holdfast.learning.provenance.trust_of`.
    """
    last: dict[tuple[str, object], Message] = {}
    for message in messages:
        known = last.get((message.session, message.scope))
        if known is None or known.seq < message.seq:
            last[message.session, message.scope] = message
    trusts: dict[str, float] = {}
    for message in last.values():
        wanted = MessageFilter(
            session=message.session, exactly=message.scope, up_to_seq=message.seq, newest=_MAX_EARLIER_MESSAGES
        )
        trusts |= trust_of(reads.messages(wanted))
    return trusts
