"""A random sequence of operations on one memory, compared after each step with a simple model in Python."""

import contextlib
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

import holdfast
from holdfast import Engine
from holdfast.errors import Conflict, NotFound
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.text.clean import fold
from tests.places import Kind, a_place

USERS = st.sampled_from([None, "ana", "bob"])
WORDS = st.sampled_from(["tea", "Tea!", "parrot", "v2.5", "casa", "C++", "lives in Lyon", "red <b>"])
KEYS = st.sampled_from([None, "drink", "pet"])
SAID = st.sampled_from(["I live in Lyon.", "I have two daughters.", "Me gusta el té.", "What is this?", "hello there"])
STATEMENTS = {"I live in Lyon.", "I have two daughters.", "Me gusta el té."}
DAY = timedelta(days=1)


@dataclass
class Row:
    """The expected state of one memory."""

    id: str
    user: str | None
    kind: str
    key: str | None
    text: str
    live: bool = True
    revisions: int = 1
    forgotten_at: datetime | None = None
    sources: set[str] = field(default_factory=set)

    @property
    def identity(self) -> tuple[str | None, str, str, str]:
        return (self.user, self.kind, fold(self.key or ""), fold(self.text))


@dataclass
class Talk:
    """The expected state of one session."""

    user: str | None
    messages: list[tuple[str, str]] = field(default_factory=list)
    """Ids and texts of the messages that are not digested yet."""
    sure: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=set)
    last_at: datetime | None = None
    open: bool = True
    due: int = 0
    """Number of messages that are queued for digesting."""


def live_rows_are_listed(memory: Engine, rows: dict[str, Row]) -> None:
    for user in (None, "ana", "bob"):
        listed = {(m.id, m.text, m.key) for m in memory.memories(user=user, limit=1000)}
        assert listed == {(r.id, r.text, r.key) for r in rows.values() if r.live and r.user in (None, user)}


def histories_are_consistent(memory: Engine, rows: dict[str, Row]) -> None:
    for row in rows.values():
        history = memory.history(row.id)
        assert [change.revision for change in history] == list(range(1, row.revisions + 1))
        assert history[0].action == "created"
        latest = history[-1].after
        assert latest is not None
        assert (latest.text, latest.status == "live") == (row.text, row.live)
        assert all(change.after and change.after.id == row.id for change in history)


def counts_agree(memory: Engine, rows: dict[str, Row], talks: dict[str, Talk]) -> None:
    stats = memory.stats()
    assert stats.memories == sum(row.live for row in rows.values())
    # The messages of a purged memory may be removed with it.
    purged = sum(len(talk.perhaps) for talk in talks.values())
    assert 0 <= stats.messages - sum(len(talk.sure) for talk in talks.values()) <= purged
    assert sum(stats.sessions.values()) == len(talks)
    assert stats.jobs.get("dead", 0) == 0


def recall_finds_only_what_is_live(memory: Engine, rows: dict[str, Row]) -> None:
    for hit in memory.recall("tea parrot casa Lyon", user="ana", limit=20):
        assert 0 <= hit.score <= 1
        if hit.memory:
            assert rows[hit.id].live
            assert rows[hit.id].user in (None, "ana")


def the_doctor_is_content(memory: Engine) -> None:
    assert [finding for finding in memory.doctor() if not finding.ok] == []


