"""Save a setting in a settings file. The file's other lines are unchanged."""

import json
import os
import re
import secrets
from pathlib import Path

from holdfast.config.folders import data_directory
from holdfast.config.loading import FILES
from holdfast.errors import SettingsError
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.types.translatable import translatable


def own_settings_file() -> Path:
    """Return the path of the settings file in the data directory. It need not exist."""
    folder = data_directory()
    return next((folder / file for file in FILES if (folder / file).is_file()), folder / FILES[0])


def used_settings_file() -> Path:
    """Return the path of the settings file that is read by default: in the working directory, or else in the data directory."""
    return next((path for name in FILES if (path := Path.cwd() / name).is_file()), own_settings_file())


def save_setting(name: str, value: str, path: Path) -> None:
    """Store a setting in a settings file. The file is created if it does not exist."""
    try:
        create_folder(path.parent)
        text = path.read_text("utf-8") if path.exists() else ""
        _replace(path, with_setting(text, name, value, assign=" = " if path.suffix == ".toml" else ": "))
    except OSError as error:
        raise SettingsError(
            translatable(
                "settings.unwritable",
                "The setting {name} cannot be stored in {path}: {error}. Nothing was changed.",
                name=name,
                path=str(path),
                error=error.strerror or "",
            )
        ) from error


def with_setting(text: str, name: str, value: str, *, assign: str) -> str:
    """Return the text of a settings file with a setting added or replaced. ``assign`` separates name and value, such as `` = ``.

    The value is written as JSON, which is valid in TOML and in YAML.
    """
    line = f"{name}{assign}{json.dumps(value, ensure_ascii=False)}"
    table = re.search(r"^\s*\[", text, re.MULTILINE)
    end = table.start() if table and assign == " = " else len(text)
    top, changed = re.subn(rf"^{re.escape(name)}\s*[=:].*$", lambda _: line, text[:end], count=1, flags=re.MULTILINE)
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
