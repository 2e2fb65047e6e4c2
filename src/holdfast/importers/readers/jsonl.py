"""Read Holdfast's own JSONL export."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import InvalidInput
from holdfast.exporters.entries import Entry
from holdfast.exporters.records import FORMAT, VERSION
from holdfast.importers.decode import to_entry
from holdfast.importers.fields import Fields
from holdfast.importers.lines import json_lines
from holdfast.presets.plain_kinds import kind_from_json
from holdfast.types import Kind
from holdfast.types.translatable import translatable


def read_jsonl(path: Path, tenant: str) -> Iterator[Entry | Kind]:
    """Yield the plain kinds and the entries of an export. Raise InvalidInput if a line is wrong or the end of the file is missing."""
    counts: Counter[str] = Counter()
    ended = False
    for number, fields in json_lines(path):
        kind = fields.name("type")
        if number == 1:
            _check_header(fields, kind)
            yield from _kinds(fields)
        elif ended:
            raise fields.fail(translatable("export.after_end", "there are lines after the end of the export."))
        elif kind == "end":
            ended = True
            _check_end(fields, counts)
        else:
            counts[kind] += 1
            yield _entry(fields, tenant)
    if not ended:
        raise InvalidInput(
            translatable(
                "import.incomplete",
                "{file} is incomplete: its last line, with the counts, is missing. Export again.",
                file=str(path),
            )
        )


def _entry(fields: Fields, tenant: str) -> Entry:
    try:
        return to_entry(fields, tenant)
    except InvalidInput as error:
        if str(error).startswith(fields.place):
            raise
        raise fields.fail(str(error)) from error


def _check_header(fields: Fields, kind: str) -> None:
    if kind != FORMAT:
        raise fields.fail(
            translatable(
                "export.foreign",
                "this is not an export of Holdfast: the type of the first line is {found!r}, not {expected!r}.",
                found=kind,
                expected=FORMAT,
            )
        )
    if fields.number("version") > VERSION:
        raise fields.fail(
            translatable(
                "export.newer",
                "the export has version {found}; this version of Holdfast reads {known}. Upgrade it.",
                found=fields.number("version"),
                known=VERSION,
            )
        )


def _kinds(fields: Fields) -> Iterator[Kind]:
    given = fields.values.get("kinds", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) and each.get("plain") is True for each in given):
        raise fields.fail(translatable("export.kinds", "kinds must be a list of plain kinds."))
    try:
        yield from [kind_from_json(each) for each in given]
    except InvalidInput as error:
        raise fields.fail(str(error)) from error


def _check_end(fields: Fields, counts: Counter[str]) -> None:
    declared = fields.mapping("counts")
    if declared != dict(counts):
        raise fields.fail(
            translatable(
                "export.counts",
                "lines are missing or were added: the export counts {declared}, the file has {found}.",
                declared=json.dumps(declared),
                found=json.dumps(counts),
            )
        )
