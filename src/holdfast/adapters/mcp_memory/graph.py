"""A knowledge graph in a Holdfast memory. Each entity and each relation is stored as one memory of the kind ``ITEM``."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Literal, TypedDict, TypeVar

import holdfast
from holdfast.adapters.shared import ITEM, Owner, check_items, root_label

T = TypeVar("T")
Part = Literal["entities", "relations"]
_PAGE = 500
_MAX_ATTEMPTS = 50
"""Maximum number of attempts to make a change while other writers change the graph."""
_MAX_INDEXED = 100
"""Maximum number of texts per entity that are searched separately. Further observations are searched as one text."""
_MAX_RECALLED = 20

Relation = TypedDict("Relation", {"from": str, "to": str, "relationType": str})


class Entity(TypedDict):
    """A thing with a name, a type and observations."""

    name: str
    entityType: str
    observations: list[str]


class Graph(TypedDict):
    """Entities with the relations that start or end at them."""

    entities: list[Entity]
    relations: list[Relation]


class Contents(TypedDict):
    """Observations to add to an entity."""

    entityName: str
    contents: list[str]


class Added(TypedDict):
    """Observations that were added to an entity."""

    entityName: str
    addedObservations: list[str]


class Deletion(TypedDict):
    """Observations to delete from an entity."""

    entityName: str
    observations: list[str]


class KnowledgeGraph:
    """Entities with observations, and relations between them.

    Texts are stored unchanged. Several processes can change the graph at once.
    """

    def __init__(
        self, memory: holdfast.Engine, *, user: str | None = None, app: str | None = None, agent: str | None = None
    ) -> None:
        """Use a memory that was opened with the kind ``holdfast.adapters.ITEM``. Each owner has a separate graph."""
        self._memory = check_items(memory)
        self._owner: Owner = {"user": user, "app": app, "agent": agent}
        self._root = root_label("mcp_memory", self._owner)

    # Changing

    def create_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Add entities. Entities with an existing name are not changed. Return the new entities."""

        def attempt() -> list[Entity]:
            names = [entity["name"] for entity in entities]
            known = {found["name"] for found in map(_entity, self._named(names))}
            new = [
                entity
                for entity in {entity["name"]: entity for entity in reversed(entities)}.values()
                if entity["name"] not in known
            ]
            new.sort(key=lambda entity: names.index(entity["name"]))
            self._write([self._entity_fields(entity, order=_order(place), revision=0) for place, entity in enumerate(new)])
            return [_plain_entity(entity) for entity in new]

        return _repeated(attempt)

    def create_relations(self, relations: Sequence[Relation]) -> list[Relation]:
        """Add relations. Return the new relations."""

        def attempt() -> list[Relation]:
            known = {_relation_key(_relation(found)) for found in self._listed("relations")}
            new = {_relation_key(relation): _plain_relation(relation) for relation in relations}
            added = {key: relation for key, relation in new.items() if key not in known}
            self._write([self._relation_fields(key, added[key], order=_order(place)) for place, key in enumerate(added)])
            return list(added.values())

        return _repeated(attempt)

    def add_observations(self, observations: Sequence[Contents]) -> list[Added]:
        """Add observations to entities, each only once. If an entity does not exist, raise NotFound and change nothing."""

        def attempt() -> list[Added]:
            found = {memory.key: memory for memory in self._named([each["entityName"] for each in observations])}
            texts = {name: list(_entity(memory)["observations"]) for name, memory in found.items()}
            results: list[Added] = []
            for each in observations:
                name = each["entityName"]
                if name not in found:
                    raise holdfast.NotFound(f"Entity with name {name} not found")
                new = [text for text in each["contents"] if text not in texts[name]]
                texts[name] += new
                results.append({"entityName": name, "addedObservations": new})
            self._write(
                [self._changed(found[name], texts[name]) for name in dict.fromkeys(each["entityName"] for each in results)]
            )
            return results

        return _repeated(attempt)

    def delete_observations(self, deletions: Sequence[Deletion]) -> None:
        """Delete observations from entities. Unknown entities and observations are ignored."""

        def attempt() -> None:
            gone: dict[str, set[str]] = {}
            for each in deletions:
                gone.setdefault(each["entityName"], set()).update(each["observations"])
            changes = []
            for memory in self._named(list(gone)):
                entity = _entity(memory)
                kept = [text for text in entity["observations"] if text not in gone[entity["name"]]]
                if kept != entity["observations"]:
                    changes.append(self._changed(memory, kept))
            self._write(changes)

        _repeated(attempt)

    def delete_entities(self, names: Sequence[str]) -> None:
        """Delete entities, with the relations that start or end at them. Unknown names are ignored."""
        self._forget(self._touching(names))
        self._forget(self._named(names))

    def delete_relations(self, relations: Sequence[Relation]) -> None:
        """Delete relations. Unknown relations are ignored."""
        gone = {_relation_key(relation) for relation in relations}
        self._forget(memory for memory in self._listed("relations") if memory.key in gone)

    # Reading

    def read_graph(self) -> Graph:
        """Return the whole graph, in the order in which it was created."""
        return {
            "entities": [_entity(memory) for memory in self._listed("entities")],
            "relations": [_relation(memory) for memory in self._listed("relations")],
        }

    def search_nodes(self, query: str) -> Graph:
        """Return the entities that contain the query in their name, type or observations, ignoring case.

        If there are none, return the entities that are relevant to the query by meaning.
        """
        folded = query.lower()
        entities = [_entity(memory) for memory in self._listed("entities")]
        found = [entity for entity in entities if any(folded in text.lower() for text in _texts(entity))]
        return self._with_relations(found or self._recalled(query))

    def open_nodes(self, names: Sequence[str]) -> Graph:
        """Return the entities with these names."""
        return self._with_relations([_entity(memory) for memory in self._named(names)])

    def _recalled(self, query: str) -> list[Entity]:
        if not query.strip():
            return []
        namespace = self._namespace("entities")
        hits = self._memory.recall(query, kind=ITEM.name, namespace=namespace, limit=_MAX_RECALLED, distinct=False, **self._owner)
        return [_entity(hit.memory) for hit in hits if hit.memory is not None and hit.is_relevant]

    def _with_relations(self, entities: list[Entity]) -> Graph:
        touching = self._touching([entity["name"] for entity in entities])
        return {"entities": entities, "relations": [_relation(memory) for memory in touching]}

    # The store

    def _namespace(self, part: Part) -> tuple[str, ...]:
        return (self._root, part)

    def _listed(self, part: Part, where: Mapping[str, Any] | None = None) -> list[holdfast.Memory]:
        found: list[holdfast.Memory] = []
        for offset in count(0, _PAGE):
            page = self._memory.memories(
                kind=ITEM.name, namespace=self._namespace(part), where=where, limit=_PAGE, offset=offset, **self._owner
            )
            found += page
            if len(page) < _PAGE:
                break
        return sorted(found, key=lambda memory: (memory.metadata["order"], memory.id))

    def _named(self, names: Sequence[str]) -> list[holdfast.Memory]:
        return self._listed("entities", {"name": {"$in": list(dict.fromkeys(names))}}) if names else []

    def _touching(self, names: Sequence[str]) -> list[holdfast.Memory]:
        either = [{"from": {"$in": list(names)}}, {"to": {"$in": list(names)}}]
        return self._listed("relations", {"$or": either}) if names else []

    def _write(self, changes: Sequence[holdfast.NewMemory]) -> None:
        if changes:
            self._memory.remember_all(changes, **self._owner)

    def _forget(self, memories: Iterable[holdfast.Memory]) -> None:
        for memory in memories:
            with suppress(holdfast.NotFound):  # another process was faster
                self._memory.forget(memory.id)

    def _entity_fields(self, entity: Entity, *, order: int, revision: int) -> holdfast.NewMemory:
        texts = _texts(entity)
        return holdfast.NewMemory(
            text="\n- ".join([f"{entity['name']} ({entity['entityType']})", *entity["observations"]]),
            kind=ITEM.name,
            key=entity["name"],
            namespace=self._namespace("entities"),
            metadata={**_plain_entity(entity), "order": order},
            index=[" ".join(texts[:2]), *texts[2:_MAX_INDEXED], "\n".join(texts[_MAX_INDEXED:])],
            if_revision=revision,
        )

    def _changed(self, memory: holdfast.Memory, observations: list[str]) -> holdfast.NewMemory:
        entity: Entity = {**_entity(memory), "observations": observations}
        return self._entity_fields(entity, order=memory.metadata["order"], revision=memory.revision)

    def _relation_fields(self, key: str, relation: Relation, *, order: int) -> holdfast.NewMemory:
        return holdfast.NewMemory(
            text=f"{relation['from']} {relation['relationType']} {relation['to']}",
            kind=ITEM.name,
            key=key,
            namespace=self._namespace("relations"),
            metadata={**relation, "order": order},
            index=False,
            if_revision=0,
        )


def _repeated(attempt: Callable[[], T]) -> T:
    """Call ``attempt``, which changes the graph. If another writer changed the graph first, call it again."""
    for _ in range(_MAX_ATTEMPTS - 1):
        with suppress(holdfast.RevisionConflict):
            return attempt()
    return attempt()


def _order(place: int) -> int:
    """Return a number that sorts entities and relations by creation. ``place`` is the position in the list of new items."""
    return time.time_ns() + place


def _texts(entity: Entity) -> list[str]:
    return [entity["name"], entity["entityType"], *entity["observations"]]


def _plain_entity(entity: Mapping[str, Any]) -> Entity:
    return {"name": entity["name"], "entityType": entity["entityType"], "observations": list(entity["observations"])}


def _plain_relation(relation: Mapping[str, Any]) -> Relation:
    return {"from": relation["from"], "to": relation["to"], "relationType": relation["relationType"]}


def _entity(memory: holdfast.Memory) -> Entity:
    return _plain_entity(memory.metadata)


def _relation(memory: holdfast.Memory) -> Relation:
    return _plain_relation(memory.metadata)


def _relation_key(relation: Relation) -> str:
    parts = [relation["from"], relation["to"], relation["relationType"]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
