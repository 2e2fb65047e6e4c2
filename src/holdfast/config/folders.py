"""Folders: data, model weights, and where other programs keep their settings."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from holdfast.config import environment

_FOLDERS = ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Variables that move the settings of other programs."""


def data_directory() -> Path:
    """Return the data directory: ``HOLDFAST_HOME``, or the platform's data directory."""
    home = environment.variable("HOLDFAST_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("holdfast", appauthor=False))


def models_directory() -> Path:
    """Return the folder of the model weights: ``HOLDFAST_MODELS``, or the platform's cache directory."""
    given = environment.variable("HOLDFAST_MODELS")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("holdfast", appauthor=False)) / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFolders:
    """Where other programs of this user keep their settings."""

    home: Path
    settings: Path
    """The platform's folder for settings."""
    xdg: Path
    """The folder that programs written for Unix use on every platform."""
    claude: Path | None = None
    codex: Path | None = None


def home_folders() -> HomeFolders:
    """Return the folders of the current user."""
    home = Path.home()
    given = {name: Path(value).expanduser() for name, value in environment.given(_FOLDERS).items()}
    return HomeFolders(
        home=home,
        settings=platformdirs.user_config_path(appauthor=False, roaming=True),
        xdg=given.get("XDG_CONFIG_HOME", home / ".config"),
        claude=given.get("CLAUDE_CONFIG_DIR"),
        codex=given.get("CODEX_HOME"),
    )


def chosen_folders() -> dict[str, str]:
    """Return the variables that move data and weights, for programs that are started without a shell."""
    chosen = environment.given(("HOLDFAST_HOME", "HOLDFAST_MODELS"))
    return {name: str(Path(value).expanduser().absolute()) for name, value in chosen.items()}


def metrics_folder() -> Path | None:
    """Return the folder in which the worker processes of a server count together; None for a single process."""
    given = environment.metrics_variable()
    return Path(given) if given else None
