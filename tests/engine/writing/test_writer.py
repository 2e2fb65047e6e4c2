"""The Writer: the stored fields of memories, retirements and history entries, and the limits of values."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, InvalidInput, NotFound, RevisionConflict, TextTooLong
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.text.clean import MAX_TEXT
from holdfast.types import Author, Memory, Put, Retire, Scope
from holdfast.values import MAX_UNINDEXED_TEXT, check_expiry, index_texts
from holdfast.write import PROPOSES, Writer

ANA = Scope(user="ana")
AUTHOR = Author(actor="digest", model="test:model", prompt="p1", job="job_1")
HOUR = timedelta(hours=1)


@contextmanager
def writing(memory: Engine, clock: FrozenClock, author: Author = AUTHOR) -> Iterator[Writer]:
    with services(memory).store.write() as tx:
        yield Writer(tx=tx, preset=memory.preset, author=author, now=clock.now())


def put(memory: Engine, clock: FrozenClock, text: str, **more: Any) -> Memory:
    change = Put(scope=ANA, kind=more.pop("kind", "fact"), text=text, **more)
    with writing(memory, clock) as writer:
        return writer.apply([change], shown=more.get("replaces") or None)[0]


def every(memory: Engine) -> dict[str, Memory]:
    return {each.text: each for each in services(memory).store.memories(MemoryFilter(statuses=None))}


def test_a_new_memory_has_every_value_of_its_change(memory: Engine, clock: FrozenClock) -> None:
    now, earlier = clock.now(), clock.now() - 24 * HOUR
    made = put(
        memory, clock, "I play the cello", key="hobby", topic="music", importance=7.0, tags=("art",), metadata={"a": 1},
        origin="auto", trust=0.6, pinned=True, language="en", valid_from=earlier, expires_at=now + HOUR, namespace=("n",),
    )  # fmt: skip
    found = memory.get(made.id)
    assert (found.kind, found.text, found.key, found.topic) == ("fact", "I play the cello", "hobby", "music")
    assert (found.importance, found.tags, found.metadata, found.namespace) == (7.0, ("art",), {"a": 1}, ("n",))
    assert (found.origin, found.trust, found.pinned, found.language) == ("auto", 0.6, True, "en")
    assert (found.valid_from, found.expires_at, found.created_at, found.updated_at) == (earlier, now + HOUR, now, now)
    assert (found.last_seen_at, found.recorded_at, found.status, found.revision) == (now, now, "live", 1)
    (change,) = memory.history(made.id)
    assert (change.action, change.memory, change.revision, change.at, change.author) == ("created", made.id, 1, now, AUTHOR)


def test_a_memory_without_values_has_the_defaults(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I play the cello with my sister")
    assert (found.importance, found.trust, found.pinned, found.origin, found.tags) == (5.0, 1.0, False, "auto", ())
    assert (found.language, found.valid_from, found.expires_at, found.key) == ("en", clock.now(), None, None)


def test_an_imported_date_is_the_date_of_the_memory(memory: Engine, clock: FrozenClock) -> None:
    past = clock.now() - 48 * HOUR
    found = put(memory, clock, "I play the cello", created_at=past)
    assert (found.created_at, found.updated_at, found.valid_from, found.last_seen_at) == (past, past, past, clock.now())


def test_a_repeated_memory_is_marked_as_seen_and_gets_no_revision(memory: Engine, clock: FrozenClock) -> None:
    first = put(memory, clock, "I play the cello")
    clock.advance(HOUR)
    again = put(memory, clock, "i play the CELLO.")
    assert (again.id, again.revision, again.text, again.last_seen_at) == (first.id, 1, "I play the cello", clock.now())
    assert memory.get(first.id).last_seen_at == clock.now()
    assert len(memory.history(first.id)) == 1


def test_a_repeated_memory_with_more_detail_becomes_a_revision(memory: Engine, clock: FrozenClock) -> None:
    first = put(memory, clock, "I play the cello", trust=0.5)
    clock.advance(HOUR)
    again = put(memory, clock, "I play the cello", importance=8.0, origin="explicit", expires_at=clock.now() + HOUR)
    assert (again.revision, again.importance, again.origin, again.trust) == (2, 8.0, "explicit", 1.0)
    assert (again.updated_at, again.last_seen_at, again.expires_at) == (clock.now(), clock.now(), clock.now() + HOUR)
    assert [(each.action, each.reason) for each in memory.history(first.id)] == [
        ("created", None),
        ("revised", "stated again, with more detail"),
    ]
    doubtful = put(memory, clock, "I play the drums", trust=0.5)
    assert put(memory, clock, "I play the drums", importance=8.0, doubtful=True).trust == doubtful.trust


def test_a_memory_stated_again_by_the_same_message_gets_no_revision_and_no_second_source(
    memory: Engine, clock: FrozenClock
) -> None:
    session = memory.session(user="ana")
    said, again = session.add("user", "I live in Lyon."), session.add("user", "As I said, I live in Lyon.")
    for sources, revision in (((said.id,), 1), ((said.id,), 1), ((said.id, again.id), 2), ((again.id, said.id), 2)):
        found = put(memory, clock, "I live in Lyon", sources=sources)
        assert (found.revision, found.sources) == (revision, (said.id, again.id)[:revision])


def test_stating_it_again_only_moves_an_expiry_that_differs(memory: Engine, clock: FrozenClock) -> None:
    until = clock.now() + HOUR
    first = put(memory, clock, "I play the cello", expires_at=until)
    assert put(memory, clock, "I play the cello", expires_at=until + HOUR).expires_at == until + HOUR
    assert memory.get(first.id).expires_at == until + HOUR
    assert put(memory, clock, "I play the cello").expires_at == until + HOUR


@pytest.mark.parametrize(("given", "reason"), [(None, "replaced by something newer"), ("a move", "a move")])
def test_a_replaced_memory_says_by_what_when_and_why(memory: Engine, clock: FrozenClock, given: str | None, reason: str) -> None:
    old = put(memory, clock, "I live in Lyon")
    clock.advance(HOUR)
    new = put(memory, clock, "I live in Nantes", replaces=(old.id,), reason=given)
    gone = memory.get(old.id)
    assert (gone.status, gone.reason, gone.replaced_by) == ("superseded", reason, new.id)
    assert (gone.retired_at, gone.valid_to, gone.updated_at) == (clock.now(), clock.now(), clock.now())
    assert [(each.action, each.reason) for each in memory.history(old.id)] == [("created", None), ("retired", reason)]
    assert (new.status, memory.history(new.id)[0].reason) == ("live", given)
    memory.undo(memory.history(new.id)[-1].id)
    assert [memory.get(each).status for each in (old.id, new.id)] == ["live", "forgotten"], "both belong to one batch"


def test_an_older_value_that_arrives_late_is_stored_as_superseded(memory: Engine, clock: FrozenClock) -> None:
    new = put(memory, clock, "I live in Nantes")
    late = put(memory, clock, "I live in Lyon", valid_from=clock.now() - HOUR, replaces=(new.id,))
    assert (late.status, late.replaced_by, late.valid_to) == ("superseded", new.id, new.valid_from)
    assert (late.retired_at, late.reason, memory.get(new.id).status) == (clock.now(), "replaced by something newer", "live")


def test_a_pinned_memory_is_replaced_by_nobody(memory: Engine, clock: FrozenClock) -> None:
    old = put(memory, clock, "I live in Lyon", pinned=True)
    put(memory, clock, "I live in Nantes", replaces=(old.id,))
    assert memory.get(old.id).status == "live"


def test_a_doubtful_change_becomes_a_proposal_and_repeating_it_adds_none(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember("I live in Lyon", user="ana")
    change = {"replaces": (old.id,), "doubtful": True, "pinned": True, "reason": "a guess"}
    proposed = put(memory, clock, "I live in Nantes", **change)
    assert (proposed.status, proposed.metadata, proposed.pinned) == ("proposed", {PROPOSES: [old.id]}, False)
    assert memory.history(proposed.id)[0].reason == "a guess"
    clock.advance(HOUR)
    assert put(memory, clock, "I live in Nantes", **change).id == proposed.id
    assert every(memory)["I live in Nantes"].last_seen_at == clock.now()
    assert memory.get(old.id).status == "live"


def test_an_accepted_proposal_is_trusted_and_replaces_what_it_named(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember("I live in Lyon", user="ana")
    clock.advance(HOUR)
    proposed = put(memory, clock, "I live in Nantes", replaces=(old.id,), doubtful=True, trust=0.3, metadata={"a": 1})
    clock.advance(HOUR)
    with writing(memory, clock) as writer:
        accepted = writer.accept(proposed.id)
    assert (accepted.status, accepted.trust, accepted.metadata, accepted.updated_at) == ("live", 1.0, {"a": 1}, clock.now())
    gone = memory.get(old.id)
    assert (gone.status, gone.reason, gone.replaced_by, gone.valid_to) == (
        "superseded",
        "accepted",
        proposed.id,
        proposed.valid_from,
    )
    assert [(each.action, each.reason) for each in memory.history(proposed.id)][-1] == ("revised", "accepted")


def test_a_dismissed_proposal_is_forgotten_and_can_be_restored(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember("I live in Lyon", user="ana")
    proposed = put(memory, clock, "I live in Nantes", replaces=(old.id,), doubtful=True)
    with writing(memory, clock) as writer:
        gone = writer.dismiss(proposed.id)
    assert (gone.status, gone.reason, gone.retired_at) == ("forgotten", "dismissed", clock.now())
    assert [(each.action, each.reason) for each in memory.history(proposed.id)][-1] == ("retired", "dismissed")
    memory.undo(memory.history(proposed.id)[-1].id)
    assert every(memory)["I live in Nantes"].status == "proposed"


@pytest.mark.parametrize("call", ["accept", "dismiss"])
def test_only_a_proposal_is_accepted_or_dismissed(memory: Engine, clock: FrozenClock, call: str) -> None:
    forgotten = memory.remember("I live in Lyon", user="ana")
    memory.forget(id=forgotten.id)
    for id in (forgotten.id, "mem_absent"):
        with writing(memory, clock) as writer, pytest.raises(NotFound):
            getattr(writer, call)(id)


def test_a_revision_keeps_the_lower_trust_and_all_sources(memory: Engine, clock: FrozenClock) -> None:
    said = memory.session(user="ana").add("user", "I live in Lyon.")
    found = put(memory, clock, "I live in Lyon", trust=0.4, sources=(said.id,))
    clock.advance(HOUR)
    revised = put(memory, clock, "I live in Nantes", id=found.id, trust=0.9, sources=(said.id,), reason="moved")
    assert (revised.revision, revised.trust, revised.sources, revised.updated_at) == (2, 0.4, (said.id,), clock.now())
    assert memory.history(found.id)[-1].reason == "moved"
    with pytest.raises(InvalidInput, match="another scope"), writing(memory, clock) as writer:
        writer.apply([Put(scope=Scope(user="bob"), kind="fact", text="I live in Paris", id=found.id)])
    other = put(memory, clock, "I live in Paris")
    with pytest.raises(Conflict, match=other.id):
        put(memory, clock, "I live in Paris", id=found.id)


def test_memories_that_the_author_was_not_shown_stay_unchanged(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    changes = (
        Put(scope=ANA, kind="fact", text="I live in Nantes", id=found.id),
        Put(scope=ANA, kind="fact", text="I live in Nantes", replaces=(found.id,)),
        Retire(id=found.id, status="forgotten", reason="x"),
    )
    for change in changes:
        with pytest.raises(InvalidInput, match=found.id), writing(memory, clock) as writer:
            writer.apply([change], shown=())
    assert memory.get(found.id) == found


def test_a_secret_in_a_reason_is_not_stored(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    with writing(memory, clock) as writer:
        gone = writer.apply([Retire(id=found.id, status="forgotten", reason="password: Tr0ub4dor&3xyz")])[0]
    assert "Tr0ub4dor" not in (gone.reason or "")


def test_undoing_restores_every_value_and_the_later_expiry(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon", importance=3.0, expires_at=clock.now() + HOUR)
    clock.advance(timedelta(minutes=1))
    put(memory, clock, "I live in Nantes", id=found.id, importance=9.0, expires_at=clock.now() + 3 * HOUR)
    later = clock.now() + 3 * HOUR
    (undone,) = memory.undo(memory.history(found.id)[-1].id)
    assert (undone.text, undone.importance, undone.revision, undone.expires_at) == ("I live in Lyon", 3.0, 3, later)
    last = memory.history(found.id)[-1]
    assert (last.action, last.reason) == ("restored", f"undo of {memory.history(found.id)[1].id}")
    with pytest.raises(Conflict, match="undo the later change first"):
        memory.undo(memory.history(found.id)[1].id)


def test_undoing_keeps_when_the_memory_was_last_used_and_stated(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    put(memory, clock, "I live in Nantes", id=found.id)
    clock.advance(HOUR)
    with services(memory).store.write() as tx:
        tx.touch([found.id], used=clock.now(), seen=clock.now())
    clock.advance(HOUR)
    (undone,) = memory.undo(memory.history(found.id)[-1].id)
    assert (undone.last_used_at, undone.last_seen_at, undone.updated_at) == (clock.now() - HOUR, clock.now() - HOUR, clock.now())


def test_an_indexed_text_has_the_same_length_limit_as_a_text(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(settings={"max_text": 100})
    memory.remember("short", user="ana", index=["x" * 100])
    with pytest.raises(TextTooLong, match="a text of index"):
        memory.remember("short too", user="ana", index=["x" * 101])


def test_a_revision_conflict_names_the_expected_and_the_current_revision(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    with pytest.raises(RevisionConflict) as error:
        put(memory, clock, "I live in Lyon", if_revision=2)
    assert (error.value.expected, error.value.current, found.id in str(error.value)) == (2, 1, True)
    with pytest.raises(RevisionConflict) as error:
        put(memory, clock, "I live in Nantes", if_revision=1)
    assert (error.value.expected, error.value.current) == (1, 0)
    assert put(memory, clock, "I live in Nantes", if_revision=0).revision == 1
    assert put(memory, clock, "I live in Lyon", if_revision=1).id == found.id


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [("trust", (0, 1), (-0.01, 1.01, "1")), ("importance", (0, 10), (-0.1, 10.1, "9")), ("origin", ("auto", "file"), ("me",))],
)
def test_invalid_values_of_trust_importance_and_origin_are_refused(
    memory: Engine, clock: FrozenClock, field: str, good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    for number, value in enumerate(good):
        assert getattr(put(memory, clock, f"number {number}", **{field: value}), field) == value
    for value in bad:
        with pytest.raises(InvalidInput, match=field):
            put(memory, clock, "no", **{field: value})


def test_lists_and_times_are_accepted_up_to_their_limits(clock: FrozenClock) -> None:
    assert index_texts(["x"] * 100) == ("x",) * 100
    with pytest.raises(InvalidInput, match="the limit is 100"):
        index_texts(["x"] * 101)
    assert index_texts(["x" * (MAX_TEXT - 1), "y"])
    with pytest.raises(TextTooLong):
        index_texts(["x" * MAX_TEXT, "y"])
    assert (index_texts(True), index_texts(False), index_texts(["", " ", "a"])) == (None, (), ("a",))
    day = timedelta(days=1)
    check_expiry(clock.now() - day, clock.now())
    with pytest.raises(InvalidInput, match="expires_at"):
        check_expiry(clock.now() - day - timedelta(seconds=1), clock.now())


def test_a_text_that_is_not_indexed_may_be_four_times_as_long() -> None:
    assert MAX_UNINDEXED_TEXT == 4 * MAX_TEXT


def test_a_memory_stated_again_supersedes_others_from_the_time_that_it_names(memory: Engine, clock: FrozenClock) -> None:
    old = put(memory, clock, "I play the cello", valid_from=clock.now() - 48 * HOUR)
    new = put(memory, clock, "I play the viola")
    clock.advance(HOUR)
    since = clock.now() - 24 * HOUR
    again = put(memory, clock, "I play the viola", replaces=(old.id,), valid_from=since)
    assert again.id == new.id
    gone = every(memory)["I play the cello"]
    assert (gone.status, gone.replaced_by, gone.valid_to) == ("superseded", new.id, since)


def test_an_older_value_that_arrives_late_supersedes_nothing(memory: Engine, clock: FrozenClock) -> None:
    other = put(memory, clock, "I rent a flat in Lyon", valid_from=clock.now() - 72 * HOUR)
    put(memory, clock, "Porto", key="home", kind="profile", valid_from=clock.now() - HOUR)
    late = put(memory, clock, "Lyon", key="home", kind="profile", valid_from=clock.now() - 48 * HOUR, replaces=(other.id,))
    assert (late.status, every(memory)["I rent a flat in Lyon"].status) == ("superseded", "live")
