"""Facts with free-form keys: the store, and the manager that extracts and formats them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from holdfast import types
from holdfast.chat import ChatModel
from holdfast.config.opening import open_engine
from holdfast.designs.numbers import number_of, resolve
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, NotFound
from holdfast.presets.settings import RumiSettings
from holdfast.recall.context.sections import render_sections
from holdfast.recall.later import with_later
from holdfast.services import services

__all__ = ["Fact", "LLMClient", "MemoryManager", "MemoryStore", "Message"]

_DEFAULTS = RumiSettings()
_ALL = 1_000_000

LLMClient: TypeAlias = str | ChatModel | Callable[..., Any]
"""A chat model: its name, an object, or a function from messages to text."""


class _HasContent(Protocol):
    """Any object with a ``role`` and a ``content``, such as a message of the calling program."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation. Any object or mapping with ``role`` and ``content`` can be used instead."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact with a key and a value. The ``id`` is None until the fact is stored.

    ``created_at`` is for imports: if it is given, the fact is stored with this date.
    """

    id: int | None = None
    key: str
    value: str
    source: str = "auto"
    created_at: str | None = None
    updated_at: str | None = None


class MemoryStore:
    """Stores facts in one database file."""

    def __init__(self, db_path: str | Path = _DEFAULTS.db_path, **opening: Any) -> None:
        """Set the database file, which is opened on first use. ``opening`` are further arguments of ``holdfast.open``."""
        self._settings = RumiSettings(db_path=str(db_path))
        self._opening = opening
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine, opened on first access."""
        if self._engine is None:
            self._engine = open_engine(settings=self._settings, **self._opening)
        return self._engine

    def init_db(self) -> None:
        """Open the file, or create it if it does not exist."""
        assert self.engine

    def use(self, llm: LLMClient) -> None:
        """Set the chat model that extracts facts. This closes the file. The next use opens it again."""
        self.close()
        self._opening = {**self._opening, "chat": llm}

    def save_fact(self, fact: Fact) -> Fact:
        """Store a fact. If the same key and value are already stored, only the date is refreshed."""
        origin: types.MemoryOrigin = "explicit" if fact.source == "explicit" else "auto"
        kept = self.engine.remember(fact.value, key=fact.key, origin=origin, created_at=fact.created_at)
        return _as_fact(self.engine, kept)

    def save_facts(self, facts: Sequence[Fact]) -> int:
        """Store several facts and return their number."""
        return len([self.save_fact(fact) for fact in facts])

    def get_all(self) -> list[Fact]:
        """Return all facts, oldest first."""
        return _oldest_first(self.engine, self.engine.memories(limit=_ALL))

    def get_by_key(self, key: str) -> list[Fact]:
        """Return the facts with a key, oldest first."""
        return _oldest_first(self.engine, self.engine.memories(key=key, limit=_ALL))

    def delete(self, fact_id: int | str) -> bool:
        """Forget a fact by its integer id or by the engine's id. Return False if it does not exist."""
        if isinstance(fact_id, bool) or not isinstance(fact_id, int | str):
            raise InvalidInput(f"fact_id must be an integer, not {type(fact_id).__name__}.")
        found = resolve(self.engine, fact_id, self.engine.memories(limit=_ALL))
        if found is None:
            return False
        try:
            return self.engine.forget(found) > 0
        except NotFound:
            return False

    def delete_by_key(self, key: str) -> int:
        """Forget the facts with a key and return their number."""
        try:
            return self.engine.forget(key=key)
        except NotFound:
            return 0

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


