"""Keeps traces of context blocks for a while.

A recall only keeps its notes in memory. Background work composes the traces and writes them to the store later.
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from holdfast.errors import HoldfastError, ModelError, StoreClosed
from holdfast.learning.input_filter import own_words
from holdfast.learning.wishes import read_wish
from holdfast.protocols import MessageFilter, SentenceReader, Store, Transaction
from holdfast.recall.caches import erasures
from holdfast.recall.traces.compose import NotedContext, compose
from holdfast.recall.traces.search_log import SearchLog
from holdfast.runtime import forks
from holdfast.types import Trace

log = logging.getLogger("holdfast")
TRACE_DAYS: Final = 3.0
MAX_TRACES: Final = 1000
_MAX_PENDING: Final = 50
"""Maximum number of context blocks whose traces are not written yet. If there are more, the oldest are dropped.

Writing one trace takes up to 8 ms in the background, mostly to check whether the question asks not to be kept. Traces are
written every two seconds, so this maximum limits the work to a fifth of a core.
"""


class Traces:
    """The traces of one engine.

    No trace is kept of a question that is off the record or asks not to be kept. The same applies if the message of the
    question is withheld or hidden.
    """

    def __init__(
        self,
        store: Store,
        *,
        days: float = TRACE_DAYS,
        max_traces: int = MAX_TRACES,
        sentence_reader: SentenceReader | None = None,
    ) -> None:
        self._store = store
        self._retention = timedelta(days=days)
        self._max_traces = max_traces
        self._sentence_reader = sentence_reader
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process. Drop unwritten traces, because the parent process writes them."""
        self._lock = threading.Lock()
        self._pending: deque[NotedContext] = deque(maxlen=_MAX_PENDING)

    @property
    def are_kept(self) -> bool:
        """True unless traces are switched off."""
        return self._retention > timedelta(0)

    def new_log(self) -> SearchLog | None:
        """Return a log for the searches of a context block, or None if traces are switched off."""
        return SearchLog() if self.are_kept else None

    def note(self, noted: NotedContext) -> None:
        """Record a context block. ``flush`` writes its trace later."""
        with self._lock:
            self._pending.append(noted)

    def discard(self) -> None:
        """Discard the traces that are not written yet, because data is being erased."""
        with self._lock:
            self._pending.clear()

    def flush(self) -> None:
        """Write the recorded traces. If this fails, the failure is logged, and only the traces are lost."""
        with self._lock:
            pending = list(self._pending)
            self._pending.clear()
        if not pending:
            return
        try:
            by_user: dict[str | None, list[NotedContext]] = {}
            for noted in pending:
                if noted.message is not None or not self._asks_for_silence(noted.query):
                    by_user.setdefault(noted.scope.user, []).append(noted)
            for group in by_user.values():
                self._write([(compose(self._store, noted), noted.erasures) for noted in group])
        except StoreClosed:
            raise
        except HoldfastError as error:
            log.warning("%d traces of context blocks could not be written: %s", len(pending), error)

    def _write(self, traces: Sequence[tuple[Trace, str | None]]) -> None:
        """Write traces of one user. Each trace is paired with the value that the erasure counter had before the searches.

        If the counter has changed since the searches, the trace may contain erased data, so the trace is removed again.
        """
        with self._store.write(durable=False) as tx:
            for trace, _ in traces:
                if trace.message is None or _is_kept(tx, trace.message):
                    tx.add_trace(trace)
            # The counter is read after the user is locked, in the order in which an erasure takes the two locks.
            count = erasures(tx)
            tx.remove_traces(ids=[trace.id for trace, seen in traces if seen != count])
            tx.remove_traces(before=max(trace.at for trace, _ in traces) - self._retention, keep=self._max_traces)

    def expire(self, now: datetime) -> None:
        """Remove the traces past their retention."""
        limit = now - self._retention if self.are_kept else datetime.max.replace(tzinfo=now.tzinfo)
        if self._store.has_traces(before=limit):
            with self._store.write() as tx:
                tx.remove_traces(before=limit)

    def _asks_for_silence(self, question: str) -> bool:
        """Return True if a question asks not to be kept.

        Only called for questions that are not stored messages. A message was already checked when it was added.
        """
        own = own_words(question)
        try:
            wish = read_wish(own, reader=self._sentence_reader)
        except ModelError:
            wish = read_wish(own)
        return wish is not None and wish.wish == "off_record"


def _is_kept(tx: Transaction, message: str) -> bool:
    """Return True if a message is still stored and neither withheld nor hidden."""
    found = tx.messages(MessageFilter(ids=(message,)))
    return bool(found) and found[0].action is None
