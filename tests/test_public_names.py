"""The public API has exactly the intended names. The async classes have the same methods as the classes that they wrap."""

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import holdfast
from holdfast import AsyncScopedMemory, AsyncSession, errors
from holdfast.aio import AsyncApps, AsyncTopics


def test_every_public_name_can_be_imported_and_is_listed_in_order() -> None:
    assert holdfast.__all__ == sorted(holdfast.__all__)
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(holdfast, "remember")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, holdfast; print([m for m in ('numpy', 'apsw', 'onnxruntime', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_has_a_unique_code_and_is_in_the_documented_tree() -> None:
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.HoldfastError)]
    codes = [cls.code for cls in classes]
    assert len(codes) == len(set(codes))
    assert errors.__doc__ is not None
    for cls in classes:
        assert cls.__name__ in errors.__doc__


def test_every_error_is_exported() -> None:
    classes = {cls.__name__ for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.HoldfastError)}
    assert classes <= set(holdfast.__all__)
    assert all(getattr(holdfast, name) is getattr(errors, name) for name in classes)


def test_the_engine_has_exactly_these_public_names(memory: holdfast.Engine) -> None:
    assert _public(memory) == {
        "accept", "apps", "backup", "close", "context", "count_memories", "dismiss", "doctor", "drain", "erase", "explain", "export", "for_user", "forget", "get",
        "history", "import_from", "jobs", "memories", "namespaces", "preset", "proposals", "purge_expired", "recall", "receipt", "receipts", "remember", "remember_all", "rerun", "revise", "scrub", "session",
        "sessions", "set_user", "spend", "stats", "topics", "trace", "traces", "trust_clock", "undo", "users",
    }  # fmt: skip


def test_the_async_twins_have_the_same_names_and_signatures(memory: holdfast.Engine) -> None:
    pool = ThreadPoolExecutor(1)
    view, talk = memory.for_user("ana"), memory.session(user="ana")
    pairs: list[tuple[object, object]] = [
        (memory, holdfast.AsyncEngine(memory)),
        (view, AsyncScopedMemory(view, pool)),
        (talk, AsyncSession(talk, pool)),
        (memory.apps, AsyncApps(memory.apps, pool)),
        (memory.topics, AsyncTopics(memory.topics, pool)),
    ]
    for plain, awaited in pairs:
        assert _public(plain) == _public(awaited)
        for name, method in inspect.getmembers(plain, inspect.ismethod):
            if not name.startswith("_"):
                twin = inspect.signature(getattr(awaited, name)).parameters
                assert [key for key in twin if key != "self"] == [*inspect.signature(method).parameters], name


def test_open_has_exactly_these_parameters() -> None:
    expected = [
        "path",
        "preset",
        "kinds",
        "settings",
        "embedder",
        "chat",
        "reranker",
        "energy",
        "key",
        "tenant",
        "worker",
        "clock",
    ]
    signature = inspect.signature(holdfast.open)
    assert [*signature.parameters] == expected
    assert "Source" not in str(signature).replace("SettingsSource", "")


def _public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}
