"""Answering: recall and context for a reader in a scope, and a note of what was used."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast import forks
from holdfast.clock import as_utc
from holdfast.context import render_block
from holdfast.embedding import Embedding
from holdfast.presets.base import Preset, RecallPlan, Section
from holdfast.protocols import Clock, MemoryFilter, Store, Transaction
from holdfast.recall import Question, recall
from holdfast.sections import render_sections
from holdfast.types import Context, Hit, Scope, Where

_PINNED = 50
_WORTH_SHOWING = 0.15
"""A hit less likely than this does not count as a use, and a raw message stays out of the context. A memory was
worth keeping: room is the only limit."""


class Reader:
    """Answers questions from one store."""

    def __init__(self, store: Store, preset: Preset, clock: Clock, embedding: Embedding) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._used: dict[str, datetime] = {}
        self._lock = threading.Lock()
        forks.watch(self)
        self._secret = _own_secret(store)

    def before_fork(self) -> None:
        """Nothing to let go of."""

    def after_fork(self) -> None:
        """Make a new lock; the parent writes down its own uses."""
        self._lock = threading.Lock()
        self._used = {}

    def recall(
        self,
        reader: Scope,
        query: str,
        *,
        limit: int = 10,
        kinds: Sequence[str] | None = None,
        where: Where | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
        without_session: str | None = None,
    ) -> list[Hit]:
        """Return what matters for a query, best first."""
        if kinds is not None:
            kinds = [kind if kind == "message" else self._preset.kind(kind).name for kind in kinds]
        question = Question(
            text=query,
            reader=reader,
            limit=limit,
            kinds=kinds,
            where=where,
            min_score=min_score,
            now=self._clock.now() if now is None else as_utc(now, what="now"),
            as_of=None if as_of is None else as_utc(as_of, what="as_of"),
            without_session=without_session,
            languages=self._preset.languages,
        )
        hits = recall(self._store, self._embedding, question)
        if as_of is None:
            moment = self._clock.now()
            with self._lock:
                self._used.update((hit.id, moment) for hit in hits if hit.memory and hit.score >= _WORTH_SHOWING)
        return hits

    def context(
        self,
        reader: Scope,
        query: str,
        *,
        max_tokens: int | None = None,
        without_session: str | None = None,
        state: str | None = None,
    ) -> Context:
        """Return what goes into a system prompt: what is pinned and what is relevant, laid out as the preset says."""
        tokens = self._preset.context_tokens if max_tokens is None else max_tokens
        profile = self._store.user(reader.user) if reader.user else None
        language = profile.language if profile else None
        if self._preset.layout is not None:
            values = {"app": reader.app or "", "state": state or ""}
            return render_sections(
                self._preset.layout,
                lambda section: self._gather(section, reader, query, without_session),
                max_tokens=tokens,
                values=values,
                language=language,
            )
        pinned = self._listed(reader, Section(words="", source="pinned", most=_PINNED))
        shown = {hit.id for hit in pinned}
        found = self._reminded(reader, query, without_session)
        return render_block(
            pinned,
            [hit for hit in found if hit.id not in shown and (hit.memory or hit.score >= _WORTH_SHOWING)],
            max_tokens=tokens,
            nonce=self._nonce(without_session or reader.user or "shared"),
            language=language,
        )

    def _gather(self, section: Section, reader: Scope, query: str, without_session: str | None) -> list[Hit]:
        """Return what fills a section."""
        if section.source == "relevant":
            return self._reminded(reader, query, without_session)
        if section.source == "all":
            listed = self._listed(reader, replace(section, most=section.most + 1))
            if len(listed) > section.most:
                return self.recall(reader, query, limit=section.most, kinds=section.kinds)
            return listed
        return self._listed(reader, section)

    def _listed(self, reader: Scope, section: Section) -> list[Hit]:
        """Return memories that are shown whatever was asked: pinned and all from the oldest on, the newest first."""
        wanted = MemoryFilter(
            reader=reader, kinds=section.kinds, unexpired_at=self._clock.now(), limit=section.most,
            pinned=True if section.source == "pinned" else None, newest_first=section.source == "newest",
        )  # fmt: skip
        return [Hit(memory=memory, score=1.0) for memory in self._store.memories(wanted)]

    def _reminded(self, reader: Scope, query: str, without_session: str | None) -> list[Hit]:
        """Return what the preset's plan brings to mind."""
        plan = self._preset.recall
        found = self.recall(reader, query, limit=plan.limit, kinds=plan.kinds, without_session=without_session)
        least = self._carried_over(plan)
        return [hit for hit in found if least is None or hit.similarity is None or hit.similarity >= least]

    def _carried_over(self, plan: RecallPlan) -> float | None:
        """Return a design's limit on nearness as the present embedder would measure it."""
        embedder = self._embedding.embedder()
        if plan.least_cosine is None or embedder is None:
            return None
        (low, high), (own_low, own_high) = plan.measured_by, embedder.calibration
        return own_low + (plan.least_cosine - low) / (high - low) * (own_high - own_low)

    def flush_uses(self, renew: Callable[[Transaction, set[str], datetime], None]) -> None:
        """Write down which memories were used lately; ``renew`` may extend the life of some."""
        with self._lock:
            used, self._used = self._used, {}
        if used:
            with self._store.write(durable=False) as tx:
                by_moment: dict[datetime, set[str]] = {}
                for id, at in used.items():
                    by_moment.setdefault(at, set()).add(id)
                for moment, ids in by_moment.items():
                    tx.touch(ids, used=moment)
                    renew(tx, ids, moment)

    def forget_uses(self) -> None:
        """Drop what has not been written down yet."""
        with self._lock:
            self._used.clear()

    def _nonce(self, name: str) -> str:
        """Return a value for a block's tags that is stable in a conversation and that no stored text can know."""
        return hashlib.blake2b(name.encode(), key=self._secret.encode(), digest_size=5).hexdigest()


def _own_secret(store: Store) -> str:
    """Return the store's secret, making it the first time."""
    known = store.setting("secret")
    if known is not None:
        return known
    with store.write() as tx:
        secret = tx.setting("secret") or secrets.token_hex(16)
        tx.set_setting("secret", secret)
    return secret
