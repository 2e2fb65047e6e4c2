"""When messages become a summary and summaries become the base document, and what is then proposed for the store."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.types import Memory, Message, Put, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUp:
    """A roll-up falls due when ``threshold`` are waiting, and takes all but the newest ``keep``."""

    threshold: int
    keep: int

    def __post_init__(self) -> None:
        if not 0 <= self.keep < self.threshold:
            raise ValueError(f"A roll-up at {self.threshold} cannot keep {self.keep}: keep is 0 or more and under the threshold.")


def due(count: int, rule: RollUp) -> int:
    """Return how many of the oldest to take now; 0 while fewer than the threshold are waiting."""
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
    """Propose the summary of some messages, in their order; it names them all and records their range."""
    if not messages:
        raise ValueError("A summary needs messages to be of.")
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
    """Propose the base document: new, or as the next revision of the ``earlier`` one it grew out of.

    Its sources are the summaries, after those of the earlier document, and the facts that went in, so that erasing any of
    them finds it. It is trusted no more than the least of them.
    """
    grown_from = [*summaries, *facts, *([earlier] if earlier else [])]
    if not grown_from:
        raise ValueError("A base document needs summaries, facts or an earlier document to be of.")
    sources = [*(earlier.sources if earlier else ()), *(memory.id for memory in (*summaries, *facts))]
    return Put(
        scope=scope,
        kind=kind,
        key=key,
        id=earlier.id if earlier else None,
        text=text,
        trust=min(memory.trust for memory in grown_from),
        sources=tuple(dict.fromkeys(sources)),
        language=language,
        valid_from=max(memory.valid_from for memory in grown_from),
        reason=reason or f"distilled from {len(summaries)} summaries",
    )
