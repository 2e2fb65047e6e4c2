"""Conformance tests for traces of context blocks."""

from dataclasses import replace

from holdfast.protocols import Store, TraceFilter
from holdfast.testing.samples import ANA, AT, BOB, DAY, OpenStore, a_message, a_session
from holdfast.types import OFF_RECORD, Reason, Trace, TracedCandidate

TRACE = Trace(
    id="trc_1",
    scope=ANA,
    at=AT,
    question="¿Dónde vivo? 🏠",
    session="ses_1",
    message="msg_q",
    tokens=12,
    max_tokens=800,
    milliseconds=3.5,
    steps={"search": 2.25},
    arms={"meaning": 2},
    found=2,
    floor=0.5,
    preset="default",
    embedder="hash",
    notices=("Searched by words only: it is away.",),
    candidates=(
        TracedCandidate(
            id="mem_1",
            kind="fact",
            outcome="shown",
            rank=1,
            score=0.5,
            margin=1.0,
            strength=2.0,
            similarity=0.25,
            why=(Reason(arm="meaning", rank=1, score=0.25),),
            revision=2,
        ),
        TracedCandidate(id="mem_2", kind="fact", outcome="duplicate", repeats="mem_1"),
    ),
)


def _ids(store: Store) -> list[str]:
    return [trace.id for trace in store.traces(TraceFilter())]


class TracePromises:
    """Tests that every store must pass for traces."""

    def test_a_trace_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a trace is read back. Other tenants do not see the trace."""
        with store.write() as tx:
            tx.add_trace(TRACE)
            assert tx.traces(TraceFilter(ids=["trc_1"])) == [TRACE]
        assert open_store().traces(TraceFilter()) == [TRACE]
        assert open_store(tenant="other").traces(TraceFilter()) == []

    def test_traces_are_listed_newest_first_and_filtered(self, store: Store) -> None:
        """Traces are listed newest first, and can be filtered by owner, session and message."""
        later = replace(TRACE, id="trc_2", scope=BOB, at=AT + DAY, session=None, message=None)
        with store.write() as tx:
            tx.add_trace(TRACE)
            tx.add_trace(later)
        assert _ids(store) == ["trc_2", "trc_1"]
        assert [each.id for each in store.traces(TraceFilter(limit=1, offset=1))] == ["trc_1"]
        assert store.traces(TraceFilter(owner={"user": "bob"})) == [later]
        assert store.traces(TraceFilter(session="ses_1")) == [TRACE]
        assert store.traces(TraceFilter(messages=["msg_q"], exactly=ANA)) == [TRACE]
        assert store.traces(TraceFilter(messages=["msg_q"], exactly=BOB)) == []

    def test_traces_are_removed_by_age_number_owner_item_and_text(self, store: Store, open_store: OpenStore) -> None:
        """Each argument of ``remove_traces`` removes exactly the traces that it selects. Other tenants' traces stay."""
        other = open_store(tenant="other")
        with other.write() as tx:
            tx.add_trace(TRACE)
        plain = replace(TRACE, candidates=(), question="What?")
        with store.write() as tx:
            for number in range(6):
                tx.add_trace(replace(plain, id=f"trc_{number}", at=AT + number * DAY))
            tx.add_trace(replace(plain, id="listing", at=AT + 6 * DAY, candidates=TRACE.candidates))
            tx.add_trace(replace(plain, id="repeating", at=AT + 7 * DAY, question="Is it Xanadú, really?"))
            tx.add_trace(replace(plain, id="of_bob", at=AT + 8 * DAY, scope=BOB))
        assert store.has_traces(before=AT + DAY)
        assert not store.has_traces(before=AT)
        with store.write() as tx:
            assert tx.remove_traces(before=AT + DAY) == 1
            assert tx.remove_traces(keep=7) == 1
            assert tx.remove_traces(items=["mem_2", "mem_9"]) == 1
            assert tx.remove_traces(texts=["IS IT XANADU"]) == 1
            assert tx.remove_traces(owner={"user": "bob"}) == 1
            assert tx.remove_traces(ids=["trc_3"]) == 1
            assert tx.remove_traces(ids=[]) == 0
        assert _ids(store) == ["trc_5", "trc_4", "trc_2"]
        assert len(other.traces(TraceFilter())) == 1

    def test_a_trace_is_removed_with_its_message_session_or_scope(self, store: Store) -> None:
        """A trace is removed when its message, session or scope is removed.

        A trace without a message is removed as soon as any message of its session is removed.
        """
        for remove in ("message", "action", "session", "scope", "withheld"):
            session = f"ses_{remove}"
            with store.write() as tx:
                tx.add_session(a_session(session))
                question = tx.add_message(a_message("Where do I live?", session=session))
                other = tx.add_message(a_message("I like tea.", session=session))
                own = replace(TRACE, session=session, message=question.id)
                tx.add_trace(replace(own, id="of_question"))
                tx.add_trace(replace(own, id="of_other", message=other.id))
                tx.add_trace(replace(own, id="of_session", message=None))
                tx.add_trace(replace(own, id="of_bob", scope=BOB, session=None, message=None))
            with store.write() as tx:
                if remove == "message":
                    tx.remove_messages([question.id])
                elif remove == "action":
                    tx.set_action([question.id], OFF_RECORD)
                elif remove == "withheld":
                    tx.add_message(a_message("Where do I live?", session=session, action=OFF_RECORD))
                elif remove == "session":
                    tx.remove_sessions([(session, ANA)])
                else:
                    tx.remove_scope({"user": "ana"})
            left = {"withheld": {"of_question", "of_other"}, "session": set(), "scope": set()}.get(remove, {"of_other"})
            assert set(_ids(store)) == {*left, "of_bob"}, remove
            with store.write() as tx:
                tx.remove_traces(keep=0)
