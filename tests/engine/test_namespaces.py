"""Namespaces, long keys, equal texts under different keys, several indexed texts, hits in pages, and vectors of the caller."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Engine, InvalidInput, NotFound, TextTooLong
from holdfast.testing import HashEmbedder

BOTH = pytest.mark.everywhere("sqlite", "postgres")


def _fill(memory: Engine) -> None:
    for namespace in [("docs",), ("docs", "2025"), ("docs", "2026"), ("docs", "2026", "may"), ("docsx",), ("chat", "2026")]:
        memory.remember(f"a note about rivers in {'/'.join(namespace)}", user="ana", namespace=namespace)
    memory.remember("a note about rivers", user="ana")


@pytest.mark.ledger("X40")
@BOTH
def test_namespaces_are_listed_by_prefix_suffix_and_depth(memory: Engine) -> None:
    _fill(memory)
    ana = memory.for_user("ana")
    assert ana.namespaces() == [
        ("chat", "2026"),
        ("docs",),
        ("docs", "2025"),
        ("docs", "2026"),
        ("docs", "2026", "may"),
        ("docsx",),
    ]
    assert ana.namespaces(prefix=("docs",)) == [("docs",), ("docs", "2025"), ("docs", "2026"), ("docs", "2026", "may")]
    assert ana.namespaces(suffix=("2026",)) == [("chat", "2026"), ("docs", "2026")]
    assert ana.namespaces(prefix=("*", "2026")) == [("chat", "2026"), ("docs", "2026"), ("docs", "2026", "may")]
    assert ana.namespaces(prefix=("docs", "*"), suffix=("may",)) == [("docs", "2026", "may")]
    assert ana.namespaces(max_depth=1) == [("chat",), ("docs",), ("docsx",)]
    assert ana.namespaces(max_depth=2, limit=2, offset=1) == [("docs",), ("docs", "2025")]
    assert ana.namespaces(kind="decision") == []
    assert memory.namespaces(user="bob") == memory.namespaces() == []
    for wrong in ({"max_depth": 0}, {"limit": -1}, {"prefix": "docs"}, {"prefix": ("",)}):
        with pytest.raises(InvalidInput):
            ana.namespaces(**wrong)


@BOTH
def test_a_namespace_or_its_prefix_filters_lists_counts_and_recall(memory: Engine) -> None:
    _fill(memory)
    memory.drain()
    ana = memory.for_user("ana")

    def listed(**wanted: Any) -> set[tuple[str, ...]]:
        found = {each.namespace for each in ana.memories(**wanted)}
        assert ana.count_memories(**wanted) == len(found)
        hits = ana.recall("a note about rivers", **wanted, distinct=False)
        assert {hit.memory.namespace for hit in hits if hit.memory} == found
        return found

    assert listed(namespace=("docs",)) == {("docs",)}
    assert listed(namespace=()) == {()}
    assert listed(namespace_prefix=("docs",)) == {("docs",), ("docs", "2025"), ("docs", "2026"), ("docs", "2026", "may")}
    assert listed(namespace_prefix=("docs", "2026")) == {("docs", "2026"), ("docs", "2026", "may")}
    assert listed(namespace=("nothing",)) == set()
    assert len(listed()) == 7


@BOTH
def test_a_forgotten_or_expired_memory_leaves_no_namespace(memory: Engine) -> None:
    first = memory.remember("one", user="ana", namespace=("a",))
    memory.remember("two", user="ana", namespace=("b",), expires_at="2026-03-01T11:00:00Z")
    memory.forget(first.id)
    assert memory.namespaces(user="ana") == []


@BOTH
def test_equal_texts_stay_different_in_other_namespaces_and_under_other_keys(memory: Engine) -> None:
    ana = memory.for_user("ana")
    ids = {
        ana.remember("meeting notes", key=key, namespace=namespace).id
        for key in ("monday", "tuesday")
        for namespace in ((), ("work",), ("work", "old"), ("Work",))
    }
    assert len(ids) == ana.count_memories() == 8
    assert ana.remember("Meeting notes.", key="monday", namespace=("work",)).id in ids
    memory.drain()
    assert len(ana.recall("meeting notes", limit=20)) == 1
    assert {hit.id for hit in ana.recall("meeting notes", limit=20, distinct=False)} == ids
    assert len(ana.memories(key="monday", namespace=("work",))) == 1


@BOTH
def test_one_value_per_key_holds_within_a_namespace(memory: Engine) -> None:
    for namespace in ((), ("a",), ("b",)):
        memory.remember("baking", kind="context", key="task", user="ana", namespace=namespace)
    memory.remember("washing", kind="context", key="task", user="ana", namespace=("a",))
    tasks = {each.namespace: each.text for each in memory.memories(user="ana", key="task")}
    assert tasks == {(): "baking", ("a",): "washing", ("b",): "baking"}


def test_forgetting_a_key_stays_within_its_namespace(memory: Engine) -> None:
    for namespace in ((), ("a",), ("a", "b")):
        memory.remember("tea", key="drink", user="ana", namespace=namespace)
    assert memory.forget(key="drink", user="ana") == 1
    assert memory.for_user("ana").forget(key="drink", namespace=("a",)) == 1
    assert [each.namespace for each in memory.memories(user="ana")] == [("a", "b")]
    with pytest.raises(NotFound):
        memory.forget(key="drink", user="ana", namespace=("c",))


@pytest.mark.parametrize(
    "namespace", ["docs", ("",), ("a\x1fb",), ("a\x00",), (1,), ("\ud800",), {"a": 1}, ("x" * 2000,), ("ñ" * 300,) * 2], ids=repr
)
def test_a_wrong_namespace_is_refused(memory: Engine, namespace: Any) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        memory.remember("x", user="ana", namespace=namespace)


@BOTH
def test_namespace_labels_are_stored_exactly(memory: Engine, open_memory: Callable[..., Engine]) -> None:
    labels = (" a  b\n", "É/%_'\"", "*", "emoji 🦭", "a", "\x1e")
    memory.remember("x", user="ana", namespace=labels)
    assert open_memory().namespaces(user="ana") == [labels]
    assert len(memory.memories(user="ana", namespace=labels)) == 1
    assert memory.memories(user="ana", namespace_prefix=(" a b",)) == []


@BOTH
@pytest.mark.parametrize("column", ["namespace", "indexed"])
def test_an_altered_namespace_or_index_is_found_by_doctor(memory: Engine, column: str) -> None:
    memory.remember("x", user="ana", namespace=("a",), index=["y"])
    assert all(finding.ok for finding in memory.doctor())
    with memory._services.store.write() as tx:
        tx._connection.execute(f"UPDATE memories SET {column} = ?", ("b\x1f",))  # type: ignore[attr-defined]
    assert any(not finding.ok for finding in memory.doctor())


@BOTH
def test_learning_leaves_memories_in_a_namespace_alone(memory: Engine) -> None:
    kept = memory.remember("I live in Lyon now.", user="ana", namespace=("archive",))
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Madrid now.")
    memory.drain()
    assert memory.get(kept.id).status == "live"
    assert {each.text for each in memory.memories(user="ana", kind="fact")} == {"I live in Lyon now.", "I live in Madrid now."}


@BOTH
def test_a_key_may_be_long(memory: Engine) -> None:
    key = "/".join(f"päth{n}-{n * 7919:x}" for n in range(270))
    assert 3000 < len(key) < 4096
    stored = memory.remember("a value", key=key, user="ana")
    assert [each.id for each in memory.memories(user="ana", key=key)] == [stored.id]
    assert memory.forget(key=key, user="ana") == 1
    with pytest.raises(TextTooLong, match="key"):
        memory.remember("x", key="k" * 4097, user="ana")


@BOTH
def test_several_texts_of_a_memory_are_indexed(memory: Engine) -> None:
    ana = memory.for_user("ana")
    both = ana.remember('{"id": 7}', index=["rivers of Galicia", "bread recipes"])
    plain = ana.remember("a note about owls")
    memory.drain()
    assert next(hit.id for hit in ana.recall("bread recipes")) == both.id
    assert next(hit.id for hit in ana.recall("rivers Galicia")) == both.id
    assert both.indexed == ("rivers of Galicia", "bread recipes")
    assert next(hit.id for hit in ana.recall("owls")) == plain.id
    assert both.id not in [hit.id for hit in ana.recall('"id": 7') if hit.score_by("text")]
    changed = ana.revise(both.id, index=["winter tires"])
    memory.drain()
    assert next(hit.id for hit in ana.recall("winter tires")) == changed.id
    assert all(hit.id != changed.id for hit in ana.recall("bread recipes") if hit.score_by("text"))
    assert ana.revise(both.id, index=True).indexed is None
    assert memory.stats().waiting_for_vectors in (0, 1)
    assert all(finding.ok for finding in memory.doctor())


@BOTH
def test_a_memory_that_is_not_indexed_is_never_found_but_listed(memory: Engine) -> None:
    ana = memory.for_user("ana")
    hidden = ana.remember("a note about owls", index=False)
    memory.drain()
    assert ana.recall("owls") == []
    assert [each.id for each in ana.memories()] == [hidden.id]
    assert memory.stats().vectors == 0
    shown = ana.revise(hidden.id, "another note about owls", index=True)
    memory.drain()
    assert [hit.id for hit in ana.recall("owls")] == [shown.id]
    ana.revise(hidden.id, index=False)
    assert ana.recall("owls") == []


@pytest.mark.parametrize("index", ["text", 7, [1], ["x"] * 101], ids=str)
def test_a_wrong_index_is_refused(memory: Engine, index: Any) -> None:
    with pytest.raises(InvalidInput, match="index"):
        memory.remember("x", user="ana", index=index)


def test_indexed_texts_are_redacted_and_erased(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    stored = memory.remember("a login", user="ana", index=["password: hunter2hunter2", "quiet axolotls dream"])
    assert stored.indexed is not None
    assert "hunter2hunter2" not in stored.indexed[0]
    receipt = memory.erase(user="ana")
    assert receipt.verified
    assert files_with("axolotl") == []


@BOTH
def test_pages_of_hits_add_up_to_all_hits(memory: Engine) -> None:
    ana = memory.for_user("ana")
    for n in range(12):
        ana.remember(f"note {n} about rivers and bridges", importance=n % 10)
    memory.drain()
    whole = [hit.id for hit in ana.recall("rivers and bridges", limit=12, distinct=False)]
    pages = [hit.id for offset in (0, 5, 10) for hit in ana.recall("rivers and bridges", limit=5, offset=offset, distinct=False)]
    assert pages == whole
    assert len(whole) == 12
    assert ana.recall("rivers", limit=5, offset=100) == []
    with pytest.raises(InvalidInput, match="offset"):
        ana.recall("rivers", offset=-1)


@BOTH
def test_a_query_may_come_with_its_vector(memory: Engine) -> None:
    ana = memory.for_user("ana")
    rivers = ana.remember("rivers and bridges")
    ana.remember("bread and butter")
    memory.drain()
    vector = HashEmbedder().embed(["rivers and bridges"], role="query")[0]
    for given in (vector, vector.tolist(), (10 * vector).tolist()):
        best = ana.recall("", vector=given)[0]
        assert best.id == rivers.id
        assert best.similarity == pytest.approx(1.0, abs=0.02)
        assert best.score_by("meaning") is not None
    assert ana.recall("bread", vector=vector)[0].id == rivers.id


@pytest.mark.parametrize("vector", [[1.0], [[1.0]], ["a"], [float("nan")] * 384, [0.0] * 384, 3], ids=str)
def test_a_wrong_vector_is_refused(memory: Engine, vector: Any) -> None:
    with pytest.raises(InvalidInput, match="vector"):
        memory.recall("x", user="ana", vector=vector)


def test_a_vector_without_an_embedder_is_refused(open_memory: Callable[..., Engine]) -> None:
    with pytest.raises(InvalidInput, match="needs an embedder"):
        open_memory(embedder="none").recall("x", user="ana", vector=[1.0])
