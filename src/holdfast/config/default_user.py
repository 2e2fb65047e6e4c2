"""The default user. Commands, the dashboard's chat and installed assistants use it if no user is named.

The default user is the setting ``user``. If that is not set, it is the login name of the current person.
"""

import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from holdfast.config import environment
from holdfast.config.folders import data_directory
from holdfast.config.loading import FILES, from_folders, load_settings
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.text.clean import clean_name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultUser:
    """The default user's name, and whether it was chosen. A name that was not chosen is the login name."""

    name: str
    is_chosen: bool
    """False if the name is only proposed: it is the login name, because no setting names a user."""


def default_user(settings: Settings | None = None) -> DefaultUser:
    """Return the default user. A name saved with ``save_default_user`` applies even if another settings file is in use."""
    loaded = settings or load_settings()
    saved = loaded.user or from_folders([data_directory()]).get("user")
    name = clean_name(saved or environment.login_name(), what="user")
    assert name is not None
    return DefaultUser(name=name, is_chosen=saved is not None)


def save_default_user(name: str) -> Path:
    """Store the default user in the settings file of the data directory. The file's other lines are unchanged."""
    cleaned = clean_name(name, what="user")
    folder = data_directory()
    path = next((folder / file for file in FILES if (folder / file).is_file()), folder / FILES[0])
    try:
        create_folder(folder)
        text = path.read_text("utf-8") if path.exists() else ""
        _replace(path, _with_user(text, cleaned, assign=" = " if path.suffix == ".toml" else ": "))
    except OSError as error:
        raise SettingsError(f"The default user cannot be stored in {path}: {error.strerror}. Nothing was changed.") from error
    return path


def _with_user(text: str, name: str | None, *, assign: str) -> str:
    """Return the text of a settings file with the user set. The name is written as JSON, which is valid in TOML and in YAML."""
    line = f"user{assign}{json.dumps(name, ensure_ascii=False)}"
    table = re.search(r"^\s*\[", text, re.MULTILINE)
    end = table.start() if table and assign == " = " else len(text)
    top, changed = re.subn(r"^user\s*[=:].*$", lambda _: line, text[:end], count=1, flags=re.MULTILINE)
    return top + text[end:] if changed else f"{line}\n{text}"


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically. Only its owner can read the new file."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    create_file(fresh)
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
