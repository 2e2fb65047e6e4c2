"""Read text and PDF documents. Each section or page becomes a memory.

Documents that the owner imports count as the owner's words.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from holdfast.errors import ExtraMissing, InvalidInput
from holdfast.importers.documents import sections
from holdfast.importers.records import Note, Record
from holdfast.importers.texts import read_text
from holdfast.types.translatable import translatable


def read_plain_text(path: Path) -> Iterator[Record]:
    """Yield the sections of a text file."""
    yield from _notes(path, read_text(path), None, datetime.fromtimestamp(path.stat().st_mtime, UTC))


def read_pdf(path: Path) -> Iterator[Record]:
    """Yield the sections of each page of a PDF file. Raise InvalidInput if the file has no text, for example if it is a scan."""
    is_empty = True
    for note in _pages(path):
        is_empty = False
        yield note
    if is_empty:
        raise InvalidInput(
            translatable(
                "import.no_text",
                "{file} has no text. If it is a scan, recognize its text first (OCR). Nothing was imported.",
                file=path.name,
            )
        )


def _pages(path: Path) -> Iterator[Note]:
    try:
        import pypdf  # noqa: PLC0415  (only installed with the extra)
    except ImportError as error:
        raise ExtraMissing(
            translatable(
                "import.needs_pdf", "Importing PDF files needs pypdf. Install it with: pip install 'holdfast-memory[pdf]'."
            )
        ) from error
    from pypdf.errors import PyPdfError  # noqa: PLC0415  (as above)

    try:
        reader = pypdf.PdfReader(path)
        is_locked = reader.is_encrypted and not reader.decrypt("")
        info = None if is_locked else reader.metadata
        created = info.creation_date if info is not None else None
        at = created.astimezone(UTC) if created is not None else datetime.fromtimestamp(path.stat().st_mtime, UTC)
        for number, page in enumerate(() if is_locked else reader.pages, 1):
            yield from _notes(path, page.extract_text(), number, at)
    except (PyPdfError, ValueError) as error:
        raise InvalidInput(
            translatable(
                "import.not_pdf", "{file} cannot be read as PDF: {error}. Nothing was imported.", file=path.name, error=str(error)
            )
        ) from error
    if is_locked:
        raise InvalidInput(
            translatable(
                "import.password",
                "{file} is protected by a password. Nothing was imported; remove the password first.",
                file=path.name,
            )
        )


def _notes(path: Path, text: str, page: int | None, at: datetime) -> Iterator[Note]:
    for section in sections(text):
        place = f"{path.name}#{page}" if page else path.name
        known = {"file": path.name, "page": page, "heading": section.heading}
        yield Note(
            id=f"{place}#{section.digest}",
            file=path.name,
            text=section.text,
            namespace=("documents", path.name[:200]),
            metadata={name: value for name, value in known.items() if value is not None},
            created_at=at,
        )
