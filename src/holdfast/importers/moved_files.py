"""Find files that were moved or renamed since an earlier import.

The id of a section starts with the path of its file, so the sections of a moved file have new ids. The rest of the id is a
hash of the section, which stays the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import get_args

from holdfast.importers.records import Note
from holdfast.protocols import MemoryFilter, Reads
from holdfast.text.clean import clean_namespace
from holdfast.types import MemoryStatus, Scope

_STATUSES: tuple[MemoryStatus, ...] = tuple(each for each in get_args(MemoryStatus) if each != "superseded")
"""The statuses that the current memory of a section can have.

``superseded`` is missing: when a file has moved, the memory with the old path is superseded.
"""


class MovedFiles:
    """Collects the files of an import, and finds those that the store has under another path."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._files: dict[Scope, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        """The ids of the sections, by scope and path. The ids do not contain the path."""
        self._namespaces: dict[Scope, set[tuple[str, ...]]] = defaultdict(set)

    def add(self, scope: Scope, note: Note) -> None:
        """Add a note that is a section of an imported file. A note that is not a section of a file is ignored."""
        if note.file is not None:
            self._files[scope][note.file][note.id.removeprefix(note.file)] = None
            self._namespaces[scope].add(clean_namespace(note.namespace))

    def find(self, reads: Reads) -> dict[tuple[Scope, str], str]:
        """Return the earlier id of each moved section, by its scope and new id.

        A file counts as moved under two conditions. Its old path is not part of the import. And an imported file contains at
        least half of the sections that are stored for the old path.
        """
        return {(scope, new): old for scope in self._files for new, old in self._moved(reads, scope)}

    def _moved(self, reads: Reads, scope: Scope) -> Iterator[tuple[str, str]]:
        missing: dict[str, set[str]] = defaultdict(set)
        for file, section in self._missing(reads, scope):
            missing[file].add(section)
        places: dict[str, list[str]] = defaultdict(list)
        for file, sections in self._files[scope].items() if missing else ():
            for section in sections:
                places[section].append(file)
        for old, stored in sorted(missing.items()):
            shared = Counter(file for section in stored for file in places.get(section, ()))
            new, number = max(shared.items(), key=lambda each: each[1], default=("", 0))
            if number and 2 * number >= len(stored):
                yield from ((f"{new}{section}", f"{old}{section}") for section in stored if new in places.get(section, ()))

    def _missing(self, reads: Reads, scope: Scope) -> Iterator[tuple[str, str]]:
        """Yield the stored sections whose file is not part of the import, each as two texts.

        The id of a section begins with the path of its file. The first text is that path, the second is the remainder of the
        id.
        """
        for root in {namespace[0] for namespace in self._namespaces[scope]}:
            wanted = MemoryFilter(exactly=scope, statuses=_STATUSES, namespace_prefix=(root,))
            for namespace in set(reads.namespaces(wanted)) - self._namespaces[scope]:
                where = {"imported_from": self._source, "imported_id": {"$exists": True}}
                for memory in reads.memories(MemoryFilter(exactly=scope, statuses=_STATUSES, namespace=namespace, where=where)):
                    file = memory.metadata.get("file")
                    if isinstance(file, str):
                        yield file, str(memory.metadata["imported_id"]).removeprefix(file)
