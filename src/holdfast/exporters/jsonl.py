"""Write an export as JSONL: a header, one line per entry, and a last line with the counts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.exporters.entries import Entry
from holdfast.exporters.records import TYPES, footer, header, to_line, to_record
from holdfast.exporters.selection import Selection
from holdfast.types import Kind


def write_jsonl(entries: Iterator[Entry], *, preset: str, selection: Selection, kinds: Sequence[Kind] = ()) -> Iterator[bytes]:
    """Yield an export line by line, each line as bytes."""
    counts: Counter[str] = Counter()
    yield to_line(header(preset, selection, kinds))
    for entry in entries:
        record = to_record(entry)
        counts[record["type"]] += 1
        yield to_line(record)
    yield to_line(footer({name: counts[name] for name in TYPES if counts[name]}))