class Life(RuleBasedStateMachine):
    memories = Bundle("memories")
    sessions = Bundle("sessions")
    kind: ClassVar[Kind] = "sqlite"

    @initialize()
    def begin(self) -> None:
        self.held = contextlib.ExitStack()
        folder = Path(self.held.enter_context(tempfile.TemporaryDirectory()))
        self.place = self.held.enter_context(a_place(self.kind, folder))
        self.clock = FrozenClock()
        self.rows: dict[str, Row] = {}
        self.talks: dict[str, Talk] = {}
        self.memory = self.open()

    def open(self) -> Engine:
        options = {"worker": "none", "embedder": HashEmbedder(dimensions=32), "clock": self.clock}
        return holdfast.open(**self.place.opening(**options))

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            self.held.close()

    def twin(self, row: Row) -> Row | None:
        return next((r for r in self.rows.values() if r.live and r.id != row.id and r.identity == row.identity), None)

    @rule(target=memories, text=WORDS, key=KEYS, user=USERS)
    def remember(self, text: str, key: str | None, user: str | None) -> str:
        made = self.memory.remember(text, key=key, user=user)
        self.remembered(Row(made.id, user, "fact", key, text))
        return made.id

    @rule(target=memories, text=WORDS, user=USERS)
    def remember_one_value(self, text: str, user: str | None) -> str:
        made = self.memory.remember(text, kind="profile", key="city", user=user)
        row = Row(made.id, user, "profile", "city", text)
        if row.id not in self.rows:
            for other in self.rows.values():
                if other.live and (other.user, other.kind, other.key) == (user, "profile", "city"):
                    other.live = False
                    other.revisions += 1
        self.remembered(row)
        return made.id

    def remembered(self, row: Row) -> None:
        """Update the expected state after ``remember``: the same text refreshes a memory, any other text adds one."""
        known = self.twin(row) or self.rows.get(row.id)
        if known is not None:
            assert known.id == row.id, "the same was stored twice"
            assert known.live
        else:
            self.rows[row.id] = row

    @rule(id=memories, text=WORDS)
    def revise(self, id: str, text: str) -> None:
        row = self.rows.get(id)
        if row is None or not row.live:
            with pytest.raises(NotFound):
                self.memory.revise(id, text)
        elif self.twin(Row(id, row.user, row.kind, row.key, text)):
            with pytest.raises(Conflict):
                self.memory.revise(id, text)
        else:
            self.memory.revise(id, text)
            row.text, row.revisions = text, row.revisions + 1

    @rule(id=memories)
    def forget(self, id: str) -> None:
        row = self.rows.get(id)
        if row is None:
            with pytest.raises(NotFound):
                self.memory.forget(id)
            return
        assert self.memory.forget(id) == (1 if row.live else 0)
        if row.live:
            row.live, row.revisions, row.forgotten_at = False, row.revisions + 1, self.clock.now()

    @rule(key=st.sampled_from(["drink", "pet"]), user=USERS)
    def forget_key(self, key: str, user: str | None) -> None:
        wanted = [r for r in self.rows.values() if r.live and r.key == key and r.user == user]
        if not wanted:
            with pytest.raises(NotFound):
                self.memory.forget(key=key, user=user)
            return
        assert self.memory.forget(key=key, user=user) == len(wanted)
        for row in wanted:
            row.live, row.revisions, row.forgotten_at = False, row.revisions + 1, self.clock.now()

    @rule(id=memories)
    def undo_a_forgetting(self, id: str) -> None:
        row = self.rows.get(id)
        if row is None or row.live or row.forgotten_at is None:
            return
        change = self.memory.history(id)[-1]
        if self.twin(row) or (row.kind == "profile" and self.one_value_taken(row)):
            with pytest.raises(Conflict):
                self.memory.undo(change)
            return
        batch = [r for r in self.rows.values() if r.forgotten_at == row.forgotten_at and r.key == row.key and r.user == row.user]
        try:
            undone = self.memory.undo(change)
        except Conflict:
            assert len(batch) > 1, "only another of the same batch could stand in the way"
            return
        for memory in undone:
            back = self.rows[memory.id]
            back.live, back.revisions, back.forgotten_at = True, back.revisions + 1, None

    def one_value_taken(self, row: Row) -> bool:
        return any(
            r.live and (r.user, r.kind, r.key) == (row.user, row.kind, row.key) for r in self.rows.values() if r.id != row.id
        )

    @rule(id=consumes(memories))
    def erase(self, id: str) -> None:
        if id not in self.rows:
            with pytest.raises(NotFound):
                self.memory.erase(id=id)
            return
        receipt = self.memory.erase(id=id)
        assert (receipt.memories, receipt.verified) == (1, True)
        self.rows.pop(id)

    @rule(user=st.sampled_from(["ana", "bob"]))
    def erase_user(self, user: str) -> None:
        receipt = self.memory.erase(user=user)
        assert receipt.memories == sum(row.user == user for row in self.rows.values())
        assert receipt.verified
        self.rows = {id: row for id, row in self.rows.items() if row.user != user}
        self.talks = {id: talk for id, talk in self.talks.items() if talk.user != user}

    @rule(target=sessions, user=USERS, text=SAID)
    def begin_talk(self, user: str | None, text: str) -> str:
        session = self.memory.session(user=user)
        self.talks[session.id] = Talk(user)
        self.say(session.id, text)
        return session.id

    @rule(id=sessions, text=SAID)
    def go_on_talking(self, id: str, text: str) -> None:
        if id in self.talks:
            self.say(id, text)

    def say(self, id: str, text: str) -> None:
        talk = self.talks[id]
        message = self.memory.session(id=id, user=talk.user, shared=talk.user is None).add("user", text)
        talk.messages.append((message.id, text))
        talk.sure.add(message.id)
        talk.last_at, talk.open = self.clock.now(), True

    @rule(id=sessions)
    def end_talk(self, id: str) -> None:
        if id in self.talks:
            self.memory.session(id=id).end()
            self.close_talk(self.talks[id])

    def close_talk(self, talk: Talk) -> None:
        talk.open, talk.due = False, len(talk.messages)

    @rule()
    def drain(self) -> None:
        self.memory.drain()
        for talk in self.talks.values():
            if talk.open and talk.last_at and self.clock.now() - talk.last_at >= timedelta(minutes=7):
                self.close_talk(talk)
        self.purge()
        self.digest()

    def purge(self) -> None:
        """Remove memories from the expected state 30 days after they were forgotten."""
        for row in [r for r in self.rows.values() if r.forgotten_at and self.clock.now() - r.forgotten_at > 30 * DAY]:
            del self.rows[row.id]
            for talk in self.talks.values():
                talk.perhaps |= talk.sure & row.sources
                talk.sure -= row.sources

    def digest(self) -> None:
        """Compare the extracted memories with the messages, and add them to the expected state."""
        for talk in self.talks.values():
            for source, text in talk.messages[: talk.due]:
                if text in STATEMENTS:
                    found = [
                        m
                        for m in self.memory.memories(user=talk.user, limit=1000)
                        if m.scope.user == talk.user and source in m.sources
                    ]
                    assert [fold(m.text) for m in found] == [fold(text)]
                    row = self.rows.setdefault(found[0].id, Row(found[0].id, talk.user, "fact", None, found[0].text))
                    row.revisions = len(self.memory.history(row.id))
                    row.sources.add(source)
            talk.messages, talk.due = talk.messages[talk.due :], 0

    @rule(step=st.sampled_from([timedelta(minutes=1), timedelta(hours=2), DAY, 31 * DAY]))
    def time_passes(self, step: timedelta) -> None:
        self.clock.advance(step)
        self.memory.trust_clock()  # a person confirms that the month is over

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.open()
        self.purge()

    @rule()
    def recall(self) -> None:
        recall_finds_only_what_is_live(self.memory, self.rows)

    @rule()
    def doctor(self) -> None:
        the_doctor_is_content(self.memory)

    @precondition(lambda self: hasattr(self, "memory"))
    @invariant()
    def memory_equals_model(self) -> None:
        live_rows_are_listed(self.memory, self.rows)
        histories_are_consistent(self.memory, self.rows)
        counts_agree(self.memory, self.rows, self.talks)


Life.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


class ShortLife(Life):
    """The test of ``Life`` with fewer examples, for the quick test run."""


class LifeOnPostgres(Life):
    kind = "postgres"


class LifeWithChroma(Life):
    kind = "chroma"


# Fewer examples: the rules are the same.
for _shorter in (ShortLife, LifeOnPostgres, LifeWithChroma):
    _shorter.TestCase.settings = settings(Life.TestCase.settings, max_examples=4, stateful_step_count=20)

TestLife = pytest.mark.long(pytest.mark.ledger("X3", "X6")(Life.TestCase))
TestShortLife = ShortLife.TestCase
TestLifeOnPostgres = pytest.mark.long(pytest.mark.ledger("X9")(LifeOnPostgres.TestCase))
TestLifeWithChroma = pytest.mark.long(LifeWithChroma.TestCase)
