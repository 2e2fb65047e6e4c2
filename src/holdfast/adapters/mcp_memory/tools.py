"""The nine tools of MCP's official memory server, independent of the protocol version."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import holdfast
from holdfast.adapters.mcp_memory.graph import KnowledgeGraph

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTool:
    """A tool: its description for a model, and the function that runs it."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    work: Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]

    @property
    def definition(self) -> dict[str, Any]:
        """The tool's definition for MCP."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": False,
            },
        }

    def run(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Run the tool, and return the result as text and as data.

        Raise ``InvalidInput`` if the arguments do not match the tool's input schema.
        """
        _check(arguments, self.input_schema, "The argument")
        return self.work(arguments)


def graph_tools(graph: KnowledgeGraph) -> tuple[GraphTool, ...]:
    """Return the tools for a graph."""
    return (*_creating(graph), *_deleting(graph), *_reading(graph))


def _creating(graph: KnowledgeGraph) -> list[GraphTool]:
    return [
        GraphTool(
            name="create_entities",
            title="Create entities",
            description="Add entities to the knowledge graph. An entity whose name exists is not changed.",
            input_schema=_object(entities=_list(_ENTITY)),
            output_schema=_object(entities=_list(_ENTITY)),
            work=lambda given: _listed("entities", graph.create_entities(given["entities"])),
        ),
        GraphTool(
            name="create_relations",
            title="Create relations",
            description="Add relations between entities of the knowledge graph. Write relation types in the active voice.",
            input_schema=_object(relations=_list(_RELATION)),
            output_schema=_object(relations=_list(_RELATION)),
            work=lambda given: _listed("relations", graph.create_relations(given["relations"])),
        ),
        GraphTool(
            name="add_observations",
            title="Add observations",
            description="Add observations to entities that exist in the knowledge graph.",
            input_schema=_object(observations=_list(_object(entityName=_text("The entity's name"), contents=_list(_TEXT)))),
            output_schema=_object(results=_list(_object(entityName=_TEXT, addedObservations=_list(_TEXT)))),
            work=lambda given: _listed("results", graph.add_observations(given["observations"])),
        ),
    ]


def _deleting(graph: KnowledgeGraph) -> list[GraphTool]:
    def tool(name: str, title: str, description: str, done: str, delete: Callable[[Any], None], **arguments: Schema) -> GraphTool:
        (argument,) = arguments

        def work(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
            delete(given[argument])
            return done, {"success": True, "message": done}

        return GraphTool(
            name=name,
            title=title,
            description=description,
            input_schema=_object(**arguments),
            output_schema=_object(success={"type": "boolean"}, message=_TEXT),
            destructive=True,
            idempotent=True,
            work=work,
        )

    return [
        tool(
            "delete_entities",
            "Delete entities",
            "Delete entities from the knowledge graph, with the relations that start or end at them.",
            "Entities deleted successfully",
            graph.delete_entities,
            entityNames=_list(_text("The name of an entity to delete")),
        ),
        tool(
            "delete_observations",
            "Delete observations",
            "Delete observations from entities of the knowledge graph.",
            "Observations deleted successfully",
            graph.delete_observations,
            deletions=_list(_object(entityName=_text("The entity's name"), observations=_list(_TEXT))),
        ),
        tool(
            "delete_relations",
            "Delete relations",
            "Delete relations from the knowledge graph.",
            "Relations deleted successfully",
            graph.delete_relations,
            relations=_list(_RELATION),
        ),
    ]


def _reading(graph: KnowledgeGraph) -> list[GraphTool]:
    def tool(name: str, title: str, description: str, read: Callable[[Mapping[str, Any]], Any], **arguments: Schema) -> GraphTool:
        def work(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
            found = dict(read(given))
            return _json(found), found

        return GraphTool(
            name=name,
            title=title,
            description=description,
            input_schema=_object(**arguments),
            output_schema=_object(entities=_list(_ENTITY), relations=_list(_RELATION)),
            read_only=True,
            idempotent=True,
            work=work,
        )

    return [
        tool("read_graph", "Read graph", "Return the whole knowledge graph.", lambda _: graph.read_graph()),
        tool(
            "search_nodes",
            "Search nodes",
            "Return the entities of the knowledge graph that match a query, with their relations.",
            lambda given: graph.search_nodes(given["query"]),
            query=_text("Words to look for in the names, types and observations of entities"),
        ),
        tool(
            "open_nodes",
            "Open nodes",
            "Return the entities of the knowledge graph with these names, with their relations.",
            lambda given: graph.open_nodes(given["names"]),
            names=_list(_text("The name of an entity")),
        ),
    ]


def _listed(name: str, items: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    return _json(items), {name: list(items)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


# Schemas


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Schema = {"type": "string"}
_ENTITY = _object(
    name=_text("The entity's name"),
    entityType=_text("The entity's type"),
    observations=_list(_text("Something that is known about the entity")),
)
_RELATION = _object(
    **{
        "from": _text("The name of the entity at which the relation starts"),
        "to": _text("The name of the entity at which the relation ends"),
        "relationType": _text("The relation's type"),
    }
)


def _check(value: Any, schema: Schema, where: str) -> None:
    """Raise InvalidInput if a value does not match a schema. Additional properties are allowed.

    ``where`` names the value in error messages.
    """
    if schema["type"] == "string":
        if not isinstance(value, str):
            raise holdfast.InvalidInput(f"{where} must be a text, not {type(value).__name__}.")
    elif schema["type"] == "array":
        if not isinstance(value, list):
            raise holdfast.InvalidInput(f"{where} must be a list, not {type(value).__name__}.")
        for number, item in enumerate(value):
            _check(item, schema["items"], f"{where}[{number}]")
    else:
        if not isinstance(value, Mapping):
            raise holdfast.InvalidInput(f"{where} must be an object, not {type(value).__name__}.")
        for name, rule in schema["properties"].items():
            place = f"{where} {name}" if where == "The argument" else f"{where}.{name}"
            if name not in value:
                raise holdfast.InvalidInput(f"{place} is missing.")
            _check(value[name], rule, place)
