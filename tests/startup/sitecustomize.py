"""Cache compiled regular expressions in files. Python imports this module in each process that a test starts.

A process that stores and digests its first message compiles a thousand regular expressions, which takes 0.8 seconds of CPU
time. The tests start hundreds of such processes. ``tests/conftest.py`` puts this folder on ``PYTHONPATH``.
"""
# Importing pathlib or contextlib here would slow down the start of short processes.
# ruff: noqa: PTH100, PTH103, PTH105, PTH118, PTH120, PTH123, SIM105

import marshal
import os
import re
import sys
import zlib

_MIN_LENGTH = 24
"""Length of the shortest pattern that is cached. Python compiles a shorter pattern about as fast as it reads a file."""


def _install(folder: str) -> None:
    """Make ``re.compile`` read the code of a pattern from a file. If the file is missing, compile the pattern and write it.

    Uses private modules of CPython. ``_sre.compile`` validates the code and raises an error if it is damaged.
    """
    import _sre  # type: ignore[import-not-found]  # noqa: PLC0415
    from re import _compiler, _parser  # type: ignore[attr-defined]  # noqa: PLC0415

    compile_uncached, code_of = _compiler.compile, _compiler._code
    folder = os.path.join(folder, f"{sys.implementation.cache_tag}-{_sre.MAGIC}")
    os.makedirs(folder, exist_ok=True)

    def compile_cached(pattern: object, flags: int = 0) -> object:
        if not isinstance(pattern, str) or len(pattern) < _MIN_LENGTH or flags & re.DEBUG:
            return compile_uncached(pattern, flags)
        key = (pattern, int(flags))
        checksum = zlib.crc32(pattern.encode("utf-8", "surrogatepass"))
        path = os.path.join(folder, f"{checksum:08x}-{len(pattern)}-{key[1]}")
        try:
            with open(path, "rb") as file:
                stored, arguments = marshal.loads(file.read())
            if stored == key:  # else a pattern with the same checksum
                return _sre.compile(pattern, *arguments)
        except (OSError, ValueError, EOFError, TypeError, RuntimeError):  # missing or damaged
            pass
        state = (parsed := _parser.parse(pattern, flags)).state
        names = {number: name for name, number in state.groupdict.items()}
        groups = tuple(names.get(number) for number in range(state.groups))
        code = [int(word) for word in code_of(parsed, flags)]
        arguments = (int(flags | state.flags), code, state.groups - 1, dict(state.groupdict), groups)
        draft = f"{path}.{os.getpid()}"
        try:
            with open(draft, "wb") as file:
                file.write(marshal.dumps((key, arguments)))
            os.replace(draft, path)
        except OSError:  # a full disk, or another thread that has written the same pattern
            pass
        return _sre.compile(pattern, *arguments)

    _compiler.compile = compile_cached


try:
    _install(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".cache", "regex"))
except (ImportError, AttributeError, OSError):  # another implementation of Python, or a folder that is read-only
    pass
