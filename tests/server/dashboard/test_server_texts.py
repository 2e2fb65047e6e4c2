"""Texts of the server in the dashboard: each has a code, and each code has a Spanish text with the same values."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.server.error_handlers import _HTTP_CODES
from holdfast.stores.sql.counts import HASHED
from tests.parsing import parse

pytestmark = pytest.mark.ledger("X12")

ROOT = Path(holdfast.__file__).parent
FOLDER = ROOT / "server" / "dashboard" / "i18n"
SPANISH: dict[str, str] = json.loads((FOLDER / "server" / "es.json").read_text("utf-8"))
PAGE: dict[str, str] = {
    key: text for name in ("es", "admin.es") for key, text in json.loads((FOLDER / f"{name}.json").read_text("utf-8")).items()
}
REASONS = "reason."
NOT_IN_THE_PAGE = ("cli", "testing", "adapters", "designs")
"""Packages whose texts the dashboard does not show."""


def _calls(*names: str) -> Iterator[ast.Call]:
    """Yield every call of one of these functions or classes in the package."""
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in NOT_IN_THE_PAGE:
            continue
        if not any(f"{name}(" in path.read_text("utf-8") for name in names):  # parsing every file takes seconds
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield node


def _spanish(code: str) -> list[str]:
    """Return the Spanish texts of a code: one, or one per plural form."""
    return [SPANISH[key] for key in (code, f"{code}.one", f"{code}.other") if key in SPANISH]


def _codes() -> dict[str, set[str]]:
    """Return each text code of the package, with the names of the values that are inserted into its text."""
    found: dict[str, set[str]] = {}
    for call in _calls("translatable"):
        code = call.args[0]
        assert isinstance(code, ast.Constant), ast.unparse(call)
        assert isinstance(code.value, str), ast.unparse(call)
        values = {str(each.arg) for each in call.keywords}
        assert found.setdefault(code.value, values) == values, f"{code.value} is created with other values elsewhere"
    return found


CODES = _codes()
OMITTED = {
    "import.unknown_format": {"formats"},
    "import.nothing": {"title"},
    "import.not_pdf": {"error"},
    "backup.failed": {"error"},
    "model.not_there": {"advice"},
    "absent.erase": {"what"},
    "absent.owner": {"what"},
    "text.empty": {"what", "expected"},
    "text.long": {"what"},
    "text.long_name": {"what"},
    "text.long_parts": {"what"},
    "text.unstorable": {"what"},
}
"""Values that the Spanish text leaves out, by code: lists, advice, field names and reasons that exist only in English."""


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_text_of_the_server_has_a_spanish_text_with_the_same_values(code: str) -> None:
    texts = _spanish(code)
    assert texts, f"{code} has no Spanish text"
    for text in texts:
        assert set(re.findall(r"\{(\w+)\}", text)) == CODES[code] - OMITTED.get(code, set())


def test_no_spanish_text_is_left_of_a_text_that_the_server_no_longer_has() -> None:
    codes = {re.sub(r"\.(one|other)$", "", key) for key in SPANISH if not key.startswith(REASONS)}
    assert codes == set(CODES)


def test_every_finding_has_a_translatable_text_and_a_spanish_name() -> None:
    """A plain string instead of a translatable text would stay English in every language."""
    checks = {f"{table[0]} hashes" for table in HASHED} | {"fsync", "full_page_writes", "chat", "embedder", "reranker", "reader"}
    for call in _calls("Finding"):
        given = {each.arg: each.value for each in call.keywords}
        for name in ("detail", "remedy"):
            value = given.get(name, ast.Constant(None))
            assert not isinstance(value, ast.JoinedStr), ast.unparse(call)
            assert not (isinstance(value, ast.Constant) and isinstance(value.value, str)), ast.unparse(call)
        if isinstance(given["check"], ast.Constant):
            checks.add(str(given["check"].value))
    assert {check for check in checks if f"check.{check}" not in PAGE} == set()


def test_every_reason_that_the_program_gives_has_a_spanish_text() -> None:
    """Covers the reasons that are string literals in the code. A reason that a person or a model wrote is not translated."""
    given = [
        value
        for call in _calls("Put", "Retire", "Decision", "_Retired", "replace")
        for each in call.keywords
        if each.arg in ("reason", "why")
        for value in ast.walk(each.value)
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value.strip()
    ]
    reasons = {str(value.value) for value in given} - {" days"}
    assert len(reasons) > 10
    assert {reason for reason in reasons if f"{REASONS}{reason}" not in SPANISH and "{" not in reason} - FRAGMENTS == set()


FRAGMENTS = {
    "not used for ",
    " messages",
    " summaries",
    "summary of ",
    "distilled from ",
    " was split",
    "its page",
    "imported from ",
}
"""Literal parts of reasons that are f-strings, such as ``summary of {n} messages``. Only the whole reason has a translation."""


def test_every_error_code_has_a_spanish_title_and_remedy() -> None:
    def codes(kind: type[HoldfastError]) -> Iterator[str]:
        if kind.__module__.startswith("holdfast."):  # another test may have imported errors of other packages
            yield kind.code
        for each in kind.__subclasses__():
            yield from codes(each)

    known = {*codes(HoldfastError), *_HTTP_CODES.values(), "rate_limited", "timeout", "unexpected"} - {"error"}
    own = {code for code in known if code.isidentifier()}
    missing = {code for code in own for part in ("title", "do") if f"problem.{code}.{part}" not in PAGE}
    assert missing == set()
