"""A copy of a store has the same rows and returns the same hits. New rows in the copy get ids that the source has not used."""

from pathlib import Path

import apsw
import numpy as np
import pytest

from holdfast.services import services
from holdfast.stores.copying import COPIED, LEFT_OUT, CopyReport, copy_store, open_side
from holdfast.testing import HashEmbedder
from tests.stores.copying.support import TENANTS, copy, fill, open_engine, seen
from tests.stores.postgres.support import Server, psycopg, server

pytestmark = pytest.mark.long

__all__ = ["server"]

WAYS = ["sqlite to postgres", "postgres to sqlite", "sqlite to sqlite", "postgres to postgres"]


class Places:
    """Source stores with data, and the addresses of target stores that do not exist yet."""

    def __init__(self, folder: Path, server: Server, full: dict[str, str]) -> None:
        self._folder = folder
        self._server = server
        self._full = full

    def new(self, kind: str, name: str) -> str:
        return self._server.new(empty=True) if kind == "postgres" else str(self._folder / f"{name}.db")

    def pair(self, way: str) -> tuple[str, str]:
        """Return the addresses of a source with data, which the test must not change, and of a target that does not exist yet.

        ``way`` names their backends, such as ``sqlite to postgres``.
        """
        source, _, target = way.partition(" to ")
        return self._full[source], self.new(target, "target")

    def pair_to_change(self, way: str) -> tuple[str, str]:
        """Do the same as :meth:`pair`, but with a new source, which the test may change."""
        source, _, target = way.partition(" to ")
        own = self.new(source, "source")
        fill(own, memories=8)
        return own, self.new(target, "target")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, server: Server) -> dict[str, str]:
    found = {"sqlite": str(tmp_path_factory.mktemp("full") / "memory.db"), "postgres": server.new(empty=True)}
    for place in found.values():
        fill(place, memories=20)
    return found


@pytest.fixture
def places(tmp_path: Path, server: Server, full: dict[str, str]) -> Places:
    return Places(tmp_path, server, full)


def digests(report: CopyReport) -> dict[str, str]:
    return {each.table: each.target for each in report.tables}


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_contains_the_same_rows_and_gives_the_same_results(way: str, places: Places) -> None:
    source, target = places.pair(way)
    before = seen(source)
    report = copy(source, target)
    assert report.wrong == ()
    assert all(each.source == each.target for each in report.tables)
    assert seen(target) == before


def test_every_table_is_copied(places: Places, tmp_path: Path) -> None:
    source, target = places.pair_to_change("sqlite to postgres")
    for tenant in TENANTS:
        with open_engine(source, tenant) as memory:
            memory.backup(tmp_path / f"{TENANTS.index(tenant)}.backup.db")
    rows = {each.table: each.rows for each in copy(source, target).tables}
    assert set(rows) == set(COPIED)
    assert all(rows.values()), rows


