"""Locations of data, model weights, and the configuration folders of other programs."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from holdfast.config import environment

_FOLDERS = ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Names of the environment variables that change where other programs keep their configuration."""


def data_directory() -> Path:
    """Return the data directory: ``HOLDFAST_HOME``, or the platform's data directory."""
    home = environment.variable("HOLDFAST_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("holdfast", appauthor=False))


def models_directory() -> Path:
    """Return the folder for model weights: ``HOLDFAST_MODELS``, or a folder in the platform's cache directory."""
    folder = environment.variable("HOLDFAST_MODELS")
    return Path(folder).expanduser() if folder else Path(platformdirs.user_cache_dir("holdfast", appauthor=False)) / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFolders:
    """Folders in which other programs keep the configuration of the current user."""

    home: Path
    settings: Path
    """The platform's configuration folder."""
    xdg: Path
    """``XDG_CONFIG_HOME``, or ``~/.config``. Programs written for Unix use it on every platform."""
    claude: Path | None = None
    codex: Path | None = None


def home_folders() -> HomeFolders:
    """Return the configuration folders of the current user."""
    home = Path.home()
    moved = {name: Path(value).expanduser() for name, value in environment.defined_variables(_FOLDERS).items()}
    return HomeFolders(
        home=home,
        settings=platformdirs.user_config_path(appauthor=False, roaming=True),
        xdg=moved.get("XDG_CONFIG_HOME", home / ".config"),
        claude=moved.get("CLAUDE_CONFIG_DIR"),
        codex=moved.get("CODEX_HOME"),
    )


def chosen_folders() -> dict[str, str]:
    """Return the variables ``HOLDFAST_HOME`` and ``HOLDFAST_MODELS`` with absolute paths. Unset variables are left out.

    ``holdfast install`` passes these variables on to the commands that assistants start, because assistants do not
    start them from the user's shell.
    """
    chosen = environment.defined_variables(("HOLDFAST_HOME", "HOLDFAST_MODELS"))
    return {name: str(Path(value).expanduser().absolute()) for name, value in chosen.items()}


def metrics_folder() -> Path | None:
    """Return the folder in which a server's worker processes share metrics, or None if there is only one process."""
    folder = environment.metrics_variable()
    return Path(folder) if folder else None
