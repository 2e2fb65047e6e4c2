"""Conformance tests for apps: their records, sharing, and counts per app."""

from dataclasses import replace

from holdfast.protocols import AppChanges, DayCount, MemoryFilter, MessageFilter, SearchFilter, SessionFilter, Store
from holdfast.testing.samples import AT, DAY, OpenStore, a_change, a_memory, a_message, a_session, remember, say
from holdfast.types import AppRecord, Author, Scope

KITCHEN = Scope(app="kitchen")
HALL = Scope(app="hall")


class AppPromises:
    """Tests that every store must pass for app records, sharing between apps, and counts per app."""

    def test_an_app_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of an app is read back after the store is opened again. Storing an app again replaces the old record.

        Other tenants do not see the app.
        """
        record = AppRecord(
            app="kitchen", name="Küche 🍳", installed_at=AT, uninstalled_at=AT + DAY, shares_with=("hall", "*"), metadata={"n": 1}
        )
        with store.write() as tx:
            tx.set_app(AppRecord(app="kitchen"))
            tx.set_app(record)
            tx.set_app(AppRecord(app="attic"))
            assert tx.app("kitchen") == record
        assert open_store().app("kitchen") == record
        assert store.apps() == [AppRecord(app="attic"), record]
        assert store.app("absent") is None
        assert (open_store(tenant="other").apps(), open_store(tenant="other").app("kitchen")) == ([], None)

    def test_apps_that_share_with_a_given_app_are_listed(self, store: Store, open_store: OpenStore) -> None:
        """An app shares with a reading app if its sharing list names the reading app or all apps.

        The reading app itself and uninstalled apps are not listed.
        """
        with store.write() as tx:
            tx.set_app(AppRecord(app="kitchen", shares_with=("hall",)))
            tx.set_app(AppRecord(app="open", shares_with=("*",)))
            tx.set_app(AppRecord(app="gone", shares_with=("*",), uninstalled_at=AT))
            tx.set_app(AppRecord(app="shut"))
        assert store.apps_sharing_with("hall") == ["kitchen", "open"]
        assert store.apps_sharing_with("attic") == ["open"]
        assert store.apps_sharing_with("open") == []
        assert open_store(tenant="other").apps_sharing_with("hall") == []

    def test_a_reader_sees_shared_memories_of_other_apps_and_not_their_messages(self, store: Store) -> None:
        """``also_apps`` lets a reader see the memories of other apps, but not their messages.

        With ``apps``, only the memories of the named apps are listed.
        """
        anas = Scope(app="kitchen", user="ana")
        remember(store, a_memory("their pangolin", scope=KITCHEN), a_memory("ana's pangolin", scope=anas))
        remember(store, a_memory("own pangolin", scope=HALL), a_memory("everyone's pangolin", scope=Scope()))
        say(store, a_message("a pangolin was said", scope=KITCHEN))
        reader = replace(HALL, also_apps=("kitchen",))
        seen = {memory.text for memory in store.memories(MemoryFilter(reader=reader))}
        assert seen == {"their pangolin", "own pangolin", "everyone's pangolin"}
        items = {memory.item for memory in store.memories(MemoryFilter(reader=reader))}
        where = SearchFilter(reader=reader, spaces=("memory", "message"))
        assert {match.item for match in store.find_text("pangolin", where, languages=["en"], limit=9)} == items
        assert store.messages(MessageFilter(reader=reader)) == []
        assert [m.text for m in store.memories(MemoryFilter(reader=reader, apps=("kitchen",)))] == ["their pangolin"]
        assert store.memories(MemoryFilter(reader=HALL, apps=("kitchen",))) == []
        for user in ("ana", "bob"):
            own = replace(reader, user=user)
            assert ("ana's pangolin" in {m.text for m in store.memories(MemoryFilter(reader=own))}) == (user == "ana")

    def test_live_memories_are_counted_by_app(self, store: Store) -> None:
        """Live memories of all users are counted. Retired and expired memories, and memories without an app, are not."""
        (old,) = remember(store, a_memory("retired", scope=KITCHEN))
        remember(
            store,
            a_memory("one", scope=KITCHEN),
            a_memory("two", scope=Scope(app="kitchen", user="ana")),
            a_memory("three", scope=HALL),
            a_memory("expired", scope=HALL, expires_at=AT),
            a_memory("of no app"),
            replace(old, status="forgotten", recorded_at=AT + DAY),
        )
        assert store.memories_by_app(unexpired_at=AT) == {"kitchen": 2, "hall": 1}

    def test_changes_are_counted_by_app_and_author(self, store: Store) -> None:
        """Only changes since the given time are counted. Several changes in one batch are counted as one batch."""
        one, two, before = remember(
            store, a_memory("one", scope=KITCHEN), a_memory("two", scope=KITCHEN), a_memory("before", scope=HALL)
        )
        digest, compact = Author(actor="digest"), Author(actor="compact")
        with store.write() as tx:
            tx.add_change(a_change(one, batch="bat_1", author=digest, at=AT))
            tx.add_change(a_change(two, batch="bat_2", author=digest, at=AT + DAY))
            tx.add_change(a_change(one, batch="bat_3", author=compact, action="retired", at=AT + DAY))
            tx.add_change(a_change(two, batch="bat_3", author=compact, action="revised", at=AT + DAY))
            tx.add_change(a_change(before, batch="bat_0", author=digest, at=AT - DAY))
        assert store.changes_by_app(since=AT) == [
            AppChanges("kitchen", "compact", 0, 1),
            AppChanges("kitchen", "digest", 2, 2),
        ]
        assert store.changes_by_app(since=AT + 2 * DAY) == []

    def test_memories_are_counted_by_the_day_of_their_creation(self, store: Store) -> None:
        """Each new memory is counted once, by kind. Later revisions, and memories from before the period, are not counted."""
        one, two, before = remember(store, a_memory("one"), a_memory("two"), a_memory("before"))
        with store.write() as tx:
            tx.add_change(a_change(one, batch="bat_1", at=AT))
            tx.add_change(a_change(two, batch="bat_2", at=AT + DAY))
            tx.add_change(a_change(one, batch="bat_3", action="revised", at=AT + DAY))
            tx.add_change(a_change(before, batch="bat_0", at=AT - DAY))
        days = [AT.date().isoformat(), (AT + DAY).date().isoformat()]
        assert store.memories_by_day(since=AT) == [DayCount(day, one.kind, 1) for day in days]

    def test_sessions_are_filtered_by_last_activity(self, store: Store) -> None:
        """``active_since`` selects sessions by their last activity."""
        with store.write() as tx:
            tx.add_session(a_session("old"))
            tx.add_session(a_session("new", last_at=AT + DAY))
        assert [session.id for session in store.sessions(SessionFilter(active_since=AT + DAY))] == ["new"]

    def test_a_removed_app_has_no_record_and_no_share_names_it(self, store: Store) -> None:
        """Removing an app removes its record and its name from the sharing lists of other apps."""
        with store.write() as tx:
            tx.set_app(AppRecord(app="kitchen", name="The kitchen"))
            tx.set_app(AppRecord(app="hall", shares_with=("kitchen", "attic")))
            tx.remove_scope({"app": "kitchen", "user": "ana"})
            assert tx.app("kitchen") is not None
            tx.remove_scope({"app": "kitchen"})
        assert store.apps() == [AppRecord(app="hall", shares_with=("attic",))]
