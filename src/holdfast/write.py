"""Writes memories. Every change, from a user, a job or an import, is checked and stored here.

Within one scope, a memory is identified by its kind, key and text. Case, accents and outer punctuation are ignored.
Storing the same memory again refreshes it. If a key can have only one value, a new value supersedes the old one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from holdfast import values
from holdfast.errors import Conflict, InvalidInput, NotFound, RevisionConflict
from holdfast.learning.changes.key_owner import key_of_owner
from holdfast.learning.changes.keys import known_spelling
from holdfast.learning.changes.things.named_things import named_thing
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, Transaction
from holdfast.runtime.clock import end_of_day
from holdfast.runtime.ids import new_id
from holdfast.text.clean import clean_namespace
from holdfast.text.language import detect_language
from holdfast.text.secrets.redact import redact
from holdfast.types import SAID_LATER, Author, Change, ChangeRecord, Kind, Memory, MemoryStatus, Put, Retire, Scope
from holdfast.types.translatable import translatable
from holdfast.values import identity

PROPOSES = "proposes_to_replace"
"""Name of a metadata entry of proposals. It lists the ids of the memories that the proposal would supersede."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Applies batches of changes inside a transaction. The changes of one batch are undone together."""

    tx: Transaction
    preset: Preset
    author: Author
    now: datetime
    _known_keys: dict[tuple[Scope, str, tuple[str, ...]], list[str]] = field(default_factory=dict, init=False, repr=False)
    """Cache of the keys in use. It maps a scope, kind and namespace to their keys, which are read once per transaction."""

    def apply(self, changes: Sequence[Change], *, shown: Collection[str] | None = None, batch: str | None = None) -> list[Memory]:
        """Apply changes in one batch, and return the resulting memory of each change.

        ``shown`` lists the ids of the existing memories that the changes may modify. A change to any other existing memory raises
        ``InvalidInput``. If ``shown`` is None, all may be modified. ``batch`` is an id from :meth:`new_batch`; by default, a new
        one is created.
        """
        batch = batch or self.new_batch()
        for change in changes:
            for id in _touched(change) if shown is not None else ():
                if id not in (shown or ()):
                    raise InvalidInput(f"The change names {id}, which its author was not shown. Nothing was changed.")
        return [
            self._put(change, batch) if isinstance(change, Put) else self._retire(_clean(change), batch) for change in changes
        ]

    def new_batch(self) -> str:
        """Return the id of a new batch."""
        return new_id("bat", self.now)

    def identity(self, put: Put) -> str:
        """Return the content hash of the memory that this ``Put`` would create."""
        kind = self.preset.kind(put.kind)
        return identity(kind, self._with_known_key(kind, values.cleaned(kind, put)[0]))

    def _put(self, put: Put, batch: str) -> Memory:
        known = None if put.id is None else self._present(put.id)
        clean, redacted = values.cleaned(self.preset.kind(put.kind), put, known)
        clean = self._with_known_key(self.preset.kind(put.kind), clean)
        stored = self._remember(clean, batch) if known is None else self._revise(known, clean, batch)
        return replace(stored, redacted=redacted) if redacted else stored

    def _with_known_key(self, kind: Kind, put: Put) -> Put:
        """Return a copy of a ``Put`` with its key spelled as in the live memories of the same scope, kind and namespace.

        A ``Put`` that has no key, revises a memory by its id, or has a plain kind is returned unchanged.

        If the preset normalizes keys and the kind allows several values per key, the key can also be replaced in two cases. A
        synonym of a known key becomes the known key: ``empleo`` becomes ``trabajo``. A fact about another person gets a key
        for other people: "su hermana es médica" with the key ``trabajo`` gets the key ``familia``.

        In kinds with one value per key, a synonym is kept. Otherwise, the new value would supersede the value of the known
        key.
        """
        if put.key is None or put.id is not None or kind.plain:
            return put
        place = (put.scope, kind.name, put.namespace)
        if place not in self._known_keys:
            wanted = MemoryFilter(exactly=put.scope, kinds=(kind.name,), namespace=put.namespace, unexpired_at=self.now)
            self._known_keys[place] = self.tx.keys(wanted)
        synonyms = self.preset.reconcile_rules.normalize_keys and kind.keyed == "many"
        key = key_of_owner(put.key, put.text, put.language) if synonyms else put.key
        key = known_spelling(key, self._known_keys[place], synonyms=synonyms)
        if key not in self._known_keys[place]:
            self._known_keys[place].append(key)
        return replace(put, key=key)

    def _remember(self, put: Put, batch: str) -> Memory:
        kind = self.preset.kind(put.kind)
        same = self._live_memories(put, content_hash=identity(kind, put)) or self._named_alike(put, kind)
        if put.if_revision is not None:
            known = self._with_key(put, values.key(kind, put)) if kind.keyed == "one" else same
            check_revision(known[0] if known else None, put.if_revision)
        if kind.plain:
            return self._put_plain(put, kind, same, batch)
        if same:
            others = [other for other in self._replaced(put) if other.id != same[0].id]
            if put.doubtful or put.trust < self.preset.min_trust:
                others = [other for other in others if other.origin == "auto"]
            self._supersede(replace(same[0], valid_from=put.valid_from or self.now), others, batch, reasons=_reasons(put))
            return self._refresh(same[0], put, kind, batch)
        memory = self._new(put, kind)
        if protected := self._protected(put, memory, kind):
            return self._propose(memory, protected, batch, put.reason)
        if kind.keyed == "one":
            key = memory.key
            others = self._with_key(put, key)
            memory = self._supersede(memory, others, batch, reasons=(f"a newer value of {key!r}", f"an older value of {key!r}"))
        if put.replaces and memory.status == "live":
            memory = self._supersede(memory, self._replaced(put), batch, reasons=_reasons(put))
        return self._store(memory, batch, "created", put.reason)

    def _named_alike(self, put: Put, kind: Kind) -> list[Memory]:
        """Find a live memory that has the same key as a ``Put``, and whose text names the same thing.

        Return a list with this memory, or an empty list. For example, "has a cat named Michi" and "their cat is called
        Michi" name the same thing. The list is empty for a plain kind, and for a kind that does not keep several memories
        per key.
        """
        thing = None if put.key is None or kind.plain or kind.keyed != "many" else named_thing(put.text, put.language)
        if thing is None:
            return []
        return [other for other in self._with_key(put, put.key) if named_thing(other.text, put.language) == thing][:1]

    def _protected(self, put: Put, memory: Memory, kind: Kind) -> list[Memory]:
        """Return the memories that a ``Put`` would supersede but must not.

        ``memory`` is the new memory that the ``Put`` describes. Normally, a ``Put`` may supersede every memory, so the result is
        empty. If ``put.doubtful`` is True (its text may not be the user's own) or ``memory`` has low trust, the ``Put`` may
        supersede only memories that were extracted automatically.
        """
        if not put.doubtful and memory.trust >= self.preset.min_trust:
            return []
        others = [*self._replaced(put), *(self._with_key(put, memory.key) if kind.keyed == "one" else ())]
        return [other for other in others if other.origin != "auto" and other.valid_from <= memory.valid_from]

    def _propose(self, memory: Memory, replaced: Sequence[Memory], batch: str, reason: str | None) -> Memory:
        """Store a memory as a proposal, and return it. The proposal is not in use until a person accepts it.

        ``replaced`` are the memories that the proposal supersedes when it is accepted, and ``reason`` is recorded in the
        history. If the same memory was already proposed, the earlier proposal is returned.
        """
        known = self.tx.memories(
            MemoryFilter(exactly=memory.scope, content_hash=memory.content_hash, statuses=("proposed",), unexpired_at=self.now)
        )
        if known:
            self.tx.touch([known[0].id], seen=self.now)
            return known[0]
        metadata = {**memory.metadata, PROPOSES: list(dict.fromkeys(other.id for other in replaced))}
        return self._store(replace(memory, status="proposed", metadata=metadata, pinned=False), batch, "created", reason)

    def accept(self, id: str) -> Memory:
        """Accept a proposal, or a memory of low trust. The result has full trust, because a person has confirmed its text.

        A proposal becomes live and supersedes the memories that it was proposed to replace. In a kind with one value per
        key, a proposal also supersedes the live memory with the same key. In other kinds, ``Conflict`` is raised if another
        live memory has the same content as the proposal.
        """
        memory = self._of_status(id, ("proposed", "live"))
        batch = new_id("bat", self.now)
        kind = self.preset.kind(memory.kind)
        replaced = [str(each) for each in memory.metadata.get(PROPOSES, ())] if memory.status == "proposed" else []
        metadata = {name: value for name, value in memory.metadata.items() if name != PROPOSES}
        accepted = replace(memory, status="live", trust=1.0, metadata=metadata)
        if memory.status == "proposed":
            wanted = MemoryFilter(exactly=memory.scope, unexpired_at=self.now)
            others = self.tx.memories(replace(wanted, ids=replaced)) if replaced else []
            if kind.keyed == "one":
                others += self.tx.memories(replace(wanted, kinds=(kind.name,), key=memory.key, namespace=memory.namespace))
            for older in {other.id: other for other in others}.values():
                retire = Retire(
                    id=older.id, status="superseded", reason="accepted", replaced_by=memory.id, valid_to=memory.valid_from
                )
                self._retire(retire, batch)
            self._refuse_twin(accepted)
        return self._store(self._stamped(accepted), batch, "revised", "accepted")

    def dismiss(self, id: str) -> Memory:
        """Dismiss a proposal: retire it as forgotten. This can be undone until the undo window has passed."""
        memory = self._of_status(id, ("proposed",))
        gone = replace(memory, status="forgotten", reason="dismissed", retired_at=self.now)
        return self._store(self._stamped(gone), new_id("bat", self.now), "retired", "dismissed")

    def _of_status(self, id: str, statuses: Sequence[MemoryStatus]) -> Memory:
        found = self.tx.memories(MemoryFilter(ids=(id,), statuses=statuses))
        if not found:
            raise NotFound(translatable("absent.proposal", "There is no proposal {id}.", id=id))
        return found[0]

    def _replaced(self, put: Put) -> list[Memory]:
        """Return the live memories that a ``Put`` names in ``replaces``.

        Pinned memories are left out, because only a user may unpin them.
        """
        return [memory for memory in self._live_memories(put, ids=put.replaces) if not memory.pinned] if put.replaces else []

    def _supersede(self, memory: Memory, others: Sequence[Memory], batch: str, *, reasons: tuple[str, str]) -> Memory:
        """Retire the memories ``others`` as superseded by ``memory``, and return ``memory``.

        If one of the memories in ``others`` is valid from a later time than ``memory``, none of them is retired. Then
        ``memory`` itself is returned with the status ``superseded``. ``reasons`` has two texts. The first is recorded if
        ``others`` are superseded, and the second if ``memory`` is superseded.
        """
        newest = max(others, key=lambda other: other.valid_from, default=None)
        if newest is not None and newest.valid_from > memory.valid_from:
            return replace(
                memory,
                status="superseded",
                reason=reasons[1],
                retired_at=self.now,
                replaced_by=newest.id,
                valid_to=newest.valid_from,
            )
        for older in others:
            retire = Retire(
                id=older.id, status="superseded", reason=reasons[0], replaced_by=memory.id, valid_to=memory.valid_from
            )
            self._retire(retire, batch)
        return memory

    def _put_plain(self, put: Put, kind: Kind, same: Sequence[Memory], batch: str) -> Memory:
        """Store a memory of a plain kind, and return it.

        If the kind allows one value per key, the memory replaces the live memory with the same key. In other plain kinds, it
        replaces only a memory with the same content. ``same`` are the memories with the same content. The new memory gets the
        id of the replaced memory.
        """
        new = self._new(put, kind)
        known = self._with_key(put, new.key) if kind.keyed == "one" else same
        if not known:
            return self._store(new, batch, "created", put.reason)
        now = new.created_at if put.created_at else self.now
        changed = replace(new, id=known[0].id, created_at=known[0].created_at, updated_at=now, last_used_at=known[0].last_used_at)
        return self._store(changed, batch, "revised", put.reason)

    def _with_key(self, put: Put, key: str | None) -> list[Memory]:
        """Return the live memories that have this key, and the same scope, kind and namespace as a ``Put``."""
        kinds = (self.preset.kind(put.kind).name,)
        return self._live_memories(put, kinds=kinds, key=key, namespace=clean_namespace(put.namespace))

    def _live_memories(self, put: Put, **wanted: Any) -> list[Memory]:
        return self.tx.memories(MemoryFilter(exactly=put.scope, unexpired_at=self.now, **wanted))

    def _refresh(self, memory: Memory, put: Put, kind: Kind, batch: str) -> Memory:
        """Update a memory that was stated again, and return it.

        A revision is added only if the ``Put`` adds sources or changes fields.
        """
        added = {name: value for name, value in self._given_fields(put).items() if getattr(memory, name) != value}
        if memory.origin == "auto" and values.origin(put.origin) == "explicit":
            added["origin"] = "explicit"
        if SAID_LATER in memory.metadata and "metadata" not in added:  # stated again, so it is still true
            added["metadata"] = _unlinked(memory)
        new_sources = tuple(source for source in put.sources if source not in memory.sources)
        expires_at = put.expires_at or self._expiry(kind, memory, self.now)
        if added or new_sources:
            if put.trust > memory.trust and not put.doubtful:  # the user stated it, or a person stored it
                trust = min(values.trust(put.trust), self._min_trust(put.sources))
                added["trust"] = max(memory.trust, trust)  # a web page that repeats it does not lower the trust
            merged = replace(memory, **added, sources=memory.sources + new_sources, expires_at=expires_at, last_seen_at=self.now)
            return self._store(self._stamped(merged), batch, "revised", put.reason or "stated again, with more detail")
        self.tx.touch([memory.id], seen=self.now)
        if expires_at is not None and expires_at != memory.expires_at:
            self.tx.set_expiry([memory.id], expires_at)
        return replace(memory, last_seen_at=self.now, expires_at=expires_at)

    def _given_fields(self, put: Put) -> dict[str, Any]:
        """Return the fields that a ``Put`` changes, with their new values. Fields that the ``Put`` does not name are left out.

        The fields are importance, tags, metadata, topic, pinned and indexed. A ``Put`` can set each of them. It can also empty
        tags, metadata and indexed (``put.emptied``).
        """
        given = {
            "importance": None if put.importance is None else values.importance(put.importance),
            "tags": put.tags or None,
            "metadata": put.metadata or None,
            "topic": put.topic,
            "pinned": put.pinned,
            "indexed": put.indexed,
        }
        empty: dict[str, Any] = {"tags": (), "metadata": {}, "indexed": None}
        return {
            **{name: empty[name] for name in put.emptied if name in empty},
            **{name: value for name, value in given.items() if value is not None},
        }

    def _new(self, put: Put, kind: Kind) -> Memory:
        memory = Memory(
            id=new_id("mem", self.now),
            scope=put.scope,
            kind=kind.name,
            text=put.text,
            key=values.key(kind, put),
            topic=put.topic,
            importance=5.0 if put.importance is None else values.importance(put.importance),
            tags=put.tags,
            metadata=put.metadata,
            origin=values.origin(put.origin),
            trust=min(values.trust(put.trust), self._min_trust(put.sources)),
            sources=put.sources,
            pinned=kind.pinned if put.pinned is None else put.pinned,
            language=put.language or detect_language(put.text),
            created_at=put.created_at or self.now,
            updated_at=put.created_at or self.now,
            valid_from=put.valid_from or put.created_at or self.now,
            last_seen_at=self.now,
            content_hash=identity(kind, put),
            recorded_at=self.now,
            namespace=clean_namespace(put.namespace),
            indexed=put.indexed,
        )
        return replace(memory, expires_at=put.expires_at or self._expiry(kind, memory, self.now))

    def _min_trust(self, sources: Sequence[str]) -> float:
        """Return the lowest trust among the sources of a memory. Without sources, return 1, which is full trust.

        A message of the assistant counts as fully trusted here.
        """
        if not sources:
            return 1.0
        # An ordinary reply of the assistant does not lower the trust. Learning lowers it if the reply may repeat text of others.
        messages = self.tx.messages(MessageFilter(ids=sources))
        trusts = [1.0 if message.origin == "assistant" else message.trust for message in messages]
        trusts += [memory.trust for memory in self.tx.memories(MemoryFilter(ids=sources, statuses=None))]
        return min(trusts, default=1.0)

    def _expiry(self, kind: Kind, memory: Memory, since: datetime) -> datetime | None:
        if kind.lifetime is None:
            return memory.expires_at
        if kind.lifetime == "day":
            profile = self.tx.user(memory.scope.user) if memory.scope.user else None
            return end_of_day(since, profile.timezone if profile else "UTC")
        return since + kind.lifetime

    def _revise(self, memory: Memory, put: Put, batch: str) -> Memory:
        """Add a revision, which the ``Put`` describes, to an existing memory. Return the memory in its new revision."""
        if put.scope != memory.scope:
            raise InvalidInput(f"The change moves {put.id} to another scope, which is not possible. Nothing was changed.")
        kind = self.preset.kind(put.kind)
        put = replace(put, namespace=memory.namespace)
        text, same = put.text, identity(kind, put)
        twins = [twin for twin in self._live_memories(put, content_hash=same) if twin.id != memory.id]
        if twins:
            raise Conflict(
                translatable(
                    "write.same",
                    "{id} already says the same. Nothing was changed; forget one of the two instead.",
                    id=twins[0].id,
                )
            )
        date_from_file = put.valid_from if put.origin == "file" else None  # a date that was corrected by hand
        changed = replace(
            memory,
            metadata=memory.metadata if text == memory.text else _unlinked(memory),
            text=text,
            key=values.key(kind, put),
            kind=kind.name,
            content_hash=same,
            expires_at=None if "expires_at" in put.emptied else put.expires_at or memory.expires_at,
            language=put.language or detect_language(text) or memory.language,
            sources=tuple(dict.fromkeys((*memory.sources, *put.sources))),
            trust=min(memory.trust, values.trust(put.trust)),
            valid_from=date_from_file or memory.valid_from,
        )
        changed = replace(changed, **self._given_fields(put))
        return self._store(self._stamped(changed), batch, "revised", put.reason)

    def _retire(self, retire: Retire, batch: str) -> Memory:
        memory = self._present(retire.id)
        retired = replace(
            memory,
            status=retire.status,
            reason=retire.reason,
            replaced_by=retire.replaced_by,
            retired_at=self.now,
            valid_to=retire.valid_to or memory.valid_to,
        )
        return self._store(self._stamped(retired), batch, "retired", retire.reason)

    def undo(self, change: ChangeRecord) -> list[Memory]:
        """Undo a change together with all other changes of its batch, newest first."""
        batch = new_id("bat", self.now)
        return [self._undo_one(other, batch) for other in reversed(self.tx.changes(batch=change.batch))]

    def _undo_one(self, change: ChangeRecord, batch: str) -> Memory:
        revisions = {memory.revision: memory for memory in self.tx.revisions(change.memory)}
        if not revisions:
            raise NotFound(translatable("absent.erased", "{id} was erased and cannot be restored.", id=change.memory))
        present = revisions[max(revisions)]
        if present.revision != change.revision:
            raise Conflict(
                translatable(
                    "write.changed",
                    "{id} has been changed since. Nothing was undone; undo the later change first.",
                    id=change.memory,
                )
            )
        if change.action == "created":
            undone = replace(present, status="forgotten", retired_at=self.now, reason="undone")
        else:
            before = revisions.get(change.revision - 1)
            if before is None:
                raise Conflict(
                    translatable(
                        "write.no_earlier",
                        "{id} is of kind {kind!r}, which keeps no earlier values. Nothing was undone.",
                        id=change.memory,
                        kind=present.kind,
                    )
                )
            undone = replace(
                before,
                revision=present.revision,
                expires_at=_later(before.expires_at, present.expires_at),
                last_used_at=present.last_used_at,
                last_seen_at=present.last_seen_at,
            )
        if undone.status == "live":
            self._refuse_twin(undone)
        return self._store(self._stamped(undone), batch, "restored", f"undo of {change.id}")

    def _refuse_twin(self, memory: Memory) -> None:
        """Raise ``Conflict`` if a memory cannot become live, because another live memory has taken its place.

        In a kind with one value per key, the other memory is one with the same key. In other kinds, it is one with the same
        content.
        """
        kind = self.preset.kind(memory.kind)
        wanted = MemoryFilter(exactly=memory.scope, content_hash=memory.content_hash)
        if kind.keyed == "one":
            wanted = MemoryFilter(exactly=memory.scope, kinds=(memory.kind,), key=memory.key, namespace=memory.namespace)
        twins = [twin for twin in self.tx.memories(replace(wanted, unexpired_at=self.now)) if twin.id != memory.id]
        if twins:
            raise Conflict(
                translatable(
                    "write.replaced",
                    "{other} has taken the place of {id}. Nothing was undone; forget {other} first.",
                    id=memory.id,
                    other=twins[0].id,
                )
            )

    def _present(self, id: str) -> Memory:
        found = self.tx.memories(MemoryFilter(ids=(id,)))
        if not found:
            raise NotFound(translatable("absent.live", "There is no live memory {id}.", id=id))
        return found[0]

    def _stamped(self, memory: Memory) -> Memory:
        return replace(memory, updated_at=self.now, recorded_at=self.now, recorded_to=None)

    def _store(self, memory: Memory, batch: str, action: Any, reason: str | None) -> Memory:
        stored = self.tx.add_revision(memory)
        if stored.revision > 1 and self.preset.is_plain(stored.kind):
            self.tx.remove_history(stored.id)
        self.tx.add_change(
            ChangeRecord(
                id=new_id("chg", self.now),
                batch=batch,
                at=self.now,
                action=action,
                memory=stored.id,
                revision=stored.revision,
                author=self.author,
                reason=reason,
            )
        )
        return stored


