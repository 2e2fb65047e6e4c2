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


def read_plain_text(path: Path) -> Iterator[Record]:
    """Yield the sections of a text file."""
    yield from _notes(path, read_text(path), None, datetime.fromtimestamp(path.stat().st_mtime, UTC))


def read_pdf(path: Path) -> Iterator[Record]:
    """Yield the sections of each page of a PDF file."""
    try:
        import pypdf  # noqa: PLC0415  (only installed with the extra)
    except ImportError as error:
        raise ExtraMissing("Importing PDF files needs pypdf. Install it with: pip install 'holdfast-memory[pdf]'.") from error
    from pypdf.errors import PyPdfError  # noqa: PLC0415  (as above)

    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidInput(f"{path.name} is protected by a password. Nothing was imported; remove the password first.")
        info = reader.metadata
        created = info.creation_date if info is not None else None
        at = created.astimezone(UTC) if created is not None else datetime.fromtimestamp(path.stat().st_mtime, UTC)
        is_empty = True
        for number, page in enumerate(reader.pages, 1):
            for note in _notes(path, page.extract_text(), number, at):
                is_empty = False
                yield note
        if is_empty:
            raise InvalidInput(f"{path.name} has no text. If it is a scan, recognize its text first (OCR). Nothing was imported.")
    except InvalidInput:
        raise
    except (PyPdfError, ValueError) as error:
        raise InvalidInput(f"{path.name} cannot be read as PDF: {error}. Nothing was imported.") from error


def _notes(path: Path, text: str, page: int | None, at: datetime) -> Iterator[Note]:
    for section in sections(text):
        place = f"{path.name}#{page}" if page else path.name
        known = {"file": path.name, "page": page, "heading": section.heading}
        yield Note(
            id=f"{place}#{section.digest}",
            text=section.text,
            namespace=("documents", path.name[:200]),
            metadata={name: value for name, value in known.items() if value is not None},
            created_at=at,
        )
