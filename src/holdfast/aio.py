"""An asyncio version of the engine. Every call of :class:`Engine` and :class:`Session` runs on a bounded pool of threads.

Each method has the signature of its synchronous counterpart. Canceling an await does not interrupt a write: the thread
finishes the write.
"""

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from holdfast.apps import Apps
from holdfast.config.opening import open as open_memory
from holdfast.engine import Engine
from holdfast.scoped import ScopedMemory
from holdfast.session import Session
from holdfast.topic_files import TopicPages

P = ParamSpec("P")
R = TypeVar("R")
Managed = TypeVar("Managed", bound="AbstractAsyncContextManager[Any]")
_MAX_THREADS = 8


def _awaited(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """Return an async version of a method, with the same signature and docstring."""

    @functools.wraps(method)
    async def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        # Run in the caller's context, so that tracing spans find their parent.
        work = functools.partial(contextvars.copy_context().run, method, self._inner, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    return cast("Callable[Concatenate[Any, P], Awaitable[R]]", call)


class Pending(Generic[Managed]):
    """An object that opens when you await it. ``await`` leaves it open; ``async with`` closes it at the end of the block."""

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, Managed]]) -> None:
        self._opening = opening
        self._opened: Managed | None = None

    def __await__(self) -> Generator[Any, None, Managed]:
        return self._opening().__await__()

    async def __aenter__(self) -> Managed:
        self._opened = await self._opening()
        return self._opened

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(kind, error, trace)


