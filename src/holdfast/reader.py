"""Answering: recall and context for a reader in a scope, and a note of what was used."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from holdfast import forks
from holdfast.clock import as_utc
from holdfast.context import render_block
from holdfast.embedding import Embedding
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, Store, Transaction
from holdfast.recall import Question, recall
from holdfast.types import Context, Hit, Scope, Where

_PINNED = 50
_SHOWN = 20
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

    def context(self, reader: Scope, query: str, *, max_tokens: int | None = None, without_session: str | None = None) -> Context:
        """Return the block for a system prompt: what is pinned, then what is relevant."""
        now = self._clock.now()
        always = MemoryFilter(reader=reader, pinned=True, unexpired_at=now, limit=_PINNED, newest_first=False)
        pinned = [Hit(memory=memory, score=1.0) for memory in self._store.memories(always)]
        shown = {hit.id for hit in pinned}
        found = self.recall(reader, query, limit=_SHOWN, without_session=without_session)
        profile = self._store.user(reader.user) if reader.user else None
        return render_block(
            pinned,
            [hit for hit in found if hit.id not in shown and (hit.memory or hit.score >= _WORTH_SHOWING)],
            max_tokens=self._preset.context_tokens if max_tokens is None else max_tokens,
            nonce=self._nonce(without_session or reader.user or "shared"),
            language=profile.language if profile else None,
        )

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
