"""Remove erased data from topic pages, in every folder into which a preset has written pages of this store."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from holdfast.learning.topics.page_names import INDEX_FILE, is_page
from holdfast.presets import PRESETS
from holdfast.protocols import Clock, Store
from holdfast.topic_files.mirrors import FolderMirrors, belongs_to_store, folder_name, recorded_folders
from holdfast.topic_files.sync import TopicFiles
from holdfast.types import Scope


class PagesToErase:
    """The topic pages from which an erasure must remove data.

    Create this object before the erasure. It imports the edits that people have made in the pages, so that the edits are
    erased, too. Call :meth:`rewrite` after the erasure.
    """

    def __init__(self, store: Store, clock: Clock, mirrors: FolderMirrors, owner: Mapping[str, str], *, whole: bool) -> None:
        """Find the pages of an owner, and import the edits in them.

        ``mirrors`` syncs the folder of the engine's own preset. ``owner`` names a user, app or agent, or several of them.
        ``whole`` is True if all data of the owner is erased. Then :meth:`rewrite` also removes the owner's folders.
        """
        self._owner = owner
        self._whole = whole
        self.missing: tuple[str, ...] = ()
        """Folders of pages that this process cannot reach, because they are on another machine or belong to a custom preset."""
        self._roots: list[Path] = []
        self._files: list[TopicFiles] = []
        self._scopes = [scope for scope in store.scopes() if _belongs_to(scope, owner)]
        self.problems: list[str] = []
        """Messages about pages that could not be rewritten, and about folders of erased owners that could not be removed."""
        for root in _all_mirrors(store, clock, mirrors, self):
            assert root.root is not None
            self._roots.append(root.root)
            self._files += root.before_erasing(owner, [each for each in self._scopes if (root.root / folder_name(each)).is_dir()])

    def rewrite(self) -> list[Path]:
        """Rewrite the topic pages after an erasure. If all data of the owner is erased, remove the owner's folders.

        Return all files that remain in the folders of topic pages, so that the caller can search them for erased data.
        """
        self.problems.clear()
        for files in self._files:
            self.problems += files.publish().problems
        if self._whole:
            for root in self._roots:
                for scope in self._scopes:
                    self._remove_folder(root / folder_name(scope), root)
        return [path for root in self._roots for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]

    def try_again(self) -> tuple[list[Path], list[str]]:
        """Repeat :meth:`rewrite`. Return two lists: the files that are left in the folders, and messages about problems."""
        return self.rewrite(), list(self.problems)

    def _remove_folder(self, folder: Path, root: Path) -> None:
        """Remove the folder of an erased owner. The folder itself must go, because its name contains the owner's name."""
        if folder == root / "." or not folder.is_dir() or folder.is_symlink():
            return
        try:
            for path in folder.iterdir():
                if path.is_file() and (is_page(path.name) or path.name == INDEX_FILE or path.name.startswith(".holdfast-")):
                    path.unlink()
            folder.rmdir()
        except OSError as error:
            left = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
            self.problems.append(
                f"{folder} could not be removed: {error.strerror}" + (f" ({', '.join(left[:5])})" if left else "")
            )


def _all_mirrors(store: Store, clock: Clock, own: FolderMirrors, pages: PagesToErase) -> list[FolderMirrors]:
    """Return one ``FolderMirrors`` object for each folder into which presets have written topic pages of a store.

    ``own`` is the object for the folder of the engine's own preset. Some folders cannot be opened. They are left out of the
    result. They are added to ``pages.missing`` if their preset is unknown, if their pages were written on another machine, or
    if they do not exist here and the store is on a server. A folder that does not exist is ignored if the store is a file.
    """
    found = [own] if own.root is not None else []
    for root, (name, machine) in {**_usual_folders(store), **recorded_folders(store)}.items():
        if own.root is not None and Path(root) == own.root:
            continue
        preset = PRESETS.get(name)
        if preset is None or preset.topics is None or not Path(root).is_dir():
            if preset is None or "://" in store.location:
                pages.missing += (f"topic pages in {root} (preset {name})",)
            continue
        other = FolderMirrors(store, replace(preset, topics_dir=root), clock, root=Path(root))
        if machine and other.machine != machine:
            pages.missing += (f"topic pages in {root} on another machine",)
            continue
        found.append(other)
    return found


def _usual_folders(store: Store) -> dict[str, tuple[str, str]]:
    """Return the existing default folders for topic pages. Each preset has one default folder, next to the store's file.

    The result maps the path of each folder to two texts: the name of the preset, and an empty text instead of a folder id. An
    erasure checks these folders, because earlier versions did not record in the store which folders they used. Folders that
    belong to another store are left out. A store on a server has no default folders.
    """
    if "://" in store.location:
        return {}
    usual = {
        str(Path(store.location).parent / preset.topics_dir): (name, "") for name, preset in PRESETS.items() if preset.topics_dir
    }
    return {
        root: written
        for root, written in usual.items()
        if Path(root).is_dir() and belongs_to_store(Path(root), Path(store.location))
    }


def _belongs_to(scope: Scope, owner: Mapping[str, str]) -> bool:
    return all(getattr(scope, part) == name for part, name in owner.items())
