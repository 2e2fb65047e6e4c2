"""Check the fields of items that are given as dicts, such as the messages of ``add_all``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast.errors import InvalidInput, TextTooLong


def check_fields(given: object, allowed: type) -> dict[str, Any]:
    """Return the fields of an item. Raise InvalidInput if fields are unknown or missing. ``allowed`` is a ``TypedDict``."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"it must be a dict of fields, not {type(given).__name__}.")
    known = allowed.__annotations__
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(f"there is no field {unknown[0]!r}. The fields are {', '.join(known)}.")
    missing = [name for name in known if name in allowed.__required_keys__ and name not in given]  # type: ignore[attr-defined]
    if missing:
        raise InvalidInput(f"the field {missing[0]!r} is missing.")
    return dict(given)


@contextmanager
def naming(item: str) -> Iterator[None]:
    """Prefix the message of an InvalidInput error in the block with the name of an item."""
    try:
        yield
    except TextTooLong as error:
        raise TextTooLong(f"{item}: {error}") from error
    except InvalidInput as error:
        raise InvalidInput(f"{item}: {error} Nothing was stored.") from error
