"""Hosts of the five designs. A host is the program of an assistant that uses Holdfast as its memory.

Each class calls the public interface of one design as the design's author would. A host runs in its own process, which
the story may kill. Background work runs between the turns, so that a story always has the same result.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from holdfast.chat import ChatModel
from holdfast.designs import apps, lobug, reachy, rostro, rumi
from holdfast.engine import Engine
from holdfast.presets import PRESETS
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.text.clean import count_tokens
from holdfast_bench.story.model import StoryModel
from holdfast_bench.story.script import Fact, Session, Story, Turn
from holdfast_bench.story.words import says

_FILE: Final = "memory.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The arguments with which a host opens its store."""

    story: Story
    folder: Path
    clock: FrozenClock
    model: StoryModel | None = None
    """The scripted model, or None for a story without a model."""
    embedder: str = "none"

    @property
    def chat(self) -> ChatModel | Literal["none"]:
        """The chat model of the engine."""
        return "none" if self.model is None else self.model.chat

    @property
    def opening(self) -> dict[str, Any]:
        """The arguments of ``holdfast.open``."""
        return {"embedder": self.embedder, "clock": self.clock, "worker": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The texts that a design shows and stores at the end of a day."""

    asked: dict[str, list[str]]
    """Maps the id of each fact to the lines that are shown for the questions about it.

    This includes lines that are shown for every question.
    """
    documents: list[str]
    """Stored texts that should contain no small talk: the base document, pages, facts or paragraphs."""
    live: list[str]
    """Texts of the memories in use."""
    retired: list[str]
    """Texts of the memories that were superseded, forgotten or dropped."""
    over: list[str] = field(default_factory=list)
    """One description for each exceeded limit of the design."""


class Host(ABC):
    """A program that uses one design, with an open store."""

    kills_at_end = False
    """True if a kill during a session interrupts the end of the session, False if it interrupts a turn in the middle.

    It is True for a design that does its work at the end of a session.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    @property
    @abstractmethod
    def engines(self) -> Sequence[Engine]:
        """The open engines."""

    @abstractmethod
    def turn(self, session: Session, turn: Turn) -> None:
        """Receive one message of a session."""

    def end(self, session: Session) -> None:
        """End a session."""
        del session
        self.work()

    @abstractmethod
    def shown(self, question: str, fact: Fact) -> list[str]:
        """Return the lines that the design would show to a model for a question."""

    @abstractmethod
    def documents(self) -> list[str]:
        """Return the stored texts of the design, such as its topic pages. They must not contain small talk."""

    @abstractmethod
    def over(self) -> list[str]:
        """Return one description for each exceeded limit of the design, such as the maximum size of the context block."""

    def work(self) -> None:
        """Run the background work that is due."""
        for engine in self.engines:
            engine.drain()

    def close(self) -> None:
        """Close the store."""
        for engine in self.engines:
            engine.close()

    def observe(self, facts: Iterable[Fact]) -> Observation:
        """Ask the questions about the given facts. Return the answers, and the other texts of the design that are scored."""
        documents, over = self.documents(), self.over()
        live, retired = self._texts(("live",)), self._texts(("superseded", "forgotten", "expired"))
        asked = {fact.id: self._asked(fact) for fact in facts}
        return Observation(asked=asked, documents=documents, live=live, retired=retired, over=over)

    def _asked(self, fact: Fact) -> list[str]:
        return [line for question in fact.ask or (fact.says,) for line in self.shown(question, fact)]

    def told(self, fact: Fact) -> list[Session]:
        """Return the past sessions in which a fact was stated, up to the current time of the story."""
        now = self.setup.clock.now()
        return [
            session
            for session in self.setup.story.sessions
            if session.at <= now and any(fact.id in turn.facts for turn in session.turns)
        ]

    def tellers(self, fact: Fact) -> list[str]:
        """Return the people who stated a fact. Only they are asked about it, because people do not see each other's memories."""
        return sorted({session.person for session in self.told(fact)})

    def _texts(self, statuses: Sequence[Any]) -> list[str]:
        store = services(self.engines[0]).store
        found = store.memories(MemoryFilter(statuses=statuses))
        return [f"{memory.key}: {memory.text}" if memory.key else memory.text for memory in found]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _above(name: str, count: float, limit: float) -> list[str]:
    return [f"{name}: {count:g} of at most {limit:g}"] if count > limit else []


class RumiHost(Host):
    """Rumi: facts are extracted when a session ends, and the prompt contains all of them."""

    kills_at_end = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._store = rumi.MemoryStore(setup.folder / _FILE, **setup.opening, chat=setup.chat)
        self._manager = rumi.MemoryManager(self._store)
        registry = rumi.ToolRegistry()
        registry.register(rumi.RememberTool(self._manager))
        registry.register(rumi.ForgetTool(self._manager))
        self._agent = rumi.AgentLoop(tools=registry, memory=self._manager)
        self._store.init_db()

    @property
    def engines(self) -> Sequence[Engine]:  # noqa: D102
        return [self._store.engine]

    def turn(self, session: Session, turn: Turn) -> None:  # noqa: D102
        del session
        if turn.role == "user":
            asyncio.run(self._agent.build_system_prompt())

    def end(self, session: Session) -> None:  # noqa: D102
        roles = {"noise": "user", "web": "tool"}
        messages = [rumi.Message(roles.get(turn.role, turn.role), turn.text) for turn in session.turns]
        asyncio.run(self._agent.on_session_end(messages))
        self.work()

    def shown(self, question: str, fact: Fact) -> list[str]:  # noqa: D102
        del question, fact
        return _lines(self._manager.format_for_prompt(self._manager.load_all()))

    def documents(self) -> list[str]:  # noqa: D102
        return [fact.value for fact in self._store.get_all()]

    def over(self) -> list[str]:  # noqa: D102
        block = self._manager.format_for_prompt(self._manager.load_all())
        return _above("tokens of the block", count_tokens(block), PRESETS["rumi"].context_tokens)


class LobugHost(Host):
    """Lo-Bug: one endless conversation, with background work after each reply."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._db = lobug.MemoryDB(setup.folder / _FILE, **setup.opening, chat=setup.chat)
        self._memory = lobug.MemoryManager(db=self._db)
        self._conversation = lobug.ConversationManager(memory_manager=self._memory)
        self._conversation.reload_from_db(self._db)
        self._said = ""

    @property
    def engines(self) -> Sequence[Engine]:  # noqa: D102
        return [self._db.engine]

    def turn(self, session: Session, turn: Turn) -> None:  # noqa: D102
        del session
        match turn.role:
            case "user":
                self._conversation.add_message("user", turn.text)
                self._db.append_message("user", turn.text)
                self._conversation.build_messages()
                self._said = turn.text
            case "assistant":
                self._conversation.add_message("assistant", turn.text)
                self._db.append_message("assistant", turn.text)
                if self._said:
                    self._memory.process_exchange(self._said, turn.text)
                self._said = ""
            case "noise":
                self._db.append_message("user", turn.text, action="IGNORE")
            case _:
                self._db.append_message("tool", turn.text)

    def shown(self, question: str, fact: Fact) -> list[str]:  # noqa: D102
        del fact
        return _lines(self._memory.retrieve_context(question).prompt)

    def documents(self) -> list[str]:  # noqa: D102
        return [self._memory.get_base_memory()]

    def over(self) -> list[str]:  # noqa: D102
        words = len(self._memory.get_base_memory().split())
        return _above("words of the base document", words, 400) + _above(
            "messages in the window", len(self._db.session.window()), 20
        )


class RostroHost(Host):
    """Rostro: a voice assistant. A conversation ends when it is idle. Memories extracted from it are stored on topic pages."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        people = setup.story.people
        self._managers = {person.id: self._open(person.id) for person in people}
        for person in people:
            self._managers[person.id].engine.set_user(person.id, timezone=person.timezone)

    def _open(self, user: str) -> rostro.MemoryManager:
        folder = self.setup.folder  # a relative path would be in the current directory
        config = rostro.RostroSettings(db_path=str(folder / _FILE), topics_dir=str(folder / "topics"))
        return rostro.MemoryManager(config, self.setup.chat, self.setup.embedder, user=user, **self._rest)

    @property
    def _rest(self) -> dict[str, Any]:
        return {name: value for name, value in self.setup.opening.items() if name != "embedder"}

    @property
    def engines(self) -> Sequence[Engine]:  # noqa: D102
        return [manager.engine for manager in self._managers.values()]

    def turn(self, session: Session, turn: Turn) -> None:  # noqa: D102
        manager = self._managers[session.person]
        match turn.role:
            case "user" | "noise":
                manager.on_user_message(turn.text)
                manager.get_context(persona="You are Rostro.")
                manager.engine.drain()  # the topic is detected while the assistant answers
            case "assistant":
                manager.on_assistant_message(turn.text)
            case _:  # the design has no call for the results of tools
                pass

    def shown(self, question: str, fact: Fact) -> list[str]:  # noqa: D102
        lines: list[str] = []
        for person in self.tellers(fact):
            manager = self._managers[person]
            manager.on_user_message(question)
            lines += _lines(manager.get_context())
            manager.engine.drain()
            lines += _lines(manager.get_context())  # with the topic's page, if there is one
            manager.close_session()
        return lines

    def documents(self) -> list[str]:  # noqa: D102
        return [page.read_text("utf-8") for page in sorted((self.setup.folder / "topics").rglob("*.md"))]

    def over(self) -> list[str]:  # noqa: D102
        limit = PRESETS["rostro"].context_tokens
        tokens = max(count_tokens(manager.get_context()) for manager in self._managers.values())
        lines = [sum(line.startswith("- ") for line in page.splitlines()) for page in self.documents()]
        return _above("tokens of the prompt", tokens, limit) + _above("lines of a page", max(lines, default=0), 50)


class ReachyHost(Host):
    """Reachy: the robot's model stores memories with tools. Without a model, only explicit wishes are stored."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        people = setup.story.people
        self._managers = {
            person.id: reachy.MemoryManager(setup.folder, user=person.id, **setup.opening, chat="none") for person in people
        }
        for person in people:
            self._managers[person.id].engine.set_user(person.id, timezone=person.timezone)

    @property
    def engines(self) -> Sequence[Engine]:  # noqa: D102
        return [manager.engine for manager in self._managers.values()]

    def turn(self, session: Session, turn: Turn) -> None:  # noqa: D102
        roles = {"noise": "user", "web": "tool"}
        self._managers[session.person].add_to_context_window(roles.get(turn.role, turn.role), turn.text)

    def end(self, session: Session) -> None:  # noqa: D102
        if self.setup.model is not None and not self.setup.model.down:
            asyncio.run(self._store(session))
        self.work()

    async def _store(self, session: Session) -> None:
        """Store the facts of a session with the design's tools, as the robot's model would. Forget replaced facts first."""
        reachy.use_manager(self._managers[session.person])
        for made in session.model.facts:
            for id in made.replaces:
                await self._forget(self.setup.story.facts[id])
            await reachy.store_memory(made.text, "fact")

    async def _forget(self, fact: Fact) -> None:
        for found in await reachy.search_memories(fact.says, "fact"):
            if says(found["content"], fact.find):
                await reachy.forget_memory(found["id"])

    def shown(self, question: str, fact: Fact) -> list[str]:  # noqa: D102
        managers = [self._managers[person] for person in self.tellers(fact)]
        return [each.memory.content for manager in managers for each in asyncio.run(manager.search(question))]

    def documents(self) -> list[str]:  # noqa: D102
        store = services(self.engines[0]).store
        return [memory.text for memory in store.memories(MemoryFilter(kinds=("fact",)))]

    def over(self) -> list[str]:  # noqa: D102
        windows = [len(manager.get_context_window()) for manager in self._managers.values()]
        return _above("messages in the window", max(windows), PRESETS["reachy"].window)


class AppsHost(Host):
    """Apps: one memory per conversation, at most ten memories per app, and the app's context block in every prompt."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._agent = apps.MemorySubAgent(setup.folder / _FILE, model=setup.chat, **setup.opening)
        self._loop = apps.SensitiveLoop(self._agent)
        self._apps = sorted({_app(session) for session in setup.story.sessions})

    @property
    def engines(self) -> Sequence[Engine]:  # noqa: D102
        return [self._agent.engine]

    def turn(self, session: Session, turn: Turn) -> None:  # noqa: D102
        roles = {"noise": "user", "web": "tool"}
        talk = self._agent.engine.session(id=f"conversation-{session.number}", app=_app(session))
        talk.add(roles.get(turn.role, turn.role), turn.text, origin="web" if turn.role == "web" else None)

    def end(self, session: Session) -> None:  # noqa: D102
        asyncio.run(self._loop.on_conversation_end(f"conversation-{session.number}", "ended by the user"))
        self.work()

    def shown(self, question: str, fact: Fact) -> list[str]:  # noqa: D102
        del question
        told = sorted({_app(session) for session in self.told(fact)})
        return [line for app in told for line in _lines(self._block(app))]

    def _block(self, app: str) -> str:
        return self._loop.format_memories_for_context(self._loop.get_memories_for_app(app))

    def documents(self) -> list[str]:  # noqa: D102
        return [memory.content for app in self._apps for memory in self._agent.get_memories(app)]

    def over(self) -> list[str]:  # noqa: D102
        counts = max(self._agent.get_memory_count(app) for app in self._apps)
        tokens = max(count_tokens(self._block(app)) for app in self._apps)
        limit = PRESETS["apps"].context_tokens
        return _above("memories of an app", counts, 10) + _above("tokens of the block", tokens, limit)


def _app(session: Session) -> str:
    return session.app or "app"


HOSTS: Final[dict[str, type[Host]]] = {
    "rumi": RumiHost,
    "lobug": LobugHost,
    "rostro": RostroHost,
    "reachy": ReachyHost,
    "apps": AppsHost,
}
