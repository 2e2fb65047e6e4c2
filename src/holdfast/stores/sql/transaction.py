"""A write transaction of the SQL stores. It keeps the rows, full-text index, embedding queue and history consistent.

The embedding queue lists the chunks that have no vector yet.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from holdfast.stores.sql import partitions
from holdfast.stores.sql.connection import Connection, fetch, fetch_one, fetch_value, upsert
from holdfast.stores.sql.indexes import IndexedText, TextIndex, VectorTable
from holdfast.stores.sql.jobs import JobWrites
from holdfast.stores.sql.reads import SQLReads
from holdfast.stores.sql.rows import (
    APP_COLUMNS,
    CHANGE_COLUMNS,
    MEMORY_COLUMNS,
    MESSAGE_COLUMNS,
    SEARCHED_TEXT,
    SESSION_COLUMNS,
    SPEND_COLUMNS,
    app_row,
    change_row,
    dump,
    from_time,
    marks,
    memory_hash,
    memory_row,
    message_hash,
    message_row,
    searched_text,
    session_row,
    stamp,
    to_message,
)
from holdfast.stores.sql.traces import TraceWrites
from holdfast.text.dates import day_in_words
from holdfast.types import OFF_RECORD, AppRecord, ChangeRecord, Memory, Message, Scope, SessionRecord, Spend, UserProfile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SQLTransaction(SQLReads, JobWrites, TraceWrites):
    """A write transaction on a SQL store. The store commits it."""

    _text: TextIndex
    _vectors: VectorTable
    _by_partition: ClassVar[tuple[str, ...]]
    """Tables whose rows belong to a partition, and are removed with it. The table ``partitions`` itself comes last."""

    def __init__(self, connection: Connection, *, tenant: str) -> None:
        self._connection = connection
        self.tenant = tenant

    @property
    def connection(self) -> Connection:
        """The connection of the transaction."""
        return self._connection

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        self._insert("sessions", SESSION_COLUMNS, session_row(session))

    def set_session(self, session: SessionRecord) -> None:
        """Replace the record of a session."""
        self._connection.execute(upsert("sessions", SESSION_COLUMNS, key=4), (self.tenant, *session_row(session)))

    def add_message(self, message: Message) -> Message:
        """Store a message, index its text and queue it for embedding. Return the message with its sequence number."""
        stored = replace(message, seq=self.new_seqs(message.scope, 1)[0])
        self.add_messages([stored])
        return stored

    def new_seqs(self, scope: Scope, count: int) -> Sequence[int]:  # noqa: ARG002  (PostgreSQL locks the user)
        """Return ``count`` new sequence numbers for messages, in ascending order. :meth:`add_messages` stores the messages."""
        return partitions.next_numbers(self._connection, "item", count)

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Store messages of one scope, index their texts, and queue them for embedding. They must already have sequence numbers.

        The rows of all messages are written by a few bulk statements, because other writers wait for the transaction.
        """
        partition = partitions.ensure(self._connection, messages[0].scope, "message")
        sql = f"INSERT INTO messages (tenant, {MESSAGE_COLUMNS}) VALUES (?, {marks(MESSAGE_COLUMNS.split(','))})"
        self._connection.executemany(sql, [(self.tenant, *message_row(message, partition)) for message in messages])
        self._index_messages(partition, messages)
        withheld = [message.id for message in messages if message.action == OFF_RECORD]
        if withheld:  # a context for them may have been built before they were stored
            self.remove_traces_of_messages(withheld)

    def _index_messages(self, partition: int, messages: Sequence[Message]) -> None:
        """Index messages by their text, speaker and day. A reply is also found by the question that it answers.

        Messages that have only a payload or are off the record are not indexed.
        """
        texts = []
        for message in messages:
            if message.text.strip() and message.action != OFF_RECORD:
                heading = f"{message.speaker or ''} {day_in_words(message.at, message.language)} {message.asked or ''}"
                texts.append(IndexedText(message.seq, message.text, message.language, heading))
        if texts:
            self._index(partition, texts)

    def _detach_replies(self, questions: Sequence[int]) -> None:
        """Remove the text of these questions from the replies to them. ``questions`` are sequence numbers of messages.

        A reply stores the text of the question that it answers, and is indexed with this text. Both are removed, so the reply is
        then found only by its own text.
        """
        sql = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE tenant = ? AND answers IN ({marks(questions)})"
        for row in fetch(self._connection, sql, (self.tenant, *questions)) if questions else ():
            self._unindex(row[0])
            self._connection.execute(
                "UPDATE messages SET asked = NULL, answers = NULL WHERE tenant = ? AND seq = ?", (self.tenant, row[0])
            )
            reply = to_message(row, partitions.scopes_of(self._connection, self.tenant, [row[3]]))
            self._index_messages(row[3], [replace(reply, asked=None)])

    def add_revision(self, memory: Memory) -> Memory:
        """Store a new current revision of a memory. The previous revision is archived, with its terms and vectors."""
        connection = self._connection
        before = fetch_one(
            connection,
            f"SELECT item, revision, partition, {SEARCHED_TEXT} FROM memories WHERE tenant = ? AND id = ? AND recorded_to IS NULL",
            (self.tenant, memory.id),
        )
        item = partitions.next_number(connection, "item")
        stored = replace(memory, item=item, revision=before[1] + 1 if before else memory.revision, recorded_to=None)
        partition = partitions.ensure(connection, stored.scope, "memory" if stored.status == "live" else "archive")
        if before:
            self._close_revision(before[0], stored)
        self._insert("memories", MEMORY_COLUMNS, memory_row(stored, partition))
        self._note_sources(stored)
        text = searched_text(stored)
        if before and before[3] == text:
            self._text.move(connection, self.tenant, before[0], item, partition)
            self._vectors.move(connection, self.tenant, (before[2], before[0]), (partition, item))
        else:
            if before:
                self._archive_text(before[0], before[2], stored)
            if text.strip():
                heading = day_in_words(stored.valid_from, stored.language)
                self._index(partition, [IndexedText(item, text, stored.language, heading)])
        return stored

    def _close_revision(self, item: int, successor: Memory) -> None:
        self._connection.execute(
            "UPDATE memories SET recorded_to = ? WHERE tenant = ? AND item = ?", (stamp(successor.recorded_at), self.tenant, item)
        )

    def _archive_text(self, item: int, partition: int, successor: Memory) -> None:
        """Move the index entries of an old revision to the archive partition, which ordinary searches do not read.

        ``item`` is the item number of the old revision, and ``partition`` the number of its partition. ``successor`` is the
        new revision, whose scope selects the archive partition.
        """
        archive = partitions.ensure(self._connection, successor.scope, "archive")
        if archive != partition:
            self._text.move(self._connection, self.tenant, item, item, archive)
            self._vectors.move(self._connection, self.tenant, (partition, item), (archive, item))

    def _note_sources(self, memory: Memory) -> None:
        self._connection.executemany(
            "INSERT INTO provenance (tenant, source, memory) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(self.tenant, source, memory.id) for source in memory.sources],
        )

    def _index(self, partition: int, texts: Sequence[IndexedText]) -> None:
        chunks = self._text.index(self._connection, self.tenant, partition, texts)
        self._vectors.want(self._connection, self.tenant, partition, chunks)

    def touch(self, ids: Collection[str], *, used: datetime | None = None, seen: datetime | None = None) -> None:
        """Record when memories were last used by a recall (``used``), or last stated again (``seen``)."""
        for column, moment in (("last_used_at", used), ("last_seen_at", seen)):
            if moment is not None:
                self._update_present(column, stamp(moment), ids)

    def set_action(self, messages: Collection[str], action: str | None, *, instead_of: str | None = None) -> None:
        """Set the action of messages. Only messages whose current action is ``instead_of`` (None for no action) are changed.

        An action is a marker such as ``forgotten``. A message with an action is used neither for extraction nor for recall. If
        the new action marks messages as off the record, they are also removed from the indexes.
        """
        present, values = ("action IS NULL", ()) if instead_of is None else ("action = ?", (instead_of,))
        for batch in batches(messages):
            rows = fetch(
                self._connection,
                f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE tenant = ? AND id IN ({marks(batch)}) AND {present}",
                (self.tenant, *batch, *values),
            )
            for row in rows:
                marked = (*row[:10], action, *row[11:])
                self._connection.execute(
                    "UPDATE messages SET action = ?, hash = ? WHERE tenant = ? AND seq = ?",
                    (action, message_hash(marked), self.tenant, row[0]),
                )
                if action == OFF_RECORD:
                    self._unindex(row[0])
            self._detach_replies([row[0] for row in rows])
            if action is not None:
                self.remove_traces_of_messages([row[1] for row in rows])

    def set_expiry(self, ids: Collection[str], expires_at: datetime | None) -> None:
        """Set the expiry time of memories, without a new revision. None means that they never expire."""
        self._update_present("expires_at", from_time(expires_at), ids)

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Remove all sources of a memory except the given ones, in every revision of the memory."""
        place = MEMORY_COLUMNS.split(", ").index("sources")
        for found in fetch(
            self._connection, f"SELECT {MEMORY_COLUMNS} FROM memories WHERE tenant = ? AND id = ?", (self.tenant, id)
        ):
            row = list(found)
            row[place] = dump([source for source in json.loads(row[place]) if source in sources])
            self._connection.execute(
                "UPDATE memories SET sources = ?, hash = ? WHERE tenant = ? AND item = ?",
                (row[place], memory_hash(row), self.tenant, row[0]),
            )
        self._connection.execute("DELETE FROM provenance WHERE tenant = ? AND memory = ?", (self.tenant, id))
        self._connection.executemany(
            "INSERT INTO provenance (tenant, source, memory) VALUES (?, ?, ?)", [(self.tenant, source, id) for source in sources]
        )

    def _update_present(self, column: str, value: int | None, ids: Collection[str]) -> None:
        for batch in batches(ids):
            self._connection.execute(
                f"UPDATE memories SET {column} = ? WHERE tenant = ? AND id IN ({marks(batch)}) AND recorded_to IS NULL",
                (value, self.tenant, *batch),
            )

    def add_change(self, change: ChangeRecord) -> None:
        """Record a change in the history."""
        self._insert("changes", CHANGE_COLUMNS, change_row(change))

    def put_vectors(self, model: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]") -> int:
        """Store the vectors of (item, chunk) pairs that are still queued for embedding. Return the number of stored vectors."""
        return self._vectors.put(self._connection, self.tenant, model, chunks, vectors)

    def use_model(self, model: str) -> int:
        """Register an embedding model. If it is new, queue every chunk for it. Return the number of chunks left to embed."""
        return self._vectors.use_model(self._connection, self.tenant, model)

    def drop_model(self, model: str) -> None:
        """Remove an embedding model, its vectors, and its queue of chunks to embed."""
        self._vectors.drop_model(self._connection, self.tenant, model)

    def add_spend(self, spend: Spend) -> None:
        """Add calls, tokens, seconds and US dollars to the totals of their day, purpose and model."""
        self._connection.execute(
            f"INSERT INTO spend (tenant, {SPEND_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (tenant, day, purpose, model) DO UPDATE SET calls = spend.calls + excluded.calls, "
            "input_tokens = spend.input_tokens + excluded.input_tokens, "
            "output_tokens = spend.output_tokens + excluded.output_tokens, "
            "seconds = spend.seconds + excluded.seconds, cost = spend.cost + excluded.cost, "
            "unpriced = spend.unpriced + excluded.unpriced, energy = spend.energy + excluded.energy",
            (
                self.tenant, spend.day, spend.purpose, spend.model, spend.calls, spend.input_tokens, spend.output_tokens,
                spend.seconds, spend.cost, spend.unpriced, spend.energy,
            ),
        )  # fmt: skip

    def set_user(self, profile: UserProfile) -> None:
        """Store a user's profile."""
        self._replace("users", "user, timezone, language", (profile.user, profile.timezone, profile.language))

    def set_app(self, record: AppRecord) -> None:
        """Store an app's record."""
        self._replace("apps", APP_COLUMNS, app_row(record))

    def set_setting(self, name: str, value: str) -> None:
        """Store a persistent setting of the engine."""
        self._replace("settings", "name, value", (name, value))

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with all their revisions, changes, vectors and terms.

        Return the numbers of removed ``memories``, ``revisions`` and ``vectors``.
        """
        counts = {"memories": 0, "revisions": 0, "vectors": 0}
        for batch in batches(ids):
            where, values = f"tenant = ? AND id IN ({marks(batch)})", (self.tenant, *batch)
            rows = fetch(self._connection, f"SELECT item, id FROM memories WHERE {where}", values)
            counts["vectors"] += sum(self._unindex(item) for item, _ in rows)
            counts["revisions"] += len(rows)
            counts["memories"] += len({row[1] for row in rows})
            self._connection.execute(f"DELETE FROM memories WHERE {where}", values)
            for table, column in (("changes", "memory"), ("provenance", "memory"), ("provenance", "source")):
                self._connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND {column} IN ({marks(batch)})", values)
        return counts

    def remove_history(self, id: str) -> None:
        """Remove the earlier revisions and the changes of a memory. Only its current revision stays."""
        where, values = "tenant = ? AND id = ? AND recorded_to IS NOT NULL", (self.tenant, id)
        for (item,) in fetch(self._connection, f"SELECT item FROM memories WHERE {where}", values):
            self._unindex(item)
        self._connection.execute(f"DELETE FROM memories WHERE {where}", values)
        self._connection.execute("DELETE FROM changes WHERE tenant = ? AND memory = ?", values)

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors, terms and traces. Return the numbers of removed ``messages`` and ``vectors``.

        A memory derived from a removed message still lists the message's id as a source.
        """
        counts = {"messages": 0, "vectors": 0}
        for batch in batches(ids):
            where, values = f"tenant = ? AND id IN ({marks(batch)})", (self.tenant, *batch)
            rows = fetch(self._connection, f"SELECT seq FROM messages WHERE {where}", values)
            counts["vectors"] += sum(self._unindex(seq) for (seq,) in rows)
            counts["messages"] += len(rows)
            self.remove_traces_of_messages(batch)
            self._connection.execute(f"DELETE FROM messages WHERE {where}", values)
            self._detach_replies([seq for (seq,) in rows])
        return counts

    def remove_sessions(self, sessions: Collection[tuple[str, Scope]]) -> Mapping[str, int]:
        """Remove sessions with their jobs and traces. Return the numbers of removed ``sessions`` and ``jobs``.

        ``sessions`` are pairs of session id and scope. Jobs that older versions queued name only the id of their session, not
        its scope. They are removed if the id matches.
        """
        counts = {"sessions": 0, "jobs": 0}
        field = self._connection.dialect.in_payload
        same_scope = " AND ".join(f"coalesce({field(part)}, '') = ?" for part in ("app", "user", "agent"))
        by_scope: dict[Scope, list[str]] = {}
        for id, scope in sessions:
            by_scope.setdefault(scope, []).append(id)
        for scope, batch in ((scope, batch) for scope, ids in by_scope.items() for batch in batches(ids)):
            values = (self.tenant, *batch, scope.app or "", scope.user or "", scope.agent or "")
            among = f"IN ({marks(batch)})"
            unscoped = f"{field('scoped')} IS NULL"
            self._connection.execute(
                f"DELETE FROM jobs WHERE tenant = ? AND {field('session')} {among} AND ({unscoped} OR ({same_scope}))", values
            )
            counts["jobs"] += self._connection.changes()
            self._connection.execute(
                f"DELETE FROM sessions WHERE tenant = ? AND id {among} AND app = ? AND user = ? AND agent = ?", values
            )
            counts["sessions"] += self._connection.changes()
            for id in batch:
                self.remove_traces_of_session(id, scope)
        return counts

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove the remaining rows of a scope. The caller must already have removed its memories and messages.

        ``owner`` names the user, app or agent. The remaining rows are jobs, partitions, access keys and traces. If ``owner``
        names only a user or only an app, its record is removed, too.
        """
        if set(owner) == {"user"}:
            self._connection.execute("DELETE FROM users WHERE tenant = ? AND user = ?", (self.tenant, owner["user"]))
        if set(owner) == {"app"}:
            self._remove_app(owner["app"])
        self.remove_keys(owner)
        self.remove_traces(owner=owner)
        named = " AND ".join(f"{self._connection.dialect.in_payload(part)} = ?" for part in owner)
        self._connection.execute(f"DELETE FROM jobs WHERE tenant = ? AND {named}", (self.tenant, *owner.values()))
        numbers = partitions.owned(self._connection, self.tenant, owner, ("memory", "message", "archive"))
        among, *values = self._connection.dialect.among("partition", numbers)
        for table in self._by_partition:
            self._connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND {among}", (self.tenant, *values))

    def _remove_app(self, app: str) -> None:
        """Remove an app's record, and its name from the sharing lists of other apps."""
        self._connection.execute("DELETE FROM apps WHERE tenant = ? AND app = ?", (self.tenant, app))
        for other in self.apps():
            if app in other.shares_with:
                self.set_app(replace(other, shares_with=tuple(name for name in other.shares_with if name != app)))

    def _unindex(self, item: int) -> int:
        """Remove an item from the full-text index, and remove its vectors. Return the number of removed vectors."""
        partition: int | None = fetch_value(
            self._connection, "SELECT partition FROM units WHERE tenant = ? AND item = ?", (self.tenant, item)
        )
        if partition is None:
            return 0
        self._text.unindex(self._connection, self.tenant, item)
        return self._vectors.remove(self._connection, self.tenant, partition, item)


def batches(values: Collection[str], size: int = 500) -> Iterator[list[str]]:
    """Yield the values in lists that are short enough to be bound in one statement."""
    ordered = list(values)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]
