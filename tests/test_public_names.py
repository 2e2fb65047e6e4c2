"""Nothing is public by accident."""

import inspect
import subprocess
import sys

import holdfast
from holdfast import errors


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


def test_every_error_has_a_code_of_its_own_and_stands_in_the_drawn_tree() -> None:
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.HoldfastError)]
    codes = [cls.code for cls in classes]
    assert len(codes) == len(set(codes))
    assert errors.__doc__ is not None
    for cls in classes:
        assert cls.__name__ in errors.__doc__


def test_the_async_engine_has_every_call_of_the_engine_with_the_same_signature() -> None:
    inner = {"wake", "work_once", "flush_uses", "resume"}  # for the worker and the server
    for name, method in inspect.getmembers(holdfast.Engine, inspect.isfunction):
        if name.startswith("_") or name in inner:
            continue
        twin = getattr(holdfast.AsyncEngine, name)
        assert inspect.signature(twin).parameters.keys() == inspect.signature(method).parameters.keys(), name
    for name, method in inspect.getmembers(holdfast.Session, inspect.isfunction):
        if not name.startswith("_"):
            twin = getattr(holdfast.AsyncSession, name)
            assert inspect.signature(twin).parameters.keys() == inspect.signature(method).parameters.keys(), name
