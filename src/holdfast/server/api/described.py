"""Models whose attribute docstrings are the field descriptions in the OpenAPI document.

The docstrings are read when the document is built. With pydantic's ``use_attribute_docstrings``, they are read when the
module is imported, which makes every start of the server slower by a third.
"""

import ast
import inspect
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import ClassVar

from pydantic import GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import CoreSchema

_parsing = threading.Lock()
"""Held while a module is parsed: in Python 3.11, two threads that parse at the same time can raise ``SystemError``."""
_MAX_ATTEMPTS = 5
"""Maximum number of attempts to parse a module. Other packages also parse, and they do not hold ``_parsing``."""


class Described:
    """A base class of models whose attribute docstrings describe their fields."""

    model_fields: ClassVar[dict[str, FieldInfo]]

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema, with the docstring of each attribute as the description of its field."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in _descriptions(cls).items():
            field = cls.model_fields[name]
            described = properties.get(field.alias if field.alias in properties else name, {})
            described.setdefault("description", text)
        return schema


def _descriptions(model: type[Described]) -> Mapping[str, str]:
    """Map the fields of a model, including inherited fields, to their docstrings."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Described):
            found |= _docstrings(base.__module__).get(base.__name__, {})
    return {name: text for name, text in found.items() if name in model.model_fields}


@cache
def _docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """Map the classes of a module to the docstrings of their attributes."""
    tree = _parsed(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_of_class(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _parsed(source: str) -> ast.Module:
    """Parse source code. Try again if another thread disturbs the parser."""
    with _parsing:
        for _ in range(_MAX_ATTEMPTS - 1):
            with suppress(SystemError):
                return ast.parse(source)
        return ast.parse(source)


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of each documented attribute of a class."""
    for statement, following in pairwise(node.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
