"""Find the project that a folder belongs to. Facts about a project are stored in an app that has the project's name."""

import re
from pathlib import Path
from typing import Final

_ORIGIN: Final = re.compile(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(?P<url>\S+)', re.MULTILINE | re.DOTALL)
_ADDRESS: Final = re.compile(
    r"(?:[a-z+]+://)?(?:[^@/]*@)?(?P<host>\[[^\]]+\]|[^:/]+)(?::\d+(?=/))?[:/]+(?P<path>.+?)(?:\.git)?/*", re.IGNORECASE
)
_MAX_NAME: Final = 200
"""Maximum characters of a project's name. A longer name is shortened at its start."""


def project_of(folder: str | Path | None) -> str | None:
    """Return the name of the project that a folder belongs to, or None if the folder is in no Git repository.

    The name is the address of the remote ``origin``, such as ``github.com/acme/shop``, so that all clones and worktrees
    share it. A repository without this remote is named after the path of its root.
    """
    root = repository_root(folder)
    if root is None:
        return None
    name = _remote_name(_git_folder(root)) or str(_main_root(root))
    return name[-_MAX_NAME:]


def repository_root(folder: str | Path | None) -> Path | None:
    """Return the root of the Git repository that contains a folder, or None.

    The home folder itself does not count as a root, even if it is a Git repository. Repositories in its subfolders count.
    """
    if not folder:
        return None
    try:
        start = Path(folder).expanduser().resolve()
        home = Path.home().resolve()
        return next((each for each in (start, *start.parents) if each != home and (each / ".git").exists()), None)
    except (OSError, RuntimeError):
        return None


def _git_folder(root: Path) -> Path:
    """Return the folder in which git keeps the repository's data. A worktree and its main checkout have the same folder."""
    own = root / ".git"
    try:
        if own.is_file():
            own = (root / own.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        return (own / common.read_text("utf-8").strip()).resolve() if common.is_file() else own
    except (OSError, UnicodeDecodeError):
        return own


def _main_root(root: Path) -> Path:
    git = _git_folder(root)
    return git.parent if git.name == ".git" else root


def _remote_name(git: Path) -> str | None:
    """Return the address of the remote ``origin`` without protocol, user and password."""
    try:
        found = _ORIGIN.search((git / "config").read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    url = found["url"] if found else ""
    if not url or url.startswith(("/", ".", "file:")):
        return None
    address = _ADDRESS.fullmatch(url)
    return f"{address['host'].casefold()}/{address['path']}" if address else None