def _clean(retire: Retire) -> Retire:
    """Return a copy of a ``Retire`` in which the secrets in the reason are redacted."""
    return replace(retire, reason=redact(retire.reason).text)


def check_revision(memory: Memory | None, expected: int | None) -> None:
    """Raise RevisionConflict unless the memory has the expected revision.

    If ``expected`` is 0, the memory must not exist. If it is None, nothing is checked.
    """
    if expected is None:
        return
    if not isinstance(expected, int) or isinstance(expected, bool):
        raise InvalidInput(f"if_revision must be the number of a revision, not {expected!r}.")
    current = 0 if memory is None else memory.revision
    if expected != current:
        missing = f"There is no such memory, so it does not have revision {expected}."
        found = missing if memory is None else f"{memory.id} has revision {current}, not {expected}."
        raise RevisionConflict(
            f"{found} Nothing was changed; read it again and repeat the change.",
            expected=expected,
            current=current,
        )


def _reasons(put: Put) -> tuple[str, str]:
    reason = put.reason or "replaced by something newer"
    return reason, reason


def _touched(change: Change) -> tuple[str, ...]:
    """Return the ids of the existing memories that a change would modify."""
    named = () if change.id is None else (change.id,)
    return (*named, *change.replaces) if isinstance(change, Put) else named


def _unlinked(memory: Memory) -> dict[str, Any]:
    """Return the metadata of a memory without the later sentences that may have made it outdated."""
    return {name: value for name, value in memory.metadata.items() if name != SAID_LATER}


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the later of two expiry times. None means never, which is the latest."""
    return max(one, other) if one and other else None
