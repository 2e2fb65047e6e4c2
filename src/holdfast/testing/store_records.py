"""Conformance tests for records: sessions, messages, users, settings and spend.

A handle is an open store object. Several handles can be open on the same store.
"""
# ruff: noqa: PT011 - each store raises its own error on a conflict

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.protocols import MessageFilter, SessionFilter, Store
from holdfast.testing.samples import ANA, AT, BOB, DAY, SHARED, OpenStore, a_memory, a_message, a_session, remember, say
from holdfast.types import Scope, Spend, UserProfile, UserRecord


class SessionPromises:
    """Tests that every store must pass for session records."""

    def test_a_session_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a session is read back unchanged through another handle (a second open store object)."""
        session = a_session(scope=Scope(app="kitchen", user="ana", agent="chef"), metadata={"channel": "voice", "n": 1})
        with store.write() as tx:
            tx.add_session(session)
        assert open_store().session("ses_1") == session

    def test_an_unknown_session_is_none(self, store: Store) -> None:
        """Reading a session with an unknown id returns None and raises no error."""
        assert store.session("ses_absent") is None

    def test_a_session_id_is_unique_within_a_scope(self, store: Store) -> None:
        """Two scopes can have sessions with the same id. Changing or removing one session does not affect the other."""
        sessions = {scope: a_session("ses_1", scope=scope) for scope in (ANA, BOB, SHARED)}
        with store.write() as tx:
            for session in sessions.values():
                tx.add_session(session)
            tx.set_session(replace(sessions[BOB], status="ended"))
        assert store.session("ses_1") is None
        assert [store.session("ses_1", scope) for scope in (ANA, SHARED)] == [sessions[ANA], sessions[SHARED]]
        with store.write() as tx:
            assert tx.remove_sessions([("ses_1", ANA)])["sessions"] == 1
        assert store.session("ses_1", ANA) is None
        assert {session.scope for session in store.sessions(SessionFilter(ids=("ses_1",)))} == {BOB, SHARED}

    def test_client_ids_of_two_scopes_do_not_clash(self, store: Store) -> None:
        """Sessions with the same id in two scopes can have messages with the same client id."""
        say(store, a_message("hers", scope=ANA, client_id="c1"), a_message("his", scope=BOB, client_id="c1"))
        assert [m.text for m in store.messages(MessageFilter(session="ses_1", exactly=BOB))] == ["his"]

    def test_a_session_record_can_be_replaced(self, store: Store) -> None:
        """``set_session`` replaces the whole record."""
        changed = a_session(status="ended", ended_at=AT + DAY, last_at=AT + DAY, digested_to=7)
        with store.write() as tx:
            tx.add_session(a_session())
            tx.set_session(changed)
        assert store.session("ses_1") == changed

    def test_sessions_are_listed_by_last_activity_newest_first(self, store: Store) -> None:
        """Sessions are ordered by their last activity, not by their creation."""
        with store.write() as tx:
            for id, hours in (("old", 1), ("newest", 3), ("middle", 2)):
                tx.add_session(a_session(id, last_at=AT + timedelta(hours=hours)))
        assert [s.id for s in store.sessions(SessionFilter())] == ["newest", "middle", "old"]
        assert [s.id for s in store.sessions(SessionFilter(limit=1, offset=1))] == ["middle"]

    def test_sessions_are_read_in_pages_by_id(self, store: Store) -> None:
        """With ``after_id``, sessions are listed in the order of their ids (by code point), starting after this id."""
        with store.write() as tx:
            for id in ("b", "é", "B", "a"):
                tx.add_session(a_session(id))
        assert [s.id for s in store.sessions(SessionFilter(after_id="", limit=3))] == ["B", "a", "b"]
        assert [s.id for s in store.sessions(SessionFilter(after_id="b"))] == ["é"]

    def test_sessions_are_filtered_by_owner_status_and_inactivity(self, store: Store) -> None:
        """Each filter of ``SessionFilter`` works on its own."""
        with store.write() as tx:
            tx.add_session(a_session("a"))
            tx.add_session(a_session("b", scope=BOB, status="ended"))
            tx.add_session(a_session("c", scope=Scope(user="ana", app="kitchen"), last_at=AT + DAY))
        assert {s.id for s in store.sessions(SessionFilter(owner={"user": "ana"}))} == {"a", "c"}
        assert {s.id for s in store.sessions(SessionFilter(owner={"app": "kitchen"}))} == {"c"}
        assert {s.id for s in store.sessions(SessionFilter(statuses=["ended"]))} == {"b"}
        assert {s.id for s in store.sessions(SessionFilter(idle_since=AT))} == {"a", "b"}
        assert {s.id for s in store.sessions(SessionFilter(ids=("a", "b")))} == {"a", "b"}


class MessagePromises:
    """Tests that every store must pass for message records."""

    def test_a_message_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a message is read back unchanged. The store adds only the sequence number."""
        message = a_message(
            "¡Hola! \u4f60\u597d 👋\nsecond line",
            role="tool",
            speaker="Ana",
            client_id="c1",
            origin="web",
            action="noise",
            language="es",
            at=AT + timedelta(microseconds=1),
        )
        (stored,) = say(store, message)
        assert stored == replace(message, seq=stored.seq)
        assert open_store().messages(MessageFilter(session="ses_1")) == [stored]

    def test_sequence_numbers_only_grow(self, store: Store) -> None:
        """Each stored message gets a higher sequence number than the one before, even if its time is earlier."""
        stored = say(store, a_message("one", at=AT + DAY), a_message("two"), a_message("three", session="other"))
        assert [m.seq for m in stored] == sorted({m.seq for m in stored})
        assert stored[0].seq > 0

    def test_a_sequence_number_is_never_used_again(self, store: Store, open_store: OpenStore) -> None:
        """The sequence number of a removed message is not given to a later message, not even through another handle."""
        (last,) = say(store, a_message("soon gone"))
        with store.write() as tx:
            tx.remove_messages([last.id])
        (after,) = say(open_store(), a_message("the next"))
        assert after.seq > last.seq

    def test_messages_are_listed_oldest_first(self, store: Store) -> None:
        """Messages are ordered by sequence number, even if ``newest`` selects only the last ones."""
        say(store, *(a_message(text) for text in ("one", "two", "three")))
        assert [m.text for m in store.messages(MessageFilter(session="ses_1"))] == ["one", "two", "three"]
        assert [m.text for m in store.messages(MessageFilter(session="ses_1", newest=2))] == ["two", "three"]
        assert [m.text for m in store.messages(MessageFilter(session="ses_1", oldest=2))] == ["one", "two"]

    def test_messages_are_filtered_by_each_condition(self, store: Store) -> None:
        """Each filter of ``MessageFilter`` works on its own."""
        one, two, three = say(
            store,
            a_message("one", client_id="c1"),
            a_message("two", session="b", scope=BOB, at=AT + DAY),
            a_message("three", session="s", scope=SHARED, action="noise"),
        )
        assert store.messages(MessageFilter(ids=(one.id, two.id))) == [one, two]
        assert store.messages(MessageFilter(seqs=(three.seq,))) == [three]
        assert store.messages(MessageFilter(session="ses_1", client_id="c1")) == [one]
        assert store.messages(MessageFilter(after_seq=one.seq)) == [two, three]
        assert store.messages(MessageFilter(up_to_seq=two.seq)) == [one, two]
        assert store.messages(MessageFilter(up_to_seq=0)) == []
        assert store.messages(MessageFilter(actions=(None,))) == [one, two]
        assert store.messages(MessageFilter(actions=("noise", "other"))) == [three]
        assert store.messages(MessageFilter(actions=(None, "noise"))) == [one, two, three]
        assert store.messages(MessageFilter(actions=())) == []
        assert store.messages(MessageFilter(before=AT + DAY)) == [one, three]
        assert store.messages(MessageFilter(owner={"user": "bob"})) == [two]
        assert store.messages(MessageFilter(reader=ANA)) == [one, three]
        assert store.messages(MessageFilter(exactly=ANA)) == [one]
        assert store.messages(MessageFilter(exactly=Scope(app="nowhere"))) == []

    def test_a_client_id_is_unique_within_a_session(self, store: Store) -> None:
        """A second message with the same client id is refused in the same session, but accepted in another one."""
        say(store, a_message("one", client_id="c1"), a_message("elsewhere", session="other", client_id="c1"))
        with pytest.raises(Exception):  # noqa: B017
            say(store, a_message("again", client_id="c1"))
        assert [m.text for m in store.messages(MessageFilter(session="ses_1"))] == ["one"]

    def test_an_action_can_be_set_on_a_message_without_one(self, store: Store) -> None:
        """``set_action`` sets the action (a marker such as ``IGNORE``) of messages that have none, and changes nothing else.

        The deep check, which verifies the hash of every row, still passes.
        """
        plain, noise = say(store, a_message("one"), a_message("two", action="noise"))
        with store.write() as tx:
            tx.set_action([plain.id, noise.id, "msg_absent"], "forgotten")
        assert store.messages(MessageFilter()) == [replace(plain, action="forgotten"), noise]
        assert all(finding.ok for finding in store.check())

    def test_a_very_long_message_is_kept_whole(self, store: Store) -> None:
        """A message of a million characters is read back unchanged."""
        text = "All work and no play. " * 50_000
        (stored,) = say(store, a_message(text))
        assert store.messages(MessageFilter(ids=(stored.id,)))[0].text == text

    def test_many_ids_can_be_requested_at_once(self, store: Store) -> None:
        """A filter works with more ids than one SQL statement accepts as parameters."""
        (stored,) = say(store, a_message("one"))
        ids = [stored.id, *(f"absent_{n}" for n in range(40_000))]
        assert store.messages(MessageFilter(ids=ids)) == [stored]