class AsyncSession:
    """A session for asyncio. ``async with memory.session(...) as session:`` ends it when the block ends."""

    def __init__(self, session: Session, pool: ThreadPoolExecutor) -> None:
        self._inner = session
        self._pool = pool
        self.id = session.id
        self.scope = session.scope
        self.off_record = session.off_record

    begin = _awaited(Session.begin)
    add = _awaited(Session.add)
    add_all = _awaited(Session.add_all)
    pop = _awaited(Session.pop)
    erase = _awaited(Session.erase)
    messages = _awaited(Session.messages)
    recall = _awaited(Session.recall)
    context = _awaited(Session.context)
    window = _awaited(Session.window)
    clear_window = _awaited(Session.clear_window)
    digest = _awaited(Session.digest)
    end = _awaited(Session.end)
    _exit = _awaited(Session.__exit__)

    def __repr__(self) -> str:
        return repr(self._inner).replace("Session", "AsyncSession", 1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._exit(kind, error, trace)


class AsyncApps:
    """The app registry, for asyncio."""

    def __init__(self, apps: Apps, pool: ThreadPoolExecutor) -> None:
        self._inner = apps
        self._pool = pool

    install = _awaited(Apps.install)
    share = _awaited(Apps.share)
    list = _awaited(Apps.list)
    get = _awaited(Apps.get)
    memories = _awaited(Apps.memories)
    compactions = _awaited(Apps.compactions)
    report_energy_level = _awaited(Apps.report_energy_level)
    energy_level = _awaited(Apps.energy_level)
    uninstall = _awaited(Apps.uninstall)
    purge = _awaited(Apps.purge)
    of_conversation = _awaited(Apps.of_conversation)
    context = _awaited(Apps.context)
    metrics = _awaited(Apps.metrics)
    report_energy = _awaited(Apps.report_energy)
    poll_energy = _awaited(Apps.poll_energy)


class AsyncTopics:
    """Topic pages, for asyncio."""

    def __init__(self, topics: TopicPages, pool: ThreadPoolExecutor) -> None:
        self._inner = topics
        self._pool = pool

    list = _awaited(TopicPages.list)
    page = _awaited(TopicPages.page)
    edit = _awaited(TopicPages.edit)


class AsyncScopedMemory:
    """The memory of one user, for asyncio. Returned by ``AsyncEngine.for_user()``."""

    def __init__(self, view: ScopedMemory, pool: ThreadPoolExecutor) -> None:
        self._inner = view
        self._pool = pool
        self.scope = view.scope

    _session = _awaited(ScopedMemory.session)
    sessions = _awaited(ScopedMemory.sessions)
    remember = _awaited(ScopedMemory.remember)
    remember_all = _awaited(ScopedMemory.remember_all)
    revise = _awaited(ScopedMemory.revise)
    forget = _awaited(ScopedMemory.forget)
    proposals = _awaited(ScopedMemory.proposals)
    accept = _awaited(ScopedMemory.accept)
    dismiss = _awaited(ScopedMemory.dismiss)
    undo = _awaited(ScopedMemory.undo)
    erase = _awaited(ScopedMemory.erase)
    set_user = _awaited(ScopedMemory.set_user)
    recall = _awaited(ScopedMemory.recall)
    context = _awaited(ScopedMemory.context)
    traces = _awaited(ScopedMemory.traces)
    explain = _awaited(ScopedMemory.explain)
    memories = _awaited(ScopedMemory.memories)
    count_memories = _awaited(ScopedMemory.count_memories)
    namespaces = _awaited(ScopedMemory.namespaces)
    export = _awaited(ScopedMemory.export)
    import_from = _awaited(ScopedMemory.import_from)
    get = _awaited(ScopedMemory.get)
    history = _awaited(ScopedMemory.history)

    def session(self, *, id: str | None = None, off_record: bool = False) -> Pending[AsyncSession]:
        """Start a session, or resume the session with this ``id``. With ``off_record``, nothing is stored."""

        async def start() -> AsyncSession:
            return AsyncSession(await self._session(id=id, off_record=off_record), self._pool)

        return Pending(start)

    def __repr__(self) -> str:
        return repr(self._inner).replace("ScopedMemory", "AsyncScopedMemory", 1)


class AsyncEngine:
    """A memory for asyncio. Returned by ``holdfast.open_async()``."""

    def __init__(self, engine: Engine) -> None:
        self._inner = engine
        self._pool = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="holdfast")
        self.preset = engine.preset
        self.apps = AsyncApps(engine.apps, self._pool)
        self.topics = AsyncTopics(engine.topics, self._pool)

    _session = _awaited(Engine.session)
    sessions = _awaited(Engine.sessions)
    remember = _awaited(Engine.remember)
    remember_all = _awaited(Engine.remember_all)
    revise = _awaited(Engine.revise)
    forget = _awaited(Engine.forget)
    proposals = _awaited(Engine.proposals)
    accept = _awaited(Engine.accept)
    dismiss = _awaited(Engine.dismiss)
    undo = _awaited(Engine.undo)
    erase = _awaited(Engine.erase)
    recall = _awaited(Engine.recall)
    context = _awaited(Engine.context)
    memories = _awaited(Engine.memories)
    count_memories = _awaited(Engine.count_memories)
    namespaces = _awaited(Engine.namespaces)
    get = _awaited(Engine.get)
    history = _awaited(Engine.history)
    users = _awaited(Engine.users)
    set_user = _awaited(Engine.set_user)
    jobs = _awaited(Engine.jobs)
    rerun = _awaited(Engine.rerun)
    drain = _awaited(Engine.drain)
    purge_expired = _awaited(Engine.purge_expired)
    trust_clock = _awaited(Engine.trust_clock)
    spend = _awaited(Engine.spend)
    stats = _awaited(Engine.stats)
    doctor = _awaited(Engine.doctor)
    backup = _awaited(Engine.backup)
    traces = _awaited(Engine.traces)
    trace = _awaited(Engine.trace)
    explain = _awaited(Engine.explain)
    receipts = _awaited(Engine.receipts)
    scrub = _awaited(Engine.scrub)
    receipt = _awaited(Engine.receipt)
    export = _awaited(Engine.export)
    import_from = _awaited(Engine.import_from)
    _close = _awaited(Engine.close)

    def session(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        id: str | None = None,
        shared: bool = False,
        off_record: bool = False,
    ) -> Pending[AsyncSession]:
        """Start a session, or resume the session with this ``id``. With ``off_record``, nothing is stored.

        ``async with memory.session(user="ana") as session:`` ends the session when the block ends. ``await`` leaves it open.
        """

        async def start() -> AsyncSession:
            session = await self._session(user=user, app=app, agent=agent, id=id, shared=shared, off_record=off_record)
            return AsyncSession(session, self._pool)

        return Pending(start)

    def for_user(self, user: str, *, app: str | None = None, agent: str | None = None) -> AsyncScopedMemory:
        """Return a view of this memory for one user. It has the methods of the engine, without ``user``, ``app`` and ``agent``."""
        return AsyncScopedMemory(self._inner.for_user(user, app=app, agent=agent), self._pool)

    def __repr__(self) -> str:
        return repr(self._inner).replace("Engine", "AsyncEngine", 1)

    async def close(self) -> None:
        """Stop the worker and close the store. Queued work stays queued."""
        await self._close()
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def _same_arguments(
    model: Callable[P, Engine],
) -> Callable[[Callable[..., Pending[AsyncEngine]]], Callable[P, Pending[AsyncEngine]]]:
    """Return a decorator that gives a function the signature of ``model``, so that editors and type checkers show it."""

    def decorate(function: Callable[..., Pending[AsyncEngine]]) -> Callable[P, Pending[AsyncEngine]]:
        decorated = functools.wraps(model, assigned=(), updated=())(function)
        signature = inspect.signature(model).replace(return_annotation=Pending[AsyncEngine])
        decorated.__signature__ = signature  # type: ignore[attr-defined]
        return decorated

    return decorate


@_same_arguments(open_memory)
def open_async(*args: Any, **kwargs: Any) -> Pending[AsyncEngine]:
    """Open a memory for asyncio. Takes the arguments of ``holdfast.open``.

    ``async with holdfast.open_async() as memory:`` closes it when the block ends. ``await`` leaves it open.
    """

    async def opened() -> AsyncEngine:
        opening = functools.partial(open_memory, *args, **kwargs)
        return AsyncEngine(await asyncio.get_running_loop().run_in_executor(None, opening))

    return Pending(opened)