def test_every_table_of_both_databases_is_copied_or_left_out_for_a_reason(places: Places) -> None:
    source, target = places.pair("sqlite to postgres")
    copy(source, target)
    here, there = open_side(source), open_side(target)
    tables = {row[0] for row in here.fetch("SELECT name FROM sqlite_schema WHERE type = 'table'", ())}
    tables |= {row[0] for row in there.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast'", ())}
    here.close()
    there.close()
    own = {name for name in tables if name.startswith(("sqlite_", "fulltext_"))}
    assert tables - own <= set(COPIED) | set(LEFT_OUT)


def test_copying_there_and_back_keeps_every_digest(places: Places) -> None:
    source, target = places.pair("sqlite to postgres")
    back = places.new("sqlite", "back")
    assert digests(copy(source, target)) == digests(copy(target, back))


def test_stored_vectors_are_reused_and_keep_their_cosines(places: Places) -> None:
    source, target = places.pair("sqlite to postgres")
    copy(source, target)
    cosines, waiting = [], []
    for place in (source, target):
        with open_engine(place) as memory:
            items = [each.item for each in memory.memories(user="ana", limit=20)]
            found = services(memory).store.similarities(HashEmbedder().name, items)
            assert found is not None
            cosines.append(found)
            waiting.append(memory.stats().waiting_for_vectors)
    assert waiting[0] == waiting[1]
    assert np.abs(cosines[0] - cosines[1]).max() < 0.005


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_no_item_number_is_used_twice_after_a_copy(way: str, places: Places) -> None:
    source, target = places.pair_to_change(way)
    with open_engine(source) as memory:
        gone = memory.remember("a number that is not given again", user="ana")
        with services(memory).store.write() as tx:
            tx.remove_memories([gone.id])
    copy(source, target)
    with open_engine(target) as memory:
        assert memory.remember("the next one", user="zoe").item > gone.item
        assert memory.recall("the next one", user="zoe")


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_passes_the_doctor_and_can_be_used(way: str, places: Places) -> None:
    source, target = places.pair(way)
    copy(source, target)
    with open_engine(target) as memory:
        assert [each for each in memory.doctor() if not each.ok] == []
        kept = memory.remember("prefers rooibos", user="ana", key="drink")
        memory.drain()
        assert memory.recall("rooibos", user="ana")[0].id == kept.id


def test_a_person_is_erased_from_a_copy_as_from_any_store(places: Places) -> None:
    source, target = places.pair("postgres to sqlite")
    copy(source, target)
    with open_engine(target) as memory:
        assert memory.erase(user="ana").memories
        assert [each for each in memory.recall("tea in the garden", user="ana") if each.found.scope.user == "ana"] == []


@pytest.mark.long
def test_an_encrypted_file_is_copied_with_its_key(places: Places, tmp_path: Path) -> None:
    source, target = str(tmp_path / "secret.db"), places.new("postgres", "target")
    key = "raw:" + "5a" * 32
    fill(source, key=key)
    assert copy(source, target, key=key).wrong == ()
    assert seen(target) == seen(source, key=key)


def test_a_finished_copy_is_verified_and_nothing_is_copied(places: Places) -> None:
    source, target = places.pair("sqlite to postgres")
    first = copy(source, target)
    again = copy(source, target)
    assert (first.copied, again.copied) == (first.rows, 0)
    assert (again.wrong, digests(again)) == ((), digests(first))


def test_rows_written_during_a_copy_are_not_copied_in_part(places: Places) -> None:
    source, target = places.pair_to_change("sqlite to postgres")
    here, there = open_side(source), open_side(target, new=True)
    with open_engine(source) as memory:
        written: list[str] = []

        def write(*_: object) -> None:
            if len(written) < 5:
                written.append(memory.remember(f"written meanwhile, {len(written)}", user="ana").id)

        report = copy_store(here, there, progress=write, batch=10)
    here.close()
    there.close()
    assert report.wrong == ()
    with open_engine(target) as memory:
        assert not [each for each in memory.memories(user="ana", limit=1000) if each.id in written]


@pytest.fixture
def plain_url(server: Server) -> str:
    """The address of an empty database. It names a user to whom row level security applies."""
    url = server.new(empty=True)
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'copier'").fetchone():
            connection.execute("CREATE ROLE copier LOGIN")
        connection.execute("CREATE EXTENSION vector")
        connection.execute(f"ALTER DATABASE {name} OWNER TO copier")
    return str(psycopg.conninfo.make_conninfo(url, user="copier"))


@pytest.mark.long
def test_a_user_bound_by_row_level_security_copies_every_tenant(places: Places, plain_url: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(plain_url)
    bound = f"postgresql://copier@/{parts['dbname']}?host={parts['host']}"
    source, back = places.new("sqlite", "source"), places.new("sqlite", "back")
    fill(source)
    there = copy(source, bound, batch=50)
    assert there.wrong == ()
    again = copy(bound, back, batch=50)
    assert (again.wrong, digests(again)) == ((), digests(there))
    assert seen(bound) == seen(back)


def test_a_damaged_row_is_reported(places: Places) -> None:
    source, target = places.pair_to_change("sqlite to postgres")
    apsw.Connection(source).execute("UPDATE memories SET text = 'flipped' WHERE item = (SELECT max(item) FROM memories)")
    (wrong,) = copy(source, target).wrong
    assert "memories: 1 rows do not have the hash" in wrong
