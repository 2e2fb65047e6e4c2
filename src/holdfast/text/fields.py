"""Check the fields of objects that are given as dicts, such as the messages of ``add_all``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast.errors import InvalidInput, TextTooLong


def check_fields(given: object, allowed: type) -> dict[str, Any]:
    """Return the fields of ``given``, an object that a caller passed, as a dict.

    Raise InvalidInput if a field is unknown or missing. ``allowed`` is the ``TypedDict`` that defines the fields.
    """
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
    """Context manager: put ``item`` and a colon before the message of an ``InvalidInput`` or ``TextTooLong`` raised inside it.

    For example, ``naming("messages[2]")`` tells the caller which message is invalid.
    """
    try:
        yield
    except TextTooLong as error:
        raise TextTooLong(f"{item}: {error}") from error
    except InvalidInput as error:
        raise InvalidInput(f"{item}: {error} Nothing was stored.") from error
