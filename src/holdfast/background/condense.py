"""Condensing: summarize messages, update the base document, compact memories, and split long topic pages.

Summaries are merged into the base document. Compacting reduces the memories of a kind to its cap, the maximum number
that the preset sets. Each task is a separate job, so that the failure of one does not stop the others. A job reads its
input when it runs. It computes outside any transaction, and writes only if its input has not changed. Nothing is lost:
a summary is stored next to its messages, and memories removed by compacting can be restored with undo.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from holdfast.background.jobs import Work, new_job
from holdfast.background.session_trusts import session_trusts
from holdfast.errors import Conflict
from holdfast.learning.ask_model import Outcome
from holdfast.learning.input_filter import extractable
from holdfast.learning.related_conversations import with_conversations
from holdfast.learning.summaries.base_document import RULE_VERSION as BASE_RULES
from holdfast.learning.summaries.compaction import compact_to
from holdfast.learning.summaries.durable import durable_facts, without_ended
from holdfast.learning.summaries.extractive import RULE_VERSION as REPORT_RULES
from holdfast.learning.summaries.progress import (
    IMPORTED_TO,
    WAITING,
    covered,
    imported_at,
    imported_setting,
    incorporated_setting,
    summarized_setting,
)
from holdfast.learning.summaries.roll_up import RollUp, base_put, due, summary_put
from holdfast.learning.summaries.summaries import Summary, distill, distill_with, summarize, summarize_with
from holdfast.learning.topics.splitting import follow, split
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Reads, SessionFilter, Store, Transaction
from holdfast.recall.conversation_state import UNLEARNED_TO
from holdfast.recall.embedding import Embedding
from holdfast.types import Author, Job, Memory, Message, Put, Scope
from holdfast.write import Writer

_MAX_NEW_FACTS_FOR_BASE = 10
"""Maximum number of recent facts that the base document is written from."""
_MAX_FACTS_FOR_BASE = 40
"""Maximum number of facts that the base document is written from: the recent ones, and older ones by rank."""
_MAX_RANKED_FACTS = 1000
_MAX_ENDED_FACTS = 500
"""Maximum number of superseded and forgotten facts whose texts the base document must no longer contain."""
_MAX_MESSAGES = 200
"""Maximum number of messages that one summary covers."""
_MESSAGES_PER_READ = 250
_READ_AGAIN_SECONDS = 60.0
"""Time, in seconds, after which the messages of a scope are counted again although a roll-up is queued.

