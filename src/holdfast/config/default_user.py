"""The default user. Commands, the dashboard's chat and installed assistants use it if no user is named.

The default user is the setting ``user``. If that is not set, it is the login name of the current person.
"""

from dataclasses import dataclass
from pathlib import Path

from holdfast.config import environment
from holdfast.config.folders import data_directory
from holdfast.config.loading import from_folders, load_settings
from holdfast.config.saving import own_settings_file, save_setting
from holdfast.config.settings import Settings
from holdfast.text.clean import clean_name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultUser:
    """The name of the default user. If nobody has chosen a name, it is the login name, and ``is_chosen`` is False."""

    name: str
    is_chosen: bool
    """False if the name is only proposed: it is the login name, because no setting names a user."""


def default_user(settings: Settings | None = None) -> DefaultUser:
    """Return the default user: the name in the settings, or else the name saved with :func:`save_default_user`.

    If there is neither, the login name is used.
    """
    loaded = settings or load_settings()
    saved = loaded.user or from_folders([data_directory()]).get("user")
    name = clean_name(saved or environment.login_name(), what="user")
    assert name is not None
    return DefaultUser(name=name, is_chosen=saved is not None)


def save_default_user(name: str) -> Path:
    """Store the default user in the settings file of the data directory. The file's other lines are unchanged."""
    cleaned = clean_name(name, what="user")
    assert cleaned is not None
    path = own_settings_file()
    save_setting("user", cleaned, path)
    return path
