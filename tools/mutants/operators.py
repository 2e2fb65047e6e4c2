"""Small changes to source code, each of which a test should notice.

A mutant replaces the text of one node of the syntax tree. The rest of the file keeps its bytes and its line numbers.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_BUILTINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_EMPTY: tuple[tuple[tuple[type[ast.expr], ...], str], ...] = (
    ((ast.Compare, ast.BoolOp, ast.UnaryOp), "False"),
    ((ast.List, ast.ListComp), "[]"),
    ((ast.Dict, ast.DictComp), "{}"),
    ((ast.Set, ast.SetComp), "set()"),
    ((ast.JoinedStr,), "''"),
)
_LOGGING = {"log", "logger", "logging"}


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change to a file. ``start`` and ``end`` are offsets in its UTF-8 bytes."""

    path: str
    line: int
    start: int
    end: int
    operator: str
    before: str
    after: str
    last_line: int

    def apply(self, source: bytes) -> bytes:
        """Return the bytes of a file with this change applied."""
        assert source[self.start : self.end].decode() == self.before
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line} {self.operator}: {_short(before)} -> {_short(after)}"


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in text order. Some of them do not compile; see :func:`compiles`."""
    tree = ast.parse(source)
    starts = _line_starts(source)
    found: dict[tuple[int, int, str], Mutant] = {}
    for node in _code(tree):
        for operator, target, after in _changes(node):
            start = starts[target.lineno - 1] + target.col_offset
            end = starts[(target.end_lineno or 0) - 1] + (target.end_col_offset or 0)
            before = source[start:end].decode()
            if after == ast.unparse(target):
                continue
            mutant = Mutant(path, target.lineno, start, end, operator, before, after, target.end_lineno or target.lineno)
            found.setdefault((start, end, after), mutant)
    return sorted(found.values())


Change = tuple[str, ast.expr | ast.stmt, str]


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield the possible changes of one node: a name, the node to replace, and the new text."""
    yield from _condition_changes(node)
    yield from _value_changes(node)
    yield from _statement_changes(node)
    if isinstance(node, ast.Call):
        yield from _call_changes(node)


def _condition_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _is_swapped_whole(test):
            yield "negate condition", test, f"(not ({ast.unparse(test)}))"
        case ast.comprehension(ifs=[_, *_] as tests):
            yield from (("drop filter", test, "True") for test in tests)
        case ast.Compare(ops=[first, *_]) if type(first) in _COMPARISONS:
            swapped = _COMPARISONS[type(first)]()
            yield "swap comparison", node, _edited(node, lambda new: new.ops.__setitem__(0, swapped))
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "swap and/or", node, f"({_edited(node, partial(_set, 'op', other))})"
            for index in range(len(node.values)):
                yield "drop operand", node, f"({_edited(node, lambda new, index=index: new.values.pop(index))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "drop not", node, f"({ast.unparse(operand)})"
    if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue):
        yield "drop guard", node.test, "False"


def _value_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not _is_text(node):
            yield "swap arithmetic", node, f"({_edited(node, partial(_set, 'op', _ARITHMETIC[type(op)]()))})"
        case ast.Constant(value=bool() as value):
            yield "flip constant", node, str(not value)
        case ast.Constant(value=int() as value):
            yield "off by one", node, f"({value + 1})"
            yield "off by one", node, f"({value - 1})"
        case ast.Constant(value=float() as value):
            yield "change constant", node, repr(value * 2 or 1.0)


def _statement_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return nothing", value, _empty(value)
        case ast.Raise() | ast.Assert():
            yield "drop guard", node, "pass"
        case ast.Expr(value=ast.Call(func=func)) | ast.Expr(value=ast.Await(value=ast.Call(func=func))) if not _is_logging(func):
            yield "drop call", node, "pass"
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield "drop statement", node, "pass"


def _call_changes(node: ast.Call) -> Iterator[Change]:
    """Yield the possible changes of a call: swap or drop arguments, or call another built-in function."""
    if isinstance(node.func, ast.Name) and node.func.id == "field":
        return  # of a dataclass: the module could not be imported
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
        yield "swap built-in", node.func, _BUILTINS[node.func.id]
    is_extreme = isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}  # the order of arguments does not matter
    plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
    if len(node.args) >= 2 and plain and not is_extreme and not isinstance(node.args[0], ast.Constant):
        yield "swap arguments", node, _edited(node, lambda new: new.args.__setitem__(slice(0, 2), new.args[1::-1]))
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in {"key", "strict"} and not _is_logging(node.func):
            yield "drop argument", node, _edited(node, lambda new, index=index: new.keywords.pop(index))


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed. Annotations, docstrings, decorators and message texts are left out."""
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns", "decorator_list", "type_comment", "type_params"}:
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # of zip(): an assertion, which correct code never violates
            if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Call) and _is_logging(node.func)):
                continue
            yield node
            yield from _code(node)


def _is_swapped_whole(test: ast.expr) -> bool:
    """Return True if the opposite operator negates the whole condition, as ``!=`` negates ``==``.

    In this case, the mutant with ``not`` would be the same as the mutant with the opposite operator.
    """
    whole = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], whole)


def _is_logging(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in _LOGGING


def _is_text(node: ast.BinOp) -> bool:
    """Return True if one side of an operator is text. Another operator would then be a type error, not a small bug."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )


def _empty(value: ast.expr) -> str:
    """Return an empty expression of a similar type, such as ``[]`` for a list."""
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return str(not value.value)
    return next((text for types, text in _EMPTY if isinstance(value, types)), "None")


def _edited(node: ast.AST, edit: Callable[..., object]) -> str:
    new = copy.deepcopy(node)
    edit(new)
    if isinstance(new, ast.BoolOp) and len(new.values) == 1:
        return ast.unparse(new.values[0])
    return ast.unparse(new)


def _set(name: str, value: object, node: ast.AST) -> None:
    setattr(node, name, value)


def _line_starts(source: bytes) -> list[int]:
    starts = [0]
    starts += [index + 1 for index, byte in enumerate(source) if byte == ord("\n")]
    return starts


def compiles(source: bytes) -> bool:
    """Return True if a file is valid Python."""
    try:
        compile(source, "<mutant>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _short(text: str, limit: int = 90) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
