"""The formats that can be imported, and how each is recognized."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput, NotFound
from holdfast.exporters.records import FORMAT
from holdfast.importers.designs import apps, lobug, reachy, rostro, rumi
from holdfast.importers.probe import Probe
from holdfast.importers.readers import claude_code, documents, letta, markdown, mcp_memory, mem0, pasted
from holdfast.importers.readers.chatgpt import read_chatgpt
from holdfast.importers.readers.claude import has_memories, read_claude
from holdfast.importers.readers.jsonl import read_jsonl
from holdfast.importers.records import Found, Record
from holdfast.types.translatable import translatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Import options that only some formats use."""

    tenant: str
    collection: str = "memories"
    """Name of the collection to read from a vector database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: its name, its description, how it is recognized, and its reader."""

    name: str
    title: str
    fits: Callable[[Probe], bool]
    read: Callable[[Path, Options], Iterator[Found]]
    preset: str | None = None
    """Preset to open if the command line names none."""
    design: str | None = None
    """Preset of the design whose stores have this format. Such stores name no users. None for all other formats."""
    names_users: bool = False
    """True if records can name their user. The import's default user gets only records without a user, app and agent."""
    has_scope: bool = False
    """True if each record names its own scope. The import must then name no user, app or agent."""
    reads_archives: bool = False
    """True if the reader opens zip archives itself. For other formats, an archive is unpacked first."""


def _has(name: str) -> Callable[[Probe], bool]:
    """Return a function that checks whether the first conversation of an export has a field with this name."""
    return lambda probe: isinstance(probe.first_item, Mapping) and name in probe.first_item


def _is_rostro(probe: Probe) -> bool:
    database = Probe(rostro.database(probe.path))
    has_pages = probe.path.is_dir() and (probe.path / "topics" / "index.txt").is_file()
    return has_pages or database.has_table("memories", rostro.COLUMNS)


def _is_mem0(probe: Probe) -> bool:
    found: Any = probe.document
    listed = found.get("results") or found.get("memories") if isinstance(found, Mapping) else None
    first = listed[0] if isinstance(listed, list) and listed else probe.first_item
    is_store = probe.path.is_dir() and bool(mem0.collections(probe.path))
    return mem0.looks_like_memory(first) or is_store or mem0.history_in(probe.path) is not None


def _read_mem0(path: Path, options: Options) -> Iterator[Record]:
    if path.is_dir():
        yield from mem0.read_folder(path, options.collection)
    elif Probe(path).tables:
        yield from mem0.read_history(path)
        yield from mem0.read_messages(path)
    else:
        yield from mem0.read_json(path)


def _is_claude_code(probe: Probe) -> bool:
    files = claude_code.transcripts(probe.path)
    return any(claude_code.looks_like_transcript(Probe(file).first_line) for file in files[:5])


def _is_text(probe: Probe) -> bool:
    if any(isinstance(found, Mapping) for found in (probe.document, probe.first_line, probe.first_item)):
        return False  # JSON of a program that is not known
    return probe.path.suffix.lower() in (".txt", ".text", ".rst", ".org", "") and bool(probe.text.strip())


