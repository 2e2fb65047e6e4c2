"""Calls to a service that may be slow or down. A caller waits only as long as its recall may still wait (``WaitBudget``).

Each call runs in its own thread. If the call does not return in time, the caller continues without the result, and the call
finishes in the background. No other call starts until then, so that a hanging service blocks few threads.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Generic, TypeVar

from holdfast.runtime import forks
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.wait_budget import WaitBudget

log = logging.getLogger("holdfast")
T = TypeVar("T")

_MAX_RUNNING = 16
"""Maximum number of concurrent calls. Further callers wait for their turn. After a failure, only one call at a time is made."""


class NotAnswered(Exception):
    """The service was not called, or did not answer in time. The message gives the reason."""


class _Call(Generic[T]):
    """One call: its work, its outcome, and whether the caller has stopped waiting for it."""

    def __init__(self, work: Callable[[], T], context: Context, service: str) -> None:
        self.service = service
        self.done = threading.Event()
        self.started = False
        self.overdue = False
        self.error: BaseException | None = None
        self.results: list[T] = []
        self._work = work
        self._context = context

    def execute(self) -> None:
        """Do the work and store its result or error."""
        try:
            self.results.append(self._context.run(self._work))
        except BaseException as error:  # noqa: BLE001  (raised again in the thread of the caller)
            self.error = error


class BoundedCalls:
    """Calls one service, with a time limit and a circuit breaker."""

    def __init__(self, breaker: CircuitBreaker | None = None) -> None:
        self.breaker = breaker or CircuitBreaker()
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process, which has none of the parent's threads."""
        self._lock = threading.Condition(threading.Lock())
        self._running = 0
        self._overdue = 0

    @property
    def problem(self) -> str | None:
        """The reason why the service is not used now, as a message for people. None if the last call succeeded."""
        return self.breaker.problem

    def run(self, work: Callable[[], T], budget: WaitBudget, *, service: str) -> T:
        """Call the service and return the result. Raise ``NotAnswered`` if it is paused or does not answer in time.

        ``budget`` is the time that the current recall may still wait. An error that the call itself raises is passed on
        unchanged. After a timeout or an error, the service is paused. ``service`` is the service's name in messages.
        """
        started = time.monotonic()
        call = _Call(work, copy_context(), service)
        try:
            self._begin(service, budget)
            self._start(call)
            call.done.wait(max(0.0, started + budget.remaining - time.monotonic()))
        finally:
            budget.spend(time.monotonic() - started)
            with self._lock:
                call.overdue = call.started and not call.done.is_set()
                self._overdue += call.overdue
        if call.overdue:
            self.breaker.fail(_too_slow(service, budget))
            raise NotAnswered(_too_slow(service, budget))
        if call.error is not None:
            self.breaker.fail(str(call.error))
            raise call.error
        self.breaker.succeed()
        return call.results[0]

    def _begin(self, service: str, budget: WaitBudget) -> None:
        """Register a new call. If ``_MAX_RUNNING`` calls are already running, wait until one of them ends.

        Raise ``NotAnswered`` if the service is paused, or if the call cannot start before the waiting time in ``budget`` is
        over.
        """
        with self._lock:
            if self._lock.wait_for(lambda: self._is_paused() or self._running < _MAX_RUNNING, budget.remaining):
                if self._is_paused():
                    raise NotAnswered(self.breaker.problem or _too_slow(service, budget))
                if budget.remaining:
                    self._running += 1
                    return
        raise NotAnswered(_too_slow(service, budget))

    def _is_paused(self) -> bool:
        """Return True if no call may start: during a pause, while an overdue call runs, or during the first call after a pause."""
        failed = self.breaker.problem is not None
        return bool(self._overdue or self.breaker.is_open or (failed and self._running))

    def _start(self, call: "_Call[T]") -> None:
        call.started = True
        try:
            threading.Thread(target=self._execute, args=(call,), name="holdfast-call", daemon=True).start()
        except RuntimeError as error:  # no more threads can be started
            self._end(call)
            raise NotAnswered(f"{call.service} was not called: {error}.") from error

    def _execute(self, call: "_Call[T]") -> None:
        call.execute()
        self._end(call)
        if call.overdue and call.error is not None:
            log.debug("%s failed after its caller had stopped waiting: %s", call.service, call.error)

    def _end(self, call: "_Call[T]") -> None:
        with self._lock:
            call.done.set()
            self._running -= 1
            self._overdue -= call.overdue
            self._lock.notify_all()


def _too_slow(service: str, budget: WaitBudget) -> str:
    return f"{service} did not answer in time. A recall waits at most {budget.limit:g} s (setting recall_timeout)."
