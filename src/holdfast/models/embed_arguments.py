"""Checks of the arguments of ``embed()``."""

from collections.abc import Sequence

from holdfast.errors import InvalidInput
from holdfast.protocols import Role


def check_texts(texts: Sequence[str], role: Role) -> None:
    """Raise ``InvalidInput`` if ``texts`` is a single string or the role is unknown."""
    if isinstance(texts, str):
        raise InvalidInput("embed() takes a list of texts, not a single text.")
    if role not in {"query", "document"}:
        raise InvalidInput(f"The role must be 'query' or 'document', not {role!r}.")
