"""Output is wrapped at words on a terminal, and unchanged in a pipe."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.cli.output import table
from holdfast.cli.wrapping import Flow, display_width, wrap
from tests.models.remote.chat_server import ChatServer

from .support import Holdfast, executable

posix_only = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")
LONG = "She walks along the river every evening and feeds the ducks with old bread although the signs forbid it"


# Wrapping.


def test_lines_break_between_words_and_no_word_is_lost() -> None:
    lines = wrap(LONG, 30).split("\n")

    assert max(map(len, lines)) <= 30
    assert " ".join(line.strip() for line in lines) == LONG


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert wrap("  two  spaces  stay", 19) == "  two  spaces  stay"


def test_a_word_longer_than_the_terminal_stays_whole() -> None:
    url = "https://example.com/" + "x" * 50
    assert wrap(f"See {url} for more", 30).split("\n") == ["See", url, "for more"]


@pytest.mark.parametrize(
    ("line", "indent"),
    [
        (f" 1. {LONG}", 4),
        (f"- {LONG}", 2),
        (f"text          {LONG}", 14),
        (f"/forget KEY|ID     {LONG}", 19),
        (f"mem_01k4aaaaaaaaaaaaaaaaaaaaaa  {LONG}", 4),
        (f"      {LONG}", 6),
        (LONG, 0),
    ],
)
def test_later_lines_are_aligned_under_the_first(line: str, indent: int) -> None:
    _, *later = wrap(line, 40).split("\n")
    assert later
    assert {len(each) - len(each.lstrip()) for each in later} == {indent}


@pytest.mark.parametrize(
    "text",
    [
        "彼女は毎朝、東京の小さな喫茶店でコーヒーを飲みます。とても美味しいです。",
        "우리는 매일 저녁 강가를 따라 산책하고 오리에게 먹이를 줍니다",
        "tea 🧉🧉🧉 and coffee ☕☕☕ and cake 🍰🍰🍰 for everyone 🎉🎉🎉",
    ],
)
def test_wide_characters_count_as_two_columns(text: str) -> None:
    lines = wrap(text, 20).split("\n")

    assert len(lines) > 1
    assert max(map(display_width, lines)) <= 20
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_closing_punctuation_does_not_begin_a_line() -> None:
    text = "東京、" * 20
    for width in range(20, 30):
        assert not any(line.startswith("、") for line in wrap(text, width).split("\n")), width


def test_an_emoji_of_several_characters_is_not_torn() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    text = f"{family}👍🏽" * 10
    for width in range(20, 30):
        for line in wrap(text, width).split("\n"):
            assert line.replace(family, "").replace("👍🏽", "") == ""


def test_combining_accents_have_no_width() -> None:
    assert display_width("cafe\u0301") == 4


def test_pieces_are_wrapped_as_the_whole_text_is() -> None:
    for size in (1, 2, 3, 7, 50):
        pieces: list[str] = []
        flow = Flow(pieces.append, 30)
        for start in range(0, len(LONG), size):
            flow.feed(LONG[start : start + size])
        flow.finish()
        assert "".join(pieces) == wrap(LONG, 30)


def test_table_columns_are_aligned_by_their_width_on_the_terminal() -> None:
    assert table([("名前", "x"), ("ana", "y")]) == ["名前  x", "ana   y"]


# On a terminal.


@contextmanager
def terminal(width: int) -> Iterator[tuple[int, int]]:
    """Open a pseudo-terminal of a given width; yield the test's end and the program's end."""
    import pty  # noqa: PLC0415  (not on Windows)
    import termios  # noqa: PLC0415  (as above)

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, width))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def shown(holdfast: Holdfast, *args: str, width: int = 50, input: bytes = b"", **environment: str) -> list[str]:
    """Run a command on a pseudo-terminal with its input from a pipe. Return the lines it prints."""
    chosen = {**holdfast.environment, "PYTHONUTF8": "1", "HOLDFAST_EMBEDDER": "none", **environment}
    with terminal(width) as (ours, theirs):
        process = subprocess.Popen([executable(), *args], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=chosen)
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(input)
        process.stdin.close()
        seen = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:  # on Linux, the program has closed its end
                break
            if not block:
                break
            seen += block
        assert process.wait(60) == 0, seen
    return seen.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.long
@posix_only
def test_a_terminal_gets_whole_words_and_a_pipe_whole_lines(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", LONG, "--user", "ana")["id"]

    for command in (("recall", "ducks"), ("list",), ("context", "ducks"), ("show", id), ("history", id)):
        scope = () if id in command else ("--user", "ana")
        lines = shown(holdfast, *command, *scope)
        assert max(map(len, lines)) <= 50, command
        assert LONG in " ".join(" ".join(line.split()) for line in lines), command
        assert LONG in holdfast.run(*command, *scope).stdout.decode(), command


@pytest.mark.long
@posix_only
def test_a_reply_that_comes_in_pieces_is_wrapped_at_words(holdfast: Holdfast) -> None:
    with ChatServer() as server:
        server.script(LONG)
        model: dict[str, Any] = {"HOLDFAST_CHAT": "openai:m", "HOLDFAST_CHAT_URL": server.url}
        lines = shown(holdfast, "chat", "--off-record", input=b"Tell me.\n", **model)

    assert max(map(len, lines)) <= 50
    assert LONG in " ".join(lines)


@pytest.mark.long
@posix_only
def test_json_is_not_wrapped(holdfast: Holdfast) -> None:
    holdfast("remember", LONG)
    assert any(LONG in line for line in shown(holdfast, "list", "--json"))


def test_a_stream_that_is_not_a_terminal_has_no_width() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; from holdfast.cli.wrapping import columns; print(columns(sys.stdout))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "None\n"
