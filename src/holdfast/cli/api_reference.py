"""Generate ``docs/reference/api.md``: signatures and docstrings of the public Python API, as Markdown."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import holdfast
from holdfast import errors
from holdfast.apps import AppEntry, AppMetrics, Apps
from holdfast.chat import Usage
from holdfast.topic_files import TopicPage, TopicPages

_WIDTH = 100
_INTRO = """\
# Python API

Generated from the docstrings; `help(holdfast.Engine)` shows the same.

Import functions, classes and errors from `holdfast`. Times are aware datetimes or ISO 8601 strings. An unknown id or key raises
`NotFound`; every error is a `HoldfastError`.

| Contents | |
|---|---|
| [Opening](#opening) | `open`, `open_async` |
| [Engine](#engine) | all calls on a memory |
| [ScopedMemory](#scopedmemory) | the calls for one user |
| [Session](#session) | one conversation |
| [Apps](#apps) and [Topics](#topics) | `memory.apps`, `memory.topics` |
| [Agent](#agent) | an assistant with a memory |
| [asyncio](#asyncio) | the same calls, awaited |
| [Types](#types) | what calls return |
| [Errors](#errors) | what calls raise |
"""
_ASYNC = """\
`AsyncEngine`, `AsyncScopedMemory` and `AsyncSession` have the same calls as the classes above, awaited. They run on a pool of eight threads.
`session()` can be awaited or entered:

```py
async with holdfast.open_async() as memory:
    ana = memory.for_user("ana")
    async with ana.session() as talk:
        await talk.add("user", "I moved to Lyon last month.")
    hits = await ana.recall("Where does she live?")
```
"""
_TYPES = (
    holdfast.Hit,
    holdfast.Memory,
    holdfast.Message,
    holdfast.Context,
    holdfast.SessionRecord,
    holdfast.ChangeRecord,
    holdfast.Receipt,
    holdfast.Stats,
    holdfast.Job,
    holdfast.Spend,
    holdfast.Finding,
    holdfast.UserProfile,
    holdfast.UserRecord,
    holdfast.Scope,
    holdfast.Kind,
    holdfast.Reason,
    holdfast.Answer,
    Usage,
    AppEntry,
    AppMetrics,
    TopicPage,
)


def api_page() -> str:
    """Return the text of ``docs/reference/api.md``."""
    lines = [_INTRO, "## Opening", ""]
    lines += [*_function("holdfast.open", holdfast.open), *_function("holdfast.open_async", holdfast.open_async)]
    for kind, name in ((holdfast.Engine, "memory"), (holdfast.ScopedMemory, "ana"), (holdfast.Session, "talk")):
        lines += [f"## {kind.__name__}", "", *_members(kind, name)]
    lines += ["## Apps", "", *_members(Apps, "memory.apps"), "## Topics", "", *_members(TopicPages, "memory.topics")]
    lines += ["## Agent", "", *_function("holdfast.Agent", holdfast.Agent.__init__), *_members(holdfast.Agent, "agent")]
    lines += ["## asyncio", "", _ASYNC, "## Types", "", "All types are frozen dataclasses.", ""]
    lines += [line for kind in _TYPES for line in _fields(kind)]
    lines += ["## Errors", "", *_errors()]
    return "\n".join(lines).rstrip() + "\n"


def _members(kind: type, name: str) -> Iterator[str]:
    """Yield the documentation of a class: its attributes, then its methods, in source order."""
    yield from (markdown(kind.__doc__ or ""), "")
    for attribute, meaning in _attributes(kind).items():
        yield f"- `{name}.{attribute}`: {markdown(meaning)}"
    yield ""
    for base in kind.__mro__:  # own methods first, then inherited ones
        for method, value in vars(base).items():
            if inspect.isfunction(value) and not method.startswith("_"):
                yield from _function(f"{name}.{method}", value)


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    yield from (f"### `{name}`", "", "```py", _signature(name, function), "```", "", markdown(function.__doc__ or ""), "")


def _signature(name: str, function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    parts: list[str] = []
    for each in found.parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if each.name != "self":
            parts += _parameter(each)
    returns = "" if name == "holdfast.Agent" else f" -> {annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){returns}"
    return line if len(line) <= _WIDTH else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _parameter(parameter: inspect.Parameter) -> list[str]:
    """Return a parameter as text. Keyword arguments described by a TypedDict are listed one by one."""
    if parameter.kind is parameter.VAR_KEYWORD:
        (described,) = get_args(parameter.annotation)
        return ["*", *(f"{name}: {annotation(kind)} = ..." for name, kind in get_type_hints(described).items())]
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return [f"{parameter.name}: {annotation(parameter.annotation)}{default}"]


def annotation(given: Any) -> str:
    """Return a type annotation as source code. The result is the same under every Python version."""
    if isinstance(given, str):
        return given
    origin, args = get_origin(given), get_args(given)
    if origin in (Union, UnionType):
        return " | ".join(map(annotation, args))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if isinstance(given, list):
        return f"[{', '.join(map(annotation, given))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(annotation, args))}]"
    plain = {type(None): "None", None: "None", Ellipsis: "...", Any: "Any"}
    return plain[given] if given in plain else str(given.__name__)


def _fields(kind: type) -> Iterator[str]:
    """Yield the documentation of a dataclass: first its fields, then its properties and methods."""
    yield from (f"### `{kind.__name__}`", "", markdown(kind.__doc__ or ""), "")
    meanings = _attributes(kind)
    for item in fields(kind) if is_dataclass(kind) else ():
        default = "" if item.default is MISSING else f" = {item.default!r}"
        meaning = f": {markdown(meanings[item.name])}" if item.name in meanings else ""
        yield f"- `{item.name}: {annotation(item.type)}{default}`{meaning}"
    for name, value in vars(kind).items():
        if name.startswith("_") or not (isinstance(value, property) or inspect.isfunction(value)):
            continue
        call = name if isinstance(value, property) else _signature(name, value)
        yield f"- `{call}`: {markdown(value.__doc__ or '')}"
    yield ""


def _attributes(kind: type) -> dict[str, str]:
    """Return the docstrings of the public attributes of a class, by the attribute's name.

    An attribute can be defined in the class body or in ``__init__``. Attributes without a docstring are left out.
    """
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    inits = [node for node in body.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    found: dict[str, str] = {}
    for block in (body.body, *(node.body for node in inits)):
        for statement, after in pairwise(block):
            target = _target(statement)
            if target and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[target] = inspect.cleandoc(str(after.value.value))
    return {name: meaning for name, meaning in found.items() if not name.startswith("_")}


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.AnnAssign):
        target: ast.expr = statement.target
    elif isinstance(statement, ast.Assign):
        target = statement.targets[0]
    else:
        return None
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None


def _errors() -> Iterator[str]:
    """Yield the tree of error classes, then a table of the errors and their codes."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("::\n\n")[1].split("\n\n")[0]
    yield from ("```text", textwrap.dedent(tree).replace("``", ""), "```", "", "| Error | Code | Meaning |", "|---|---|---|")
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.HoldfastError):
            yield f"| `{name}` | `{kind.code}` | {' '.join(markdown(kind.__doc__ or '').split())} |"


def markdown(docstring: str) -> str:
    """Convert a docstring to Markdown.

    References and literals become code, indented blocks become fenced blocks, and arguments become a list.
    """
    text = inspect.cleandoc(docstring)
    text = re.sub(r":\w+:`~?(?:holdfast\.)?(?:[a-z]\w*\.)*([^`]+)`", r"`\1`", text)
    text = re.sub(r"(?<!`)``(?!`)(.+?)``", r"`\1`", text)
    text = re.sub(
        r"(?:^|\n)::\n\n((?:    .*\n|\n)+)", lambda m: f"\n```py\n{textwrap.dedent(m[1]).strip()}\n```\n\n", f"{text}\n"
    )
    text = re.sub(r"^Args:\n((?:    .*\n)+)", lambda m: _arguments(m[1]), text, flags=re.MULTILINE)
    return text.strip()


def _arguments(block: str) -> str:
    lines = textwrap.dedent(block).replace("\n    ", " ").splitlines()
    return "".join(f"- `{name}`: {meaning.strip()}\n" for name, _, meaning in (line.partition(":") for line in lines))