Some of the messages may have been erased meanwhile.
"""
_MAX_SCOPES = 10_000
"""Maximum number of entries in ``_queued_at``. If it is reached, all entries are dropped."""
_MAX_CONVERSATION_CHARACTERS = 24_000
"""Maximum total length of the messages that one summary covers, in characters."""
_TITLE_LINES = 2
"""Number of lines of a topic page that are not memories: its title and the line under it."""


class Condenser:
    """Queues and runs the condensing jobs of a scope."""

    def __init__(self, store: Store, preset: Preset, clock: Clock, *, embedding: Embedding, chat: BudgetedChat) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._chat = chat
        self._swept: Mapping[str, int] = {}
        """Maps each app that had more memories than the cap at the last check to its number of memories at that time."""
        self._queued_at: dict[tuple[Scope, str | None], float] = {}
        """Maps a scope and its last summarized message to the time at which a full roll-up was last found in the queue.

        A roll-up is full if no further messages fit into it. The times are those of ``time.monotonic()``.
        """
        self.handlers: Mapping[str, Callable[[Job], Work]] = {
            "rollup": self._roll_up,
            "base": self._distill,
            "compact": self._compact,
            "split": self._split,
        }

    # Queuing

    def follow_up(self, tx: Transaction, scope: Scope) -> None:
        """Queue the condensing jobs that are due after a change in a scope, in the transaction of that change."""
        if self._preset.roll_up:
            self._queue_roll_up(tx, scope, self._preset.roll_up)
        if self._preset.base and (summaries := self.unincorporated(tx, scope)):
            count = due(len(summaries), self._preset.base.when)
            if count:
                self._queue(tx, "base", scope, summaries[count - 1].id)
        self.enforce_cap(tx, scope)
        if self._preset.topics:
            for topic, page in self._long_pages(tx, scope).items():
                # A page that could not be split is tried again after ten more lines, not after each line.
                self._queue(tx, "split", scope, topic, page[0].id, len(page) // 10, topic=topic)

    def _queue_roll_up(self, tx: Transaction, scope: Scope, rule: RollUp) -> None:
        """Queue a summary of a scope's messages, if ``rule`` says that enough messages are without a summary.

        The messages are read inside the transaction. This takes 20 ms, in which other writers wait. If the summary is already
        queued, and more messages would not fit into it, the messages are not read again for a minute.
        """
        mark = tx.setting(summarized_setting(scope))
        if self._queued_at.get((scope, mark), -math.inf) > time.monotonic() - _READ_AGAIN_SECONDS:
            return
        waiting = self._next_unsummarized(tx, scope, rule)
        count = due(len(waiting), rule)
        if count and not self._queue(tx, "rollup", scope, waiting[count - 1].seq) and len(waiting) >= _max_waiting(rule):
            if len(self._queued_at) >= _MAX_SCOPES:
                self._queued_at.clear()
            self._queued_at[scope, mark] = time.monotonic()

    def enforce_cap(self, tx: Transaction, scope: Scope) -> None:
        """Queue a compaction if a scope has more memories than the preset's cap."""
        members = self._capped_memories(tx, scope) if self._preset.cap else []
        if self._preset.cap and len(members) > self._preset.cap.max_memories:
            self._queue(tx, "compact", scope, members[-1].id, len(members))

    def enforce_caps(self) -> None:
        """Queue compactions for all apps that have more memories than the cap.

        This is needed because an import, an undo or a restored file can add memories without queueing a compaction. A
        compaction that was undone, or that found only pinned memories, is not repeated until a memory is added.
        """
        cap, now = self._preset.cap, self._clock.now()
        if cap is None:
            return
        counts = self._store.memories_by_app(unexpired_at=now)
        over = {app: count for app, count in counts.items() if count > cap.max_memories}
        scopes: Counter[Scope] = Counter()
        for app in [app for app, count in over.items() if self._swept.get(app) != count]:
            wanted = MemoryFilter(owner={"app": app}, kinds=(cap.kind,), unexpired_at=now)
            scopes.update(memory.scope for memory in self._store.memories(wanted))
        self._swept = over
        full = [scope for scope, count in scopes.items() if count > cap.max_memories]
        if full:
            with self._store.write() as tx:
                for scope in full:
                    self.enforce_cap(tx, scope)

    def _queue(self, tx: Transaction, kind: str, scope: Scope, *marks: object, **more: Any) -> bool:
        """Queue a job for a scope. Return False if the same job was queued before.

        Two jobs are the same if they have the same kind, scope and ``marks``. ``more`` is added to the payload of the
        job.
        """
        payload = {"app": scope.app, "user": scope.user, "agent": scope.agent, **more}
        effect = f"{kind}:{json.dumps([scope.app, scope.user, scope.agent, *marks], ensure_ascii=False)}"
        return tx.add_job(new_job(kind, payload, effect=effect, now=self._clock.now()))

    def unsummarized(self, reads: Reads, scope: Scope) -> list[Message]:
        """Return the messages that no summary covers yet, oldest first. They come from all sessions in the scope.

        Imported messages that were excluded from learning are left out.
        """
        return list(self._unsummarized(reads, scope))

    def _next_unsummarized(self, reads: Reads, scope: Scope, rule: RollUp) -> list[Message]:
        """Return the oldest messages that no summary covers yet, at most as many as one summary can use.

        Without this limit, the list could be very long: all conversations of a long queue are digested before the first summary
        is written.
        """
        return list(islice(self._unsummarized(reads, scope), _max_waiting(rule)))

    def _unsummarized(self, reads: Reads, scope: Scope) -> Iterator[Message]:
        mark = reads.setting(summarized_setting(scope))
        if mark is None:  # no summary yet, or summaries of a version that did not store the setting
            summaries = reads.memories(MemoryFilter(exactly=scope, kinds=("summary",), statuses=None))
            mark = str(max((int(memory.metadata.get("to", 0)) for memory in summaries), default=0))
        after = int(mark)
        while found := reads.messages(MessageFilter(exactly=scope, after_seq=after, oldest=_MESSAGES_PER_READ)):
            sessions = reads.sessions(SessionFilter(ids={message.session for message in found}, exactly=scope))
            unlearned = {session.id: int(session.metadata.get(UNLEARNED_TO, 0)) for session in sessions}
            yield from (message for message in found if message.seq > unlearned.get(message.session, 0))
            after = found[-1].seq

    def unincorporated(self, reads: Reads, scope: Scope) -> list[Memory]:
        """Return the summaries that are not in the base document yet, oldest first. Imported summaries come first."""
        marked = int(reads.setting(incorporated_setting(scope)) or 0)
        base = self._base(reads, scope)
        done = max((int(memory.metadata.get("to", 0)) for memory in base), default=0)
        summaries = reads.memories(MemoryFilter(exactly=scope, kinds=("summary",), where={"to": {"$gt": max(done, marked)}}))
        imported = reads.memories(MemoryFilter(exactly=scope, kinds=("summary",), where={WAITING: True}))
        imported_to = max((str(memory.metadata.get(IMPORTED_TO, "")) for memory in base), default="")
        imported_to = max(imported_to, reads.setting(imported_setting(scope)) or "")
        return [
            *sorted((each for each in imported if imported_at(each) > imported_to), key=imported_at),
            *sorted(summaries, key=lambda summary: int(summary.metadata["to"])),
        ]

    def _base(self, reads: Reads, scope: Scope) -> list[Memory]:
        kind = self._preset.base.kind if self._preset.base else ""
        return reads.memories(MemoryFilter(exactly=scope, kinds=(kind,)))

    def _capped_memories(self, reads: Reads, scope: Scope) -> list[Memory]:
        """Return all memories of the one kind for which the preset sets a cap (a maximum number), oldest first."""
        kind = self._preset.cap.kind if self._preset.cap else ""
        found = reads.memories(MemoryFilter(exactly=scope, kinds=(kind,), unexpired_at=self._clock.now()))
        return sorted(found, key=lambda memory: (memory.created_at, memory.item))

    def _long_pages(self, reads: Reads, scope: Scope) -> dict[str, list[Memory]]:
        rules = self._preset.topics
        if rules is None:
            return {}
        pages: dict[str, list[Memory]] = {}
        for memory in reads.memories(MemoryFilter(exactly=scope, kinds=(rules.kind,), has_topic=True, newest_first=False)):
            pages.setdefault(memory.topic or "", []).append(memory)
        return {topic: page for topic, page in pages.items() if len(page) + _TITLE_LINES > rules.max_lines}

    # Handlers

    def _roll_up(self, job: Job) -> Work:
        """Summarize the oldest messages that no summary covers yet. The newest messages are left out.

        Replies that may repeat text of a tool, a web page, a file or a quotation are also left out. If this leaves no
        message, the oldest messages still count as summarized, so that one long web page does not stop all later summaries.
        """
        scope = self._scope(job)
        rule = self._preset.roll_up
        waiting = self._next_unsummarized(self._store, scope, rule) if rule else []
        taken = waiting[: due(len(waiting), rule)] if rule else []
        taken = taken[: _as_many_as_fit(taken)]
        if not taken:
            return Work()
        trusts = session_trusts(self._store, taken)
        messages = [message for message in extractable(taken) if trusts.get(message.id, 1.0) >= self._preset.min_trust]
        outcome = self._summary(messages, scope, first=taken[0].seq, last=taken[-1].seq) if messages else Outcome()
        ids = {message.id for message in taken}

        def unchanged(tx: Transaction) -> bool:
            return ids == {m.id for m in tx.messages(MessageFilter(ids=list(ids)))} and bool(
                ids & {m.id for m in islice(self._unsummarized(tx, scope), len(ids))}
            )

        return self._work(
            job, scope, outcome, unchanged, also=lambda tx: tx.set_setting(summarized_setting(scope), str(taken[-1].seq))
        )

    def _summary(self, messages: Sequence[Message], scope: Scope, *, first: int, last: int) -> Outcome:
        """Summarize messages. ``first`` and ``last`` are the numbers of the first and the last message that the summary covers.

        The summary also covers the messages between them that are not in ``messages``.
        """
        model, problem = self._chat.model()
        summary = summarize_with(model, messages) if model else Summary(text=summarize(messages), prompt=REPORT_RULES)
        put = summary_put(messages, summary.text, scope)
        put = replace(put, metadata={**put.metadata, "from": first, "to": last})
        return Outcome(
            changes=(put,), model=summary.model, prompt=summary.prompt, flaws=_flaws(problem, summary.flaws), usage=summary.usage
        )

    def _distill(self, job: Job) -> Work:
        """Merge recent and important facts, and all but the newest few summaries, into the base document."""
        scope, rules = self._scope(job), self._preset.base
        waiting = self.unincorporated(self._store, scope)
        taken = waiting[: due(len(waiting), rules.when)] if rules else []
        if not taken or rules is None:
            return Work()
        before = self._base(self._store, scope)
        facts, ended = self._facts_for_base(scope)
        live = [fact.text for fact in facts]
        model, problem = self._chat.model()
        earlier = before[0] if before else None
        given = (
            without_ended(earlier.text, ended, live) if earlier else "",
            [without_ended(memory.text, ended, live) for memory in taken],
            [str(fact) for fact in facts],
        )
        made = (
            distill_with(model, *given, max_words=rules.max_words)
            if model
            else Summary(text=distill(*given, max_words=rules.max_words), prompt=BASE_RULES)
        )
        put = base_put(made.text, taken, scope, kind=rules.kind, key=rules.key or rules.kind, earlier=earlier, facts=facts)
        put = replace(put, metadata={**(earlier.metadata if earlier else {}), **covered(taken)})

        def unchanged(tx: Transaction) -> bool:
            current = {memory.id: memory.revision for memory in self._base(tx, scope)}
            return current == {memory.id: memory.revision for memory in before} and _all_live(tx, [*taken, *facts])

        outcome = Outcome(
            changes=(put,), model=made.model, prompt=made.prompt, flaws=_flaws(problem, made.flaws), usage=made.usage
        )
        return self._work(job, scope, outcome, unchanged, shown=[memory.id for memory in before])

    def _facts_for_base(self, scope: Scope) -> tuple[list[Memory], list[str]]:
        """Return two lists: the facts for the base document, oldest first, and the texts of superseded and forgotten facts."""
        kinds = (self._preset.default_kind,)
        live = MemoryFilter(exactly=scope, kinds=kinds, unexpired_at=self._clock.now(), limit=_MAX_RANKED_FACTS)
        facts = durable_facts(self._store.memories(live), limit=_MAX_FACTS_FOR_BASE, newest=_MAX_NEW_FACTS_FOR_BASE)
        gone = MemoryFilter(exactly=scope, kinds=kinds, statuses=("superseded", "forgotten"), limit=_MAX_ENDED_FACTS)
        return facts, [memory.text for memory in self._store.memories(gone)]

    def _compact(self, job: Job) -> Work:
        """Reduce the number of memories of a kind to its cap."""
        scope, cap = self._scope(job), self._preset.cap
        members = self._capped_memories(self._store, scope)
        if cap is None or len(members) <= cap.max_memories:
            return Work()
        model, problem = self._chat.model()
        outcome = compact_to(members, cap.max_memories, model=model, vectors=self._vectors(members))
        outcome = Outcome(
            changes=with_conversations(outcome.changes, members),
            model=outcome.model,
            prompt=outcome.prompt,
            flaws=_flaws(problem, outcome.flaws),
            usage=outcome.usage,
        )

        def unchanged(tx: Transaction) -> bool:
            return {m.item for m in self._capped_memories(tx, scope)} == {m.item for m in members}

        return self._work(job, scope, outcome, unchanged, shown=[memory.id for memory in members])

    def _split(self, job: Job) -> Work:
        """Split a topic page that is too long: move its memories to narrower topics."""
        scope, topic = self._scope(job), str(job.payload["topic"])
        page = self._long_pages(self._store, scope).get(topic, [])
        if not page or self._preset.topics is None:
            return Work()
        model, problem = self._chat.model()
        known = self._store.memories(MemoryFilter(exactly=scope, kinds=(self._preset.topics.kind,), has_topic=True))
        taken = {memory.topic for memory in known if memory.topic}
        max_lines = self._preset.topics.max_lines - _TITLE_LINES
        made = split(topic, page, max_lines=max_lines, model=model, vectors=self._vectors(page), taken=taken)
        notes = self._notes(scope, topic)
        lines = [change for change in made.changes if isinstance(change, Put)]
        outcome = Outcome(
            changes=(*lines, *follow(notes, lines)),
            model=made.model,
            prompt=made.prompt,
            flaws=_flaws(problem, made.flaws),
            usage=made.usage,
        )
        touched = [*page, *notes]
        return self._work(job, scope, outcome, lambda tx: _all_live(tx, touched), shown=[memory.id for memory in touched])

    def _notes(self, scope: Scope, topic: str) -> list[Memory]:
        """Return the notes that record recent conversations about a topic."""
        kind = self._preset.topics.recent_kind if self._preset.topics else None
        return self._store.memories(MemoryFilter(exactly=scope, kinds=(kind,), topic=topic)) if kind else []

    def _work(
        self,
        job: Job,
        scope: Scope,
        outcome: Outcome,
        unchanged: Callable[[Transaction], bool],
        *,
        shown: Sequence[str] = (),
        also: Callable[[Transaction], None] = lambda tx: None,
    ) -> Work:
        """Return the result of a job. Its ``effect`` is a function that writes ``outcome`` to the store.

        ``effect`` first calls ``unchanged``, which returns True if the job's input is still the same. If ``unchanged``
        returns False, ``effect`` raises ``Conflict``, and the job is retried with the new input. ``shown`` contains the
        ids of the memories that the job has read. ``also`` makes a further write in the same transaction.
        """
        author = Author(actor=job.kind, model=outcome.model, prompt=outcome.prompt, job=job.id)

        def write(tx: Transaction) -> None:
            if not unchanged(tx):  # the job is retried with the new input
                raise Conflict("the input of this job has changed in the meantime")
            Writer(tx=tx, preset=self._preset, author=author, now=self._clock.now()).apply(outcome.changes, shown=shown)
            also(tx)
            self.follow_up(tx, scope)

        model = self._chat.name if outcome.usage.calls else None
        return Work(effect=write, flaws=outcome.flaws, model=model, usage=outcome.usage)

    def _vectors(self, memories: Sequence[Memory]) -> Any:
        return self._embedding.documents([str(memory) for memory in memories])

    def _scope(self, job: Job) -> Scope:
        parts: dict[str, Any] = {part: job.payload.get(part) for part in ("app", "user", "agent")}
        return Scope(tenant=self._store.tenant, **parts)


def _max_waiting(rule: RollUp) -> int:
    """Return the maximum number of messages to read for one summary.

    This number includes the newest messages, which the summary leaves out.
    """
    return max(rule.threshold, _MAX_MESSAGES + rule.keep)


def _as_many_as_fit(messages: Sequence[Message]) -> int:
    """Return how many of the oldest messages fit into one summary. The next job summarizes the others."""
    size = 0
    for number, message in enumerate(messages[:_MAX_MESSAGES]):
        size += len(message.text)
        if number and size > _MAX_CONVERSATION_CHARACTERS:
            return number
    return min(len(messages), _MAX_MESSAGES)


def _flaws(problem: str | None, flaws: Sequence[str]) -> tuple[str, ...]:
    return (f"{problem}; rules took over", *flaws) if problem else tuple(flaws)


def _all_live(tx: Transaction, memories: Sequence[Memory]) -> bool:
    """Return True if all these memories are still live in the store and have no newer revision there."""
    current = {memory.id: memory.revision for memory in tx.memories(MemoryFilter(ids=[memory.id for memory in memories]))}
    return current == {memory.id: memory.revision for memory in memories}