class SettingPromises:
    """Tests that every store must pass for users, settings and the record of spend."""

    def test_costs_add_up_by_day_purpose_and_model(self, store: Store, open_store: OpenStore) -> None:
        """Spend is summed by day, purpose and model, separately for each tenant."""
        first = Spend(day="2026-03-01", purpose="digest", model="m", calls=1, input_tokens=10, output_tokens=2, cost=0.5)
        with store.write() as tx:
            tx.add_spend(first)
            tx.add_spend(replace(first, calls=2, energy=3.0, unpriced=1))
            tx.add_spend(replace(first, day="2026-03-02", purpose="compact"))
        added = replace(first, calls=3, input_tokens=20, output_tokens=4, cost=1.0, energy=3.0, unpriced=1)
        assert store.spend() == [added, replace(first, day="2026-03-02", purpose="compact")]
        assert [spend.purpose for spend in store.spend(since="2026-03-02")] == ["compact"]
        assert open_store(tenant="other").spend() == []

    def test_an_unknown_user_has_the_defaults(self, store: Store) -> None:
        """An unknown user has a default profile."""
        assert store.user("nobody") == UserProfile(user="nobody")

    def test_a_user_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """A stored profile is read back unchanged. Storing it again replaces it."""
        with store.write() as tx:
            tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
            tx.set_user(UserProfile(user="ana", timezone="America/Lima", language="es"))
        assert open_store().user("ana") == UserProfile(user="ana", timezone="America/Lima", language="es")

    def test_users_are_listed_by_name_with_counts(self, store: Store, open_store: OpenStore) -> None:
        """Every user with a profile, a memory, a session or a message is listed once, with counts of memories and sessions."""
        (old,) = remember(store, a_memory("retired", scope=Scope(user="retired")))
        remember(
            store,
            a_memory("one", scope=ANA),
            a_memory("two", scope=Scope(user="ana", app="kitchen"), at=AT + DAY),
            a_memory("expired", scope=ANA, expires_at=AT),
            a_memory("for all", scope=SHARED),
            a_memory("soon gone", scope=Scope(user="gone"), id="mem_gone"),
            replace(old, status="forgotten", recorded_at=AT + DAY, updated_at=AT + DAY),
        )
        say(store, a_message("Hi", scope=BOB, session="ses_bob", at=AT + 2 * DAY))
        with store.write() as tx:
            tx.add_session(a_session("ses_ana", scope=ANA))
            tx.set_user(UserProfile(user="zoë", timezone="Europe/Madrid"))
            tx.remove_memories(["mem_gone"])
        names = store.user_names()
        assert names == ["ana", "bob", "retired", "zoë"]
        assert store.user_records([*names, "nobody"], unexpired_at=AT) == [
            UserRecord(user="ana", memories=2, sessions=1, last_at=AT),  # of the session, not of the memory
            UserRecord(user="bob", sessions=1, last_at=AT + 2 * DAY),
            UserRecord(user="nobody"),
            UserRecord(user="retired", last_at=AT + DAY),
            UserRecord(user="zoë"),
        ]
        other = open_store(tenant="other")
        assert (other.user_names(), other.user_records(["ana"], unexpired_at=AT)) == ([], [UserRecord(user="ana")])

    def test_users_are_listed_in_pages(self, store: Store) -> None:
        """``limit`` and ``offset`` select a page of user names.

        Names are sorted by code point, whatever the database's collation is.
        """
        with store.write() as tx:
            for name in ("b", "Z", "a", "é"):
                tx.set_user(UserProfile(user=name))
        assert store.user_names() == ["Z", "a", "b", "é"]
        assert store.user_names(limit=2, offset=1) == ["a", "b"]
        assert store.user_names(offset=4) == []
        assert store.user_records([], unexpired_at=AT) == []

    def test_a_setting_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """A setting is None until it is set. Setting it again replaces the value."""
        assert store.setting("color") is None
        with store.write() as tx:
            tx.set_setting("color", "red")
            tx.set_setting("color", "grün")
            assert tx.setting("color") == "grün"
        assert open_store().setting("color") == "grün"
