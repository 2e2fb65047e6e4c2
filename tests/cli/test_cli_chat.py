"""``holdfast chat``: with and without a model, in two languages, and interrupted in several ways."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.models.remote.chat_server import ChatServer, ReceivedRequest, Say, Silence

from .support import Holdfast, executable

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and terminals as POSIX has them")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def respond(request: ReceivedRequest) -> str:
        return '{"items": []}' if "response_format" in request.body else "ok"

    with ChatServer(respond=respond) as server:
        yield server


def modelled(server: ChatServer) -> dict[str, Any]:
    """Return the environment variables that select the test server's model."""
    return {"HOLDFAST_CHAT": "openai:gpt-4o-mini", "HOLDFAST_CHAT_URL": server.url, "HOLDFAST_CHAT_KEY": "k"}


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


@contextmanager
def talking(holdfast: Holdfast, *args: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``holdfast chat`` with pipes, and kill it at the end if it still runs."""
    # A shell starts background jobs with SIGINT ignored, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [executable(), "chat", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**holdfast.environment, "HOLDFAST_EMBEDDER": "none", "PYTHONUTF8": "1", **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def type_line(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(lines(text))
    process.stdin.flush()


def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


# Without a model.


@pytest.mark.ledger("U7")
def test_without_a_model_it_remembers_shows_what_it_would_tell_one_and_learns_on_exit(holdfast: Holdfast) -> None:
    holdfast("remember", "allergic to peanuts", "--user", "ana")
    result = holdfast("chat", "--user", "ana", input="I live in Lyon.\nAm I allergic to peanuts?\n")
    assert result.stderr.count("No chat model is set") == 1
    assert "allergic to peanuts" in result.stdout
    assert "> " not in result.stdout
    assert "New memories from this session" in result.stdout
    assert [found["text"] for found in holdfast.json("list", "--user", "ana") if "Lyon" in found["text"]]
    assert holdfast.json("sessions", "--user", "ana")[0]["status"] == "ended"


def test_nothing_typed_leaves_nothing(holdfast: Holdfast) -> None:
    result = holdfast("chat", input="\n\n")
    assert result.stdout == ""
    assert holdfast.json("sessions") == []


@pytest.mark.ledger("U7")
def test_a_conversation_in_spanish_with_rumis_preset(holdfast: Holdfast) -> None:
    typed = "Trabajo en una panadería.\n/recordar mascota: tiene un gato\n/olvidar mascota\n/ayuda\n/fin\n"
    result = holdfast("chat", "--preset", "rumi", input=typed)
    assert "No hay ningún modelo" in result.stderr
    assert "Recordado: mascota: tiene un gato" in result.stdout
    assert "Olvidado de mascota: 1" in result.stdout
    assert "/recordar TEXTO" in result.stdout
    assert "Recuerdos nuevos de esta sesión:" in result.stdout
    (kept,) = holdfast.json("list", "--preset", "rumi")
    assert (kept["key"], "panadería" in kept["text"]) == ("trabajo", True)


def test_the_users_profile_chooses_the_language_and_an_option_overrules_it(holdfast: Holdfast) -> None:
    holdfast("users", "set", "ana", "--language", "es")
    assert "No existe el comando" in holdfast("chat", "--user", "ana", input="/x\n").stderr
    assert "There is no command" in holdfast("chat", "--user", "ana", "--language", "en", input="/x\n").stderr


# Commands.


@pytest.mark.ledger("U3", "U7")
def test_commands_remember_list_search_and_forget(holdfast: Holdfast) -> None:
    typed = "/remember cheese is for Sunday\n/remember\n/memories\n/memories cheese\n/forget wine\n"
    result = holdfast("chat", "--user", "ana", input=typed)
    (kept,) = holdfast.json("list", "--user", "ana")
    assert result.stdout.count(kept["id"]) == 3
    assert "found by text" in result.stdout
    assert "Text is missing. Usage: /remember TEXT" in result.stderr
    assert "There is no memory with the key or id wine." in result.stdout
    gone = holdfast("chat", "--user", "ana", input=f"/forget {kept['id']}\n")
    assert holdfast.json("list", "--user", "ana") == []
    holdfast("undo", gone.stderr.split("holdfast undo ")[1].split()[0])
    assert len(holdfast.json("list", "--user", "ana")) == 1


def test_forgetting_a_key_can_be_undone(holdfast: Holdfast) -> None:
    holdfast("remember", "tea", "--key", "drink", "--user", "ana")
    result = holdfast("chat", "--user", "ana", input="/forget drink\n")
    assert "Forgotten under drink: 1" in result.stdout
    holdfast("undo", result.stderr.split("holdfast undo ")[1].split()[0])
    assert len(holdfast.json("list", "--user", "ana")) == 1


def test_forgetting_what_has_no_key_names_what_could_be_meant(holdfast: Holdfast) -> None:
    holdfast("remember", "works as a baker", "--user", "ana")
    (kept,) = holdfast.json("list", "--user", "ana")
    result = holdfast("chat", "--user", "ana", input="/forget baker\n")
    assert kept["id"] in result.stdout


def test_why_and_context_show_what_a_model_was_told(holdfast: Holdfast) -> None:
    holdfast("remember", "allergic to peanuts", "--user", "ana")
    typed = "/why\nAm I allergic to peanuts?\n/why\n/context\n"
    out = holdfast("chat", "--user", "ana", "--persona", "You are a cook.", input=typed).stdout
    assert "You have not sent a message yet." in out
    assert "Recalled for your last message" in out
    assert "found by text #1" in out
    assert out.count("You are a cook.") == 2
    assert out.index("You are a cook.") < out.index("allergic to peanuts")


def test_an_unknown_command_is_suggested_and_a_path_is_a_message(holdfast: Holdfast) -> None:
    result = holdfast("chat", "--user", "ana", input="/rember x\n/usr/bin is full\n")
    assert "Did you mean /remember?" in result.stderr
    (session,) = holdfast.json("sessions", "--user", "ana")
    said = holdfast.json("sessions", "show", session["id"])["messages"]
    assert [message["text"] for message in said] == ["/usr/bin is full"]


def test_new_begins_another_conversation_and_the_one_before_is_learned_from(holdfast: Holdfast) -> None:
    holdfast("chat", "--user", "ana", input="I live in Lyon.\n/new\nI have a cat.\n")
    texts = " ".join(found["text"] for found in holdfast.json("list", "--user", "ana"))
    assert "Lyon" in texts
    assert "cat" in texts
    assert len(holdfast.json("sessions", "--user", "ana")) == 2


def test_a_conversation_goes_on_with_its_id(holdfast: Holdfast) -> None:
    (first, ended) = (
        json.loads(line) for line in holdfast("chat", "--user", "ana", "--json", input="Hello.\n").stdout.splitlines()
    )
    assert ended["ended"] == first["session"]
    holdfast("chat", "--user", "ana", "--session", first["session"], input="Me again.\n")
    said = holdfast.json("sessions", "show", first["session"])["messages"]
    assert [message["text"] for message in said] == ["Hello.", "Me again."]


def test_off_the_record_nothing_is_kept(holdfast: Holdfast) -> None:
    result = holdfast("chat", "--off-record", "--user", "ana", input="I love parsnips.\n/remember parsnips\n")
    assert "Nothing was stored." in result.stdout
    assert "off the record" in result.stderr
    holdfast("list", "--user", "ana")
    assert not [file.name for file in holdfast.home.rglob("*") if file.is_file() and b"parsnips" in file.read_bytes()]


def test_json_gives_a_line_for_every_line_typed(holdfast: Holdfast) -> None:
    holdfast("remember", "allergic to peanuts", "--user", "ana")
    typed = "Am I allergic to peanuts?\n/memories\n/why\n/nope\n/remember tea\n/forget drink\n/context\n/new\n/help\n"
    result = holdfast("chat", "--user", "ana", "--json", input=typed)
    turn, listed, why, unknown, kept, forgotten, context, new, help = map(json.loads, result.stdout.splitlines())
    assert (turn["reply"], turn["error"]["code"]) == (None, "no_chat_model")
    assert turn["message_id"].startswith("msg_")
    assert [hit["text"] for hit in turn["recalled"]] == ["allergic to peanuts"]
    assert listed["memories"][0]["text"] == "allergic to peanuts"
    assert why["recalled"] == turn["recalled"]
    assert unknown["error"]["code"] == "unknown_command"
    assert kept["remembered"]["text"] == "tea"
    assert forgotten["forgotten"] == 0
    assert context["context"] == turn["context"]
    assert new["session"] != turn["session"]
    assert "/end" in help["commands"]


def test_a_byte_that_is_no_text_does_not_stop_it(holdfast: Holdfast) -> None:
    result = holdfast("chat", "--user", "ana", input=b"\xef\xbb\xbfI live in \xff Lyon.\r\n")
    assert result.exit_code == 0
    (session,) = holdfast.json("sessions", "--user", "ana")
    (message,) = holdfast.json("sessions", "show", session["id"])["messages"]
    assert message["text"] == "I live in \ufffd Lyon."


# With a model, over a real socket.


@pytest.mark.long
@pytest.mark.ledger("U4", "U7")
def test_a_real_conversation_with_tools(holdfast: Holdfast, server: ChatServer) -> None:
    tool = {"name": "remember", "arguments": {"key": "preferencia", "value": "prefiere TypeScript"}}
    server.script(Say("", tools=[tool]), "¡Anotado!", "Prefieres TypeScript.")
    typed = lines("recordá que prefiero TypeScript", "¿qué prefiero?")
    ran = holdfast.run("chat", "--preset", "rumi", input=typed, PYTHONUTF8="1", HOLDFAST_EMBEDDER="none", **modelled(server))
    out = ran.stdout.decode()
    assert out.startswith("¡Anotado!\nPrefieres TypeScript.\n")
    assert "Recordado: preferencia → prefiere TypeScript" in ran.stderr.decode()
    assert "- preferencia: prefiere TypeScript" in server.bodies[2]["messages"][0]["content"]
    assert all(body["stream"] for body in server.bodies[:3])
    assert [found["text"] for found in holdfast.json("list", "--preset", "rumi")] == ["prefiere TypeScript"]


@pytest.mark.long
def test_without_streaming_and_in_json_a_reply_is_asked_for_whole(holdfast: Holdfast, server: ChatServer) -> None:
    server.script("One.", "Two.")
    plain = holdfast.run("chat", "--no-stream", input=lines("Hi."), HOLDFAST_EMBEDDER="none", **modelled(server))
    assert plain.stdout.decode().startswith("One.\n")
    server.forget()
    server.script("Two.")
    programs = holdfast.run("chat", "--json", input=lines("Hi."), HOLDFAST_EMBEDDER="none", **modelled(server))
    turn = json.loads(programs.stdout.splitlines()[0])
    assert (turn["reply"], turn["usage"]["calls"]) == ("Two.", 1)
    asked = [body for body in server.bodies if "response_format" not in body]
    assert [body.get("stream", False) for body in asked] == [False, False]


@pytest.mark.long
def test_a_model_that_fails_is_told_of_and_the_conversation_goes_on(holdfast: Holdfast, server: ChatServer) -> None:
    server.script(Say("I was about to", break_off=True), "Back again.")
    ran = holdfast.run("chat", "--user", "ana", input=lines("Hi.", "Still there?"), HOLDFAST_EMBEDDER="none", **modelled(server))
    assert "I was about to" in ran.stdout.decode()
    assert "Back again." in ran.stdout.decode()
    assert "error:" in ran.stderr.decode()
    (session,) = holdfast.json("sessions", "--user", "ana")
    said = holdfast.json("sessions", "show", session["id"])["messages"]
    assert [(message["text"], message["action"]) for message in said][:2] == [("Hi.", None), ("I was about to", "interrupted")]


# Interruptions.


@pytest.mark.long
@posix_only
@pytest.mark.ledger("U7", "U9")
def test_killed_in_the_middle_nothing_that_was_said_is_lost(holdfast: Holdfast) -> None:
    with talking(holdfast, "--user", "ana") as process:
        type_line(process, "I live in Lyon.")
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
        process.wait()
    (session,) = holdfast.json("sessions", "--user", "ana")
    assert session["status"] == "open"
    found = holdfast.json("recall", "Lyon", "--user", "ana")
    assert [hit["text"] for hit in found] == ["I live in Lyon."]
    listed = holdfast.run("list", "--user", "ana", "--json", HOLDFAST_IDLE_MINUTES="0.0001")
    assert ["Lyon" in memory["text"] for memory in json.loads(listed.stdout)] == [True]


@pytest.mark.long
@posix_only
@pytest.mark.ledger("U9")
def test_killed_while_the_model_thinks_the_question_is_kept(holdfast: Holdfast, server: ChatServer) -> None:
    server.script(Silence(60))
    with talking(holdfast, "--user", "ana", **modelled(server)) as process:
        type_line(process, "I live in Lyon.")
        until(lambda: server.requests)
        process.kill()
        process.wait()
    again = holdfast.run("chat", "--user", "ana", input=lines("Hi."), HOLDFAST_IDLE_MINUTES="0.0001", HOLDFAST_EMBEDDER="none")
    assert again.returncode == 0
    assert [hit["text"] for hit in holdfast.json("recall", "Lyon", "--user", "ana")]
    listed = holdfast.run("list", "--user", "ana", "--json", HOLDFAST_IDLE_MINUTES="0.0001")
    assert ["Lyon" in memory["text"] for memory in json.loads(listed.stdout)] == [True]


@pytest.mark.long
@posix_only
def test_ctrl_c_stops_a_reply_and_the_conversation_goes_on(holdfast: Holdfast, server: ChatServer) -> None:
    server.script(Silence(60), "Here I am.")
    with talking(holdfast, "--user", "ana", **modelled(server)) as process:
        type_line(process, "Tell me everything.")
        until(lambda: server.requests)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        type_line(process, "Just say hello.")
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Here I am." in out.decode()
    assert "[stopped" in err.decode()


@pytest.mark.long
@posix_only
@pytest.mark.ledger("U7")
def test_at_a_terminal_there_is_a_prompt_and_ctrl_d_ends_and_learns(holdfast: Holdfast) -> None:
    import pty  # noqa: PLC0415  (not on Windows)

    ours, theirs = pty.openpty()
    environment = {**holdfast.environment, "HOLDFAST_EMBEDDER": "none", "PYTHONUTF8": "1", "TERM": "dumb"}
    process = subprocess.Popen(
        [executable(), "chat", "--user", "ana"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    seen = b""

    def read_until(wanted: bytes) -> None:
        """Read new output until it contains the wanted text.

        Used to wait for the prompt, because a terminal may lose keys that are typed before the prompt appears.
        """
        nonlocal seen
        fresh = b""
        while wanted not in fresh:
            assert select.select([ours], [], [], 30)[0], f"{wanted!r} never came: {seen!r}"
            fresh += os.read(ours, 1)
            seen += fresh[-1:]

    try:
        read_until(b"> ")
        os.write(ours, b"I live in Lyon.\n")
        read_until(b"matters here")
        read_until(b"> ")
        os.write(ours, b"\x04")
        read_until(b"New memories from this session")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"Chatting as ana" in seen
    assert ["Lyon" in memory["text"] for memory in holdfast.json("list", "--user", "ana")] == [True]
