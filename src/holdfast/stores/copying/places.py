"""Open the source or the target of a copy by its address."""

from pathlib import Path

from holdfast.errors import ExtraMissing, NotFound
from holdfast.stores.copying.side import Side
from holdfast.stores.copying.sqlite_side import SQLiteSide

_DATABASE = ("postgresql://", "postgres://")


def open_side(place: str | Path, *, key: str | None = None, new: bool = False) -> Side:
    """Open a file or database as the source of a copy or, with ``new``, as its target.

    ``key`` is the encryption key of an encrypted file.
    """
    if isinstance(place, str) and place.startswith(_DATABASE):
        try:
            from holdfast.stores.copying.postgres_side import PostgresSide  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise ExtraMissing(
                f"A PostgreSQL store needs {error.name}, which is not installed. Run: pip install 'holdfast-memory[postgres]'"
            ) from error
        return PostgresSide(place, new=new)
    path = Path(str(place).removeprefix("sqlite:///"))
    if not new and not path.is_file():
        raise NotFound(f"There is no store at {path}. Nothing was copied; check the path.")
    return SQLiteSide(path, key=key)