FORMATS: Sequence[Format] = (
    Format(
        name="holdfast",
        title="an export of Holdfast (JSONL)",
        fits=lambda probe: isinstance(probe.first_line, Mapping) and probe.first_line.get("type") == FORMAT,
        read=lambda path, options: read_jsonl(path, options.tenant),
        has_scope=True,
    ),
    Format(
        name="chatgpt",
        title="an export of ChatGPT (the zip file, or its conversations.json)",
        fits=_has("mapping"),
        read=lambda path, _: read_chatgpt(path),
        reads_archives=True,
    ),
    Format(
        name="claude",
        title="an export of Claude (the zip file, or its conversations.json)",
        fits=lambda probe: _has("chat_messages")(probe) or has_memories(probe.path),
        read=lambda path, _: read_claude(path),
        reads_archives=True,
    ),
    Format(
        name="claude-code",
        title="transcripts of Claude Code (a .jsonl file, or a folder such as ~/.claude/projects)",
        fits=_is_claude_code,
        read=lambda path, _: claude_code.read_claude_code(path),
    ),
    Format(
        name="mem0",
        title="memories of mem0 (JSON, its Qdrant folder, history.db, or a folder with both)",
        fits=_is_mem0,
        read=_read_mem0,
        names_users=True,
    ),
    Format(
        name="mcp-memory",
        title="memory.jsonl of the MCP memory server",
        fits=lambda probe: mcp_memory.looks_like_graph(probe.first_line),
        read=lambda path, _: mcp_memory.read_mcp_memory(path),
    ),
    Format(
        name="letta",
        title="an agent file of Letta (.af)",
        fits=lambda probe: letta.looks_like_agent_file(probe.document),
        read=lambda path, _: letta.read_letta(path),
    ),
    Format(
        name="rumi",
        title="memory.db of the design Rumi",
        fits=lambda probe: probe.has_table("facts", rumi.COLUMNS),
        read=lambda path, _: rumi.read_rumi(path),
        design="rumi",
    ),
    Format(
        name="rostro",
        title="memory.db of the design Rostro, or its data folder with topics",
        fits=_is_rostro,
        read=lambda path, _: rostro.read_rostro(path),
        design="rostro",
    ),
    Format(
        name="lobug",
        title="lobug_memory.db of the design Lo-Bug",
        fits=lambda probe: probe.has_table("conversation_log", lobug.COLUMNS),
        read=lambda path, _: lobug.read_lobug(path),
        design="lobug",
    ),
    Format(
        name="apps",
        title="a database of an app host with app_memories",
        fits=lambda probe: probe.has_table("app_memories", apps.COLUMNS),
        read=lambda path, _: apps.read_apps(path),
        design="apps",
    ),
    Format(
        name="chroma",
        title="a Chroma collection of the design Reachy (a folder with chroma.sqlite3)",
        fits=lambda probe: probe.path.name == reachy.FILE or (probe.path / reachy.FILE).is_file(),
        read=lambda path, options: reachy.read_chroma(path, options.collection),
        preset="reachy",
        design="reachy",
    ),
    Format(
        name="pdf",
        title="a PDF document",
        fits=lambda probe: probe.head.startswith(b"%PDF"),
        read=lambda path, _: documents.read_pdf(path),
    ),
    Format(
        name="pasted",
        title="memories as an assistant lists them, one per line: [2024-05-01] - Prefers tea",
        fits=lambda probe: pasted.looks_like_list(probe.text),
        read=lambda path, _: pasted.read_pasted(path),
    ),
    Format(
        name="markdown",
        title="a Markdown file, or a folder of them such as an Obsidian vault",
        fits=lambda probe: (
            (probe.path.is_dir() or probe.path.suffix.lower() in (".md", ".markdown")) and bool(markdown.pages(probe.path))
        ),
        read=lambda path, _: markdown.read_markdown(path),
    ),
    Format(name="text", title="a text document", fits=_is_text, read=lambda path, _: documents.read_plain_text(path)),
)


def needs_unpacking(path: Path, name: str | None = None) -> bool:
    """Return True if a path is a zip archive that must be unpacked before it is read.

    ``name`` is the name of the chosen format. Without it, the format is detected. Some formats read archives directly.
    """
    if not zipfile.is_zipfile(path):
        return False
    probe = Probe(path)
    return not any(each.reads_archives and (each.name == name if name else each.fits(probe)) for each in FORMATS)


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format with this name, or detect the format of a file or folder.

    On failure, raise an error that lists the formats.
    """
    if not path.exists():
        raise NotFound(f"There is no file or folder {path}. Nothing was imported.")
    if name is not None:
        for each in FORMATS:
            if each.name == name:
                return each
        raise InvalidInput(f"There is no format {name!r}. Nothing was imported. The formats are:\n{listed_formats()}")
    probe = Probe(path)
    for each in FORMATS:
        if each.fits(probe):
            return each
    if path.is_file() and not probe.head.strip():
        raise InvalidInput(translatable("import.file_empty", "{file} is empty. Nothing was imported.", file=str(path)))
    if "partitions" in probe.tables and "provenance" in probe.tables:
        raise InvalidInput(
            translatable(
                "import.is_store",
                "{file} is a store of Holdfast. Nothing was imported. Export it first: holdfast --store {file} export all.jsonl",
                file=str(path),
            )
        )
    if probe.head.startswith(b"PK\x03\x04") and not zipfile.is_zipfile(path):
        raise InvalidInput(
            translatable(
                "import.bad_zip",
                "{file} is an incomplete or damaged zip archive. Nothing was imported. Copy or download it again.",
                file=str(path),
            )
        )
    raise InvalidInput(
        translatable(
            "import.unknown_format",
            "The format of {file} was not recognized. Nothing was imported. Name one of these:\n{formats}",
            file=str(path),
            formats=listed_formats(),
        )
    )


def listed_formats() -> str:
    """Return a text that lists the import formats, one per line: the name and a short description."""
    width = max(len(each.name) for each in FORMATS)
    return "\n".join(f"  {each.name:{width}}  {each.title}" for each in FORMATS)
