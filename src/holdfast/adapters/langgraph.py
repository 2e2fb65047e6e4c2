"""A LangGraph store: the long-term memory of a graph, kept in Holdfast.

::

    import holdfast
    from holdfast.adapters import ITEM
    from holdfast.adapters.langgraph import HoldfastStore

    with holdfast.open(kinds=[ITEM]) as memory:
        graph = builder.compile(store=HoldfastStore(memory))
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypedDict

import holdfast
from holdfast.adapters.shared import ITEM, Owner, check_items, extra_missing, root_label

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ImportError as error:
    raise extra_missing("LangGraph", "langgraph", error) from error

_PAGE = 200
"""Number of items or namespaces to read at once."""
_TTL = "ttl-minutes "
"""Prefix of the tag that stores an item's time to live, in minutes."""


class Fields(TypedDict, total=False):
    """The argument ``index`` of :class:`HoldfastStore`: the fields of an item to search, as in LangGraph's own stores."""

    fields: list[str] | None
    """Paths into the value, such as ``"text"`` or ``"chapters[*].title"``. The default is ``"$"``, the whole value."""


class HoldfastStore(BaseStore):
    """A LangGraph ``BaseStore`` with namespaces, filters, search by meaning and by words, and a time to live."""

    supports_ttl = True

    def __init__(
        self,
        memory: holdfast.Engine,
        *,
        index: Fields | bool = True,
        ttl: TTLConfig | None = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Keep the items in ``memory``, which was opened with ``kinds=[holdfast.adapters.ITEM]``.

        Args:
            memory: The memory. Its embedder computes the vectors.
            index: The fields to search, as ``{"fields": ["text"]}``. True searches whole values; False switches search off, and
                queries are ignored, as in LangGraph's own stores.
            ttl: The default time to live, as LangGraph's ``TTLConfig``. Expired items are never returned.
            user: The user, app and agent that own the items. The items of different owners are separate, and erasing a user
                erases their items. By default, items belong to nobody.
            app: See ``user``.
            agent: See ``user``.
        """
        if isinstance(index, Mapping) and set(index) - {"fields"}:
            raise holdfast.InvalidInput(
                "index only has 'fields'. The embedder belongs to the memory: holdfast.open(embedder=...)"
            )
        self.memory = check_items(memory)
        self.ttl_config = ttl
        self._owner: Owner = {"user": user, "app": app, "agent": agent}
        self._root = root_label("langgraph", self._owner)
        self._searches = index is not False
        self._fields = (index.get("fields") if isinstance(index, Mapping) else None) or ["$"]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Reads return the items as they were before the batch. All values are stored in one transaction."""
        given = list(ops)
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in given]
        self._write({(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # Writing

    def _write(self, ops: Iterable[PutOp]) -> None:
        puts = []
        for op in ops:
            if op.value is None:
                self.memory.forget(key=op.key, kind=ITEM.name, namespace=self._inside(op.namespace), **self._owner)
            else:
                puts.append(self._new(op))
        if puts:
            self.memory.remember_all(puts, **self._owner)

    def _new(self, op: PutOp) -> holdfast.NewMemory:
        """Return the memory for an item. Its text is the value as JSON; the metadata repeats the value for filters."""
        value = dict(op.value)
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise holdfast.InvalidInput(f"The value of {op.key!r} is not JSON: {error}. Nothing was stored.") from error
        memory: holdfast.NewMemory = {
            "text": text,
            "kind": ITEM.name,
            "key": op.key,
            "namespace": self._inside(op.namespace),
            "metadata": json.loads(text),
            "index": self._indexed(op, value),
        }
        if op.ttl is not None:
            memory["tags"] = [f"{_TTL}{op.ttl:g}"]
            memory["expires_at"] = _expiry(op.ttl)
        return memory

    def _indexed(self, op: PutOp, value: Mapping[str, Any]) -> list[str] | bool:
        if not self._searches or op.index is False:
            return False
        paths = self._fields if op.index is None else op.index
        return [text for path in paths for text in get_text_at_path(value, path)]

    # Reading

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        raise holdfast.InvalidInput(f"{type(op).__name__} is not an operation of a LangGraph store.")

    def _get(self, op: GetOp) -> Item | None:
        namespace = self._inside(op.namespace)
        found = self.memory.memories(kind=ITEM.name, key=op.key, namespace=namespace, limit=1, **self._owner)
        if not found:
            return None
        self._refresh(found, wanted=op.refresh_ttl)
        memory = found[0]
        return Item(
            value=json.loads(memory.text),
            key=memory.key,
            namespace=memory.namespace[1:],
            created_at=memory.created_at,
            updated_at=memory.updated_at,
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix, where = self._inside(op.namespace_prefix), _where(op.filter)
        if op.query and op.query.strip() and self._searches:
            found = self._ranked(op, prefix, where)
        else:
            listed = self.memory.memories(
                kind=ITEM.name, namespace_prefix=prefix, where=where, limit=op.limit, offset=op.offset, **self._owner
            )
            found = [(memory, None) for memory in listed]
        self._refresh([memory for memory, _ in found], wanted=op.refresh_ttl)
        return [_search_item(memory, score) for memory, score in found]

    def _ranked(
        self, op: SearchOp, prefix: Sequence[str], where: Mapping[str, Any]
    ) -> list[tuple[holdfast.Memory, float | None]]:
        """Return one page of the results of a search, each with its score.

        The hits of the query come first, best first. All other items follow, newest first, with None as score. Only
        items whose namespace starts with ``prefix`` and that match the filter ``where`` are returned.
        """
        last = op.offset + op.limit
        hits = self.memory.recall(
            op.query, kind=ITEM.name, namespace_prefix=prefix, where=where, limit=last, distinct=False, **self._owner
        )
        ranked = [(hit.memory, _score(hit)) for hit in hits if hit.memory]
        if len(ranked) < last:
            known = {memory.id for memory, _ in ranked}
            others = ((memory, None) for memory in self._all(prefix, where) if memory.id not in known)
            ranked += islice(others, last - len(ranked))
        return ranked[op.offset :]

    def _all(self, prefix: Sequence[str], where: Mapping[str, Any]) -> Iterator[holdfast.Memory]:
        offset = 0
        while page := self.memory.memories(
            kind=ITEM.name, namespace_prefix=prefix, where=where, limit=_PAGE, offset=offset, **self._owner
        ):
            yield from page
            offset += len(page)

    def _refresh(self, memories: Iterable[holdfast.Memory], *, wanted: bool) -> None:
        """Restart the time to live of items that were read. Does nothing if ``wanted`` is False."""
        for memory in memories if wanted else ():
            for tag in memory.tags:
                if tag.startswith(_TTL):
                    self.memory.revise(memory.id, expires_at=_expiry(float(tag.removeprefix(_TTL))))

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        kept = [each for each in self._namespaces() if all(_matches(condition, each) for condition in conditions)]
        cut = list(dict.fromkeys(each[: op.max_depth] for each in kept))
        return cut[op.offset : op.offset + op.limit]

    def _namespaces(self) -> Iterator[tuple[str, ...]]:
        """Yield all namespaces, sorted."""
        offset = 0
        while page := self.memory.namespaces(prefix=(self._root,), kind=ITEM.name, limit=_PAGE, offset=offset, **self._owner):
            yield from (labels[1:] for labels in page)
            offset += len(page)

    def _inside(self, namespace: Sequence[str]) -> tuple[str, ...]:
        return (self._root, *namespace)


def _score(hit: holdfast.Hit) -> float | None:
    """Return the score of a hit: its cosine, as in LangGraph's own stores. Without an embedder, return the word search's score.

    The store keeps 8 bits per dimension, so cosines are exact to about two decimals.
    """
    return round(float(hit.score if hit.similarity is None else hit.similarity), 2)


def _search_item(memory: holdfast.Memory, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=memory.namespace[1:],
        key=memory.key,
        value=json.loads(memory.text),
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        score=score,
    )


def _where(filter: Mapping[str, Any] | None) -> dict[str, Any]:
    """Convert a LangGraph filter to a Holdfast filter.

    A list in the filter matches only an equal list. An object in the filter matches an object that contains at least
    its entries.
    """
    where: dict[str, Any] = {}
    for name, wanted in (filter or {}).items():
        if isinstance(wanted, Mapping) and not any(key.startswith("$") for key in wanted):
            where.update({f"{name}.{inner}": value for inner, value in _where(wanted).items()})
        else:
            where[name] = {"$eq": list(wanted)} if isinstance(wanted, list | tuple) else wanted
    return where


def _matches(condition: MatchCondition, namespace: Sequence[str]) -> bool:
    """Return True if a namespace starts or ends with the labels of a condition. ``*`` matches any label."""
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise holdfast.InvalidInput(f"A condition of list_namespaces is a prefix or a suffix, not {condition.match_type!r}.")
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[max(len(namespace) - len(path), 0) :]
    return len(labels) == len(path) and all(wanted in ("*", label) for label, wanted in zip(labels, path, strict=True))


def _expiry(minutes: float) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)
