"""The same engine, awaited: every call of :class:`Engine` and :class:`Session` on a bounded pool of threads.

Nothing is written twice: a method here has the signature of its namesake and runs it. A cancelled await does
not tear a write in half; the thread finishes what it began.
"""

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from holdfast.apps import Apps
from holdfast.config import open_engine
from holdfast.engine import Engine
from holdfast.files import TopicPages
from holdfast.session import Session

P = ParamSpec("P")
R = TypeVar("R")
_THREADS = 8


def _awaited(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """Return the awaited form of a method, its signature and docstring kept."""

    @functools.wraps(method)
    async def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        # In the caller's context, so that what is traced there finds its parent.
        work = functools.partial(contextvars.copy_context().run, method, self._inner, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    return cast("Callable[Concatenate[Any, P], Awaitable[R]]", call)


class AsyncSession:
    """A conversation, awaited."""

    def __init__(self, session: Session, pool: ThreadPoolExecutor) -> None:
        self._inner = session
        self._pool = pool
        self.id = session.id
        self.scope = session.scope
        self.off_record = session.off_record

    begin = _awaited(Session.begin)
    add = _awaited(Session.add)
    messages = _awaited(Session.messages)
    recall = _awaited(Session.recall)
    context = _awaited(Session.context)
    window = _awaited(Session.window)
    clear_window = _awaited(Session.clear_window)
    learn = _awaited(Session.learn)
    end = _awaited(Session.end)


class AsyncApps:
    """The apps of a memory, awaited."""

    def __init__(self, apps: Apps, pool: ThreadPoolExecutor) -> None:
        self._inner = apps
        self._pool = pool

    install = _awaited(Apps.install)
    share = _awaited(Apps.share)
    list = _awaited(Apps.list)
    get = _awaited(Apps.get)
    memories = _awaited(Apps.memories)
    uninstall = _awaited(Apps.uninstall)
    purge = _awaited(Apps.purge)
    of_conversation = _awaited(Apps.of_conversation)
    context = _awaited(Apps.context)
    metrics = _awaited(Apps.metrics)


class AsyncTopics:
    """The topics of a memory, awaited."""

    def __init__(self, topics: TopicPages, pool: ThreadPoolExecutor) -> None:
        self._inner = topics
        self._pool = pool

    list = _awaited(TopicPages.list)
    page = _awaited(TopicPages.page)
    edit = _awaited(TopicPages.edit)


class AsyncEngine:
    """A memory, awaited. ``holdfast.open_async()`` makes one."""

    def __init__(self, engine: Engine) -> None:
        self._inner = engine
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="holdfast")
        self.apps = AsyncApps(engine.apps, self._pool)
        self.topics = AsyncTopics(engine.topics, self._pool)

    _session = _awaited(Engine.session)
    sessions = _awaited(Engine.sessions)
    remember = _awaited(Engine.remember)
    revise = _awaited(Engine.revise)
    forget = _awaited(Engine.forget)
    undo = _awaited(Engine.undo)
    erase = _awaited(Engine.erase)
    recall = _awaited(Engine.recall)
    context = _awaited(Engine.context)
    memories = _awaited(Engine.memories)
    count_memories = _awaited(Engine.count_memories)
    get = _awaited(Engine.get)
    history = _awaited(Engine.history)
    users = _awaited(Engine.users)
    set_user = _awaited(Engine.set_user)
    jobs = _awaited(Engine.jobs)
    rerun = _awaited(Engine.rerun)
    drain = _awaited(Engine.drain)
    clean_up = _awaited(Engine.clean_up)
    spend = _awaited(Engine.spend)
    stats = _awaited(Engine.stats)
    doctor = _awaited(Engine.doctor)
    backup = _awaited(Engine.backup)
    _close = _awaited(Engine.close)

    async def session(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        id: str | None = None,
        off_record: bool = False,
    ) -> AsyncSession:
        """Begin a conversation, or resume the one with this ``id``. Off the record leaves nothing behind."""
        session = await self._session(user=user, app=app, agent=agent, id=id, off_record=off_record)
        return AsyncSession(session, self._pool)

    async def close(self) -> None:
        """Stop the worker and close the store; queued work stays queued."""
        await self._close()
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class _Opening:
    """Lets ``await open_async()`` and ``async with open_async()`` both work."""

    def __init__(self, opening: Callable[[], Engine]) -> None:
        self._opening = opening
        self._engine: AsyncEngine | None = None

    async def _open(self) -> AsyncEngine:
        return AsyncEngine(await asyncio.get_running_loop().run_in_executor(None, self._opening))

    def __await__(self) -> Any:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncEngine:
        self._engine = await self._open()
        return self._engine

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._engine is not None:
            await self._engine.close()


def _same_arguments(model: Callable[P, Engine]) -> Callable[[Callable[..., _Opening]], Callable[P, _Opening]]:
    """Give a function the arguments of another, for readers and type checkers alike."""

    def dress(function: Callable[..., _Opening]) -> Callable[P, _Opening]:
        return functools.wraps(model, assigned=("__doc__",), updated=())(function)

    return dress


@_same_arguments(open_engine)
def open_async(*args: Any, **kwargs: Any) -> _Opening:
    """Open a memory whose calls are awaited; takes what ``holdfast.open`` takes."""
    return _Opening(functools.partial(open_engine, *args, **kwargs))
