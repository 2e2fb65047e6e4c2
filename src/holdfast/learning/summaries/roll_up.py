"""Decide when messages and summaries are rolled up into a shorter text, and build the store changes that save the text."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.types import Memory, Message, Put, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUp:
    """Settings of a roll-up, which condenses several messages or several summaries into one text.

    A roll-up is due when ``threshold`` of them are waiting. It condenses all waiting messages or summaries except the newest
    ``keep``.
    """

    threshold: int
    keep: int

    def __post_init__(self) -> None:
        if not 0 <= self.keep < self.threshold:
            raise ValueError(f"keep must be at least 0 and less than threshold ({self.threshold}), not {self.keep}.")


def due(count: int, rule: RollUp) -> int:
    """Return the number of messages or summaries to roll up now. ``count`` is the number that is waiting.

    The result is 0 if ``count`` is below the threshold of the rule. The oldest ones are rolled up first.
    """
    return count - rule.keep if count >= rule.threshold else 0


def summary_put(
    messages: Sequence[Message],
    text: str,
    scope: Scope,
    *,
    kind: str = "summary",
    importance: float | None = None,
    tags: tuple[str, ...] = (),
    language: str | None = None,
    reason: str | None = None,
) -> Put:
    """Build the ``Put`` (a memory to store) for a summary of messages.

    The sources of the memory are the ids of the messages. Its metadata has the numbers of the first and the last
    message.
    """
    if not messages:
        raise ValueError("A summary needs at least one message.")
    return Put(
        scope=scope,
        kind=kind,
        text=text,
        importance=importance,
        tags=tags,
        metadata={"from": min(message.seq for message in messages), "to": max(message.seq for message in messages)},
        trust=min(message.trust for message in messages),
        sources=tuple(message.id for message in messages),
        language=language,
        valid_from=max(message.at for message in messages),
        reason=reason or f"summary of {len(messages)} messages",
    )


def base_put(
    text: str,
    summaries: Sequence[Memory],
    scope: Scope,
    *,
    kind: str,
    key: str | None,
    earlier: Memory | None = None,
    facts: Sequence[Memory] = (),
    language: str | None = None,
    reason: str | None = None,
) -> Put:
    """Build the ``Put`` (a memory to store) for the base document: a new memory, or the next revision of ``earlier``.

    The sources of the memory are the summaries, the facts and the sources of the earlier document. The trust of the memory is
    the lowest trust of the summaries, the facts and the earlier document. Raise ``ValueError`` if none of them is given.
    """
    derived_from = [*summaries, *facts, *([earlier] if earlier else [])]
    if not derived_from:
        raise ValueError("A base document needs a summary, a fact or an earlier document.")
    sources = [*(earlier.sources if earlier else ()), *(memory.id for memory in (*summaries, *facts))]
    return Put(
        scope=scope,
        kind=kind,
        key=key,
        id=earlier.id if earlier else None,
        text=text,
        trust=min(memory.trust for memory in derived_from),
        sources=tuple(dict.fromkeys(sources)),
        language=language,
        valid_from=max(memory.valid_from for memory in derived_from),
        reason=reason or f"distilled from {len(summaries)} summaries",
    )
