"""Single flipped bits in a store's file and in topic files: the doctor finds them, nothing crashes, and other rows are served."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast import Engine
from holdfast.errors import HoldfastError, StoreCorrupt, StoreError
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import HashEmbedder
from holdfast.testing.samples import a_memory, a_message, remember, say
from tests.topic_files.support import PRESET, Workspace

pytestmark = pytest.mark.ledger("X6")

_ROWS = 300
_FLIPS = 300
_WORDS = ["breakfast", "umbrella", "corazón", "lantern", "seventeen", "jazmín", "violet", "harbour", "ticket", "window"]


@pytest.fixture(scope="module")
def full_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store file with a few hundred rows whose texts are easy to find in the file's bytes."""
    path = tmp_path_factory.mktemp("flips") / "memory.db"
    store = SQLiteStore(path)
    chance = random.Random(3)
    remember(store, *(a_memory(f"MEM{n:04} " + " ".join(chance.choices(_WORDS, k=12))) for n in range(_ROWS // 2)))
    say(store, *(a_message(f"MSG{n:04} " + " ".join(chance.choices(_WORDS, k=12))) for n in range(_ROWS // 2)))
    store.close()
    return path


def _texts(path: Path) -> dict[str, str]:
    """Return the text of each row by its id."""
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT id, text FROM memories UNION ALL SELECT id, text FROM messages")
    texts = {str(id): str(text) for id, text in rows}
    connection.close()
    return texts


def _with_flip(data: bytes, place: int, bit: int) -> bytearray:
    altered = bytearray(data)
    altered[place] ^= 1 << bit
    return altered


@pytest.mark.long
def test_single_flipped_bits_in_stored_text_are_found_and_other_rows_are_served(full_file: Path, tmp_path: Path) -> None:
    data, texts = full_file.read_bytes(), _texts(full_file)
    chance = random.Random(7)
    places = [(id, start, len(text.encode())) for id, text in texts.items() if (start := data.find(text.encode())) >= 0]
    assert len(places) > _ROWS * 0.9
    memories = [id for id in texts if id.startswith("mem")]
    missed, unserved = [], []
    for flip in range(_FLIPS):
        damaged, start, length = chance.choice(places)
        path = tmp_path / "memory.db"
        path.write_bytes(_with_flip(data, start + chance.randrange(length), chance.randrange(8)))
        store = SQLiteStore(path)
        try:
            if not _damage_is_seen(store):
                missed.append(flip)
            other = chance.choice([id for id in memories if id != damaged])
            if [found.text for found in store.memories(MemoryFilter(ids=[other]))] != [texts[other]]:
                unserved.append(flip)
        finally:
            store.close()
    assert missed == []
    assert unserved == []


def _damage_is_seen(store: SQLiteStore) -> bool:
    try:
        return any(not finding.ok for finding in store.check())
    except (HoldfastError, UnicodeDecodeError):
        return True


def test_the_check_reports_text_that_is_no_longer_valid(full_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    data = full_file.read_bytes()
    path.write_bytes(_with_flip(data, data.find(b"MEM0001") + 3, 7))
    store = SQLiteStore(path)
    try:
        assert [finding for finding in store.check() if not finding.ok]
        with pytest.raises(StoreCorrupt):
            store.memories(MemoryFilter())
    finally:
        store.close()


@pytest.mark.long
def test_the_doctor_survives_any_flipped_bit_or_byte(full_file: Path, tmp_path: Path) -> None:
    data = full_file.read_bytes()
    chance = random.Random(11)
    for number in range(_FLIPS):
        altered = _with_flip(data, place := chance.randrange(len(data)), chance.randrange(8))
        if number % 3 == 0:  # in the header of a page, where a wrong byte does most harm
            altered[place - place % 4096 + chance.randrange(12)] ^= 0xFF
        path = tmp_path / "memory.db"
        path.write_bytes(altered)
        try:
            with holdfast.open(path, embedder="none", worker="none") as memory:
                assert memory.doctor()
        except StoreError:
            pass  # refused with a typed error, which says what to do
        finally:
            for file in tmp_path.iterdir():
                file.unlink()


@pytest.fixture
def with_vectors(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker="none") as memory:
        for number in range(40):
            memory.remember(f"{_WORDS[number % len(_WORDS)]} number {number}", user="ana")
        memory.drain()
    return path


def _damage_scale(path: Path) -> None:
    """Flip a bit of the exponent in the scale of one vector."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE vectors SET scale = scale * 65536 WHERE item = (SELECT min(item) FROM vectors)")
    connection.close()


def _rebuild(memory: Engine) -> None:
    store = services(memory).store
    assert isinstance(store, SQLiteStore)
    store.rebuild_index()


def _similarity(memory: Engine) -> float:
    """Return how similar the damaged memory is to a query that has nothing to do with it."""
    hits = {hit.text: hit.similarity for hit in memory.recall("lantern number 13", user="ana", limit=40)}
    return hits["breakfast number 0"] or 0.0


def test_a_damaged_vector_is_reported_and_embedded_again(with_vectors: Path) -> None:
    _damage_scale(with_vectors)
    with holdfast.open(with_vectors, embedder=HashEmbedder(), worker="none") as memory:
        assert [finding.check for finding in memory.doctor() if not finding.ok] == ["vector lengths"]
        assert _similarity(memory) == 1.0, "it looks like an exact match for every query"
        _rebuild(memory)
        assert memory.stats().waiting_for_vectors == 1
        memory.drain()
        assert [finding.check for finding in memory.doctor() if not finding.ok] == []
        assert _similarity(memory) < 0.9


def test_a_rebuild_keeps_sound_vectors(with_vectors: Path) -> None:
    with holdfast.open(with_vectors, embedder=HashEmbedder(), worker="none") as memory:
        _rebuild(memory)
        assert memory.stats().waiting_for_vectors == 0


@pytest.mark.long
@pytest.mark.ledger("X10")
def test_flipped_bits_in_topic_files_crash_nothing_and_delete_no_memory(open_memory: Callable[..., Engine], folder: Path) -> None:
    workspace = Workspace(open_memory(preset=PRESET, embedder=None), folder / "topics")
    chance = random.Random(5)
    kept = {workspace.keep(" ".join(chance.sample(_WORDS, 5)), topic).text for topic in ("one", "two") for _ in range(6)}
    workspace.files.sync()
    sound = folder.parent / "sound"
    shutil.copytree(workspace.topics, sound)
    for _ in range(_FLIPS // 3):
        page = chance.choice(sorted(sound.glob("*.md")))
        data = page.read_bytes()
        workspace.save_bytes(bytes(_with_flip(data, chance.randrange(len(data)), chance.randrange(8))), page.name)
        for question in workspace.files.sync().questions:
            workspace.files.refuse(question.id)
        workspace.save_bytes(data, page.name)
        for question in workspace.files.sync().questions:
            workspace.files.confirm(question.id)
    assert kept <= set(workspace.known(None))
