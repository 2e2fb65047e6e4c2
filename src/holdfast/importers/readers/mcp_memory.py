"""Read ``memory.jsonl`` of the official MCP memory server: a graph of entities, observations and relations."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.importers.fields import Fields
from holdfast.importers.lines import json_lines
from holdfast.importers.records import Note, Record
from holdfast.types.translatable import translatable


def looks_like_graph(line: Any) -> bool:
    """Return True if a parsed JSON line is an entity or a relation of a knowledge graph, as the MCP memory server writes it."""
    return isinstance(line, Mapping) and (
        (line.get("type") == "entity" and "observations" in line) or (line.get("type") == "relation" and "relationType" in line)
    )


def read_mcp_memory(path: Path) -> Iterator[Record]:
    """Yield one memory per observation and per relation. An entity without observations also becomes a memory."""
    for _, line in json_lines(path):
        kind = line.name("type")
        if kind == "entity":
            yield from _entity(line)
        elif kind == "relation":
            start, verb, end = line.name("from"), line.name("relationType"), line.name("to")
            known = {"from": start, "relation": verb, "to": end}
            yield Note(id=_id("relation", start, verb, end), text=f"{start} {verb} {end}".replace("_", " "), metadata=known)
        else:
            raise line.fail(
                translatable("import.entity", "there is no type {kind!r}; a line is an entity or a relation.", kind=kind)
            )


def _entity(line: Fields) -> Iterator[Note]:
    name, kind = line.name("name"), line.maybe("entityType") or ""
    observations = line.texts("observations")
    metadata = {"entity": name, "entity_type": kind}
    tags = (kind,) if kind.strip() else ()
    for observation in observations:
        is_named = name.casefold().replace("_", " ") in observation.casefold()
        text = observation if is_named or not observation.strip() else f"{name.replace('_', ' ')}: {observation}"
        yield Note(id=_id("observation", name, observation), text=text, metadata=metadata, tags=tags)
    if not observations:
        yield Note(id=_id("entity", name), text=f"{name.replace('_', ' ')} is a {kind or 'thing'}", metadata=metadata, tags=tags)


def _id(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