class MemoryManager:
    """Extracts facts, stores them, and formats them for the prompt. Without ``llm``, facts are extracted by rules."""

    def __init__(self, store: MemoryStore, llm: LLMClient | None = None) -> None:
        """Use a store and optionally a chat model, given as a name, an object, or a function from messages to text."""
        self.store = store
        if llm is not None:
            store.use(llm)

    def load_all(self) -> list[Fact]:
        """Return all facts for the prompt. This counts as use, so that the facts do not expire."""
        engine = self.store.engine
        memories = engine.memories(limit=_ALL)
        services(engine).reader.uses.note(memories)
        return _oldest_first(engine, memories)

    def format_for_prompt(self, facts: Sequence[Fact]) -> str:
        """Return the facts as text for the system prompt, or an empty text if there are no facts."""
        layout, now = self.store.engine.preset.layout, services(self.store.engine).clock.now()
        assert layout is not None
        later = self._later()
        hits = [types.Hit(memory=_as_memory(fact, now), score=1.0, later=later.get(fact.id, ())) for fact in facts]
        return render_sections(layout, lambda _: hits, max_tokens=_ALL, values={}, now=now).text

    def _later(self) -> dict[int | None, tuple[str, ...]]:
        """Map the numbers of facts to the later sentences that may have made them outdated."""
        engine = self.store.engine
        memories = [memory for memory in engine.memories(limit=_ALL) if types.SAID_LATER in memory.metadata]
        if not memories:
            return {}
        hits = [types.Hit(memory=memory, score=1.0) for memory in memories]
        found = with_later(services(engine).store, hits, memories[0].scope, min_trust=engine.preset.min_trust)
        return {number_of(engine, memory): hit.later for memory, hit in zip(memories, found, strict=True)}

    async def extract_from_conversation(self, messages: Sequence[Mapping[str, str] | _HasContent]) -> list[Fact]:
        """Extract the lasting facts from a finished conversation, store them, and return them.

        Each message has a ``role`` and a ``content``, as attributes or as keys.
        """
        said = [_said(message, number) for number, message in enumerate(messages)]
        return await asyncio.to_thread(self._extract, said)

    def _extract(self, messages: Sequence[tuple[str, str]]) -> list[Fact]:
        engine = self.store.engine
        session = engine.session()
        message_ids = {session.add(role, content).id for role, content in messages}
        session.end()
        engine.drain()
        learned = [memory for memory in engine.memories(limit=_ALL) if not message_ids.isdisjoint(memory.sources)]
        return _oldest_first(engine, learned)

    def remember(self, text: str) -> Fact:
        """Store a text at the user's request. A text ``key: value`` is split. Any other text is stored under the key ``nota``."""
        return _as_fact(self.store.engine, self.store.engine.remember(text))

    def forget(self, key: str) -> int:
        """Forget the facts with a key and return their number."""
        return self.store.delete_by_key(key)


def _said(message: Mapping[str, str] | _HasContent, number: int) -> tuple[str, str]:
    """Return the role and the content of a message. Raise InvalidInput if one of them is missing.

    ``number`` is the position of the message in its list, for the error message.
    """
    given = message.get if isinstance(message, Mapping) else lambda name: getattr(message, name, None)
    role, content = given("role"), given("content")
    if not isinstance(role, str) or not isinstance(content, str):
        raise InvalidInput(f"messages[{number}] needs a role and a content. Nothing was stored.")
    return role, content


def _oldest_first(engine: Engine, memories: Sequence[types.Memory]) -> list[Fact]:
    """Return facts in the order in which they were first stored."""
    return [_as_fact(engine, memory) for memory in sorted(memories, key=lambda memory: (memory.created_at, memory.id))]


def _as_fact(engine: Engine, memory: types.Memory) -> Fact:
    return Fact(
        id=number_of(engine, memory),
        key=memory.key or "",
        value=memory.text,
        source=_source(memory),
        created_at=_stamp(memory.created_at),
        updated_at=_stamp(max(memory.updated_at, memory.last_seen_at or memory.updated_at)),
    )


def _source(memory: types.Memory) -> str:
    """Return the source of a memory, ``auto`` or ``explicit``. An imported fact has the source from the design's own file."""
    source = memory.metadata.get("source") if memory.origin == "import" else memory.origin
    return "auto" if source == "auto" else "explicit"


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _as_memory(fact: Fact, now: datetime) -> types.Memory:
    return types.Memory(
        id="" if fact.id is None else str(fact.id),
        scope=types.Scope(),
        kind="fact",
        key=fact.key,
        text=fact.value,
        created_at=now,
        updated_at=now,
        valid_from=now,
        recorded_at=now,
    )
