"""MCP resources and prompts: topic pages, the profile, and the prompts a person can choose."""

import json
from typing import Any

import pytest
from mcp import Client, MCPError, types

from holdfast import Engine

from .support import in_process, tell, text_of


def _read(memory: Engine, uri: str, **who: Any) -> Any:
    (content,) = tell(in_process(memory, **who), lambda client: client.read_resource(uri)).contents
    return content


def test_topics_are_listed_and_read_as_pages(memory: Engine) -> None:
    memory.remember("rice needs two cups of water", topic="cooking-rice", user="ana")
    memory.remember("bob bakes", topic="baking", user="bob")
    listed = json.loads(_read(memory, "holdfast://topics", user="ana").text)
    assert [(each["topic"], each["lines"], each["uri"]) for each in listed] == [
        ("cooking-rice", 1, "holdfast://topics/cooking-rice")
    ]
    page = _read(memory, listed[0]["uri"], user="ana")
    assert page.mime_type == "text/markdown"
    assert page.text == "# Cooking rice\n\n- rice needs two cups of water (2026-03-01)\n"


def test_a_topic_with_any_name_has_an_address(memory: Engine) -> None:
    memory.remember("40 candles", topic="cumpleaños/50%", user="ana")
    (listed,) = json.loads(_read(memory, "holdfast://topics", user="ana").text)
    assert "40 candles" in _read(memory, listed["uri"], user="ana").text


def test_resources_name_the_pages_and_their_form(memory: Engine) -> None:
    memory.remember("rice needs water", topic="rice")

    async def story(client: Client) -> None:
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        assert list(listed) == ["holdfast://topics", "holdfast://profile", "holdfast://topics/rice"]
        (form,) = (await client.list_resource_templates()).resource_templates
        assert form.uri_template == "holdfast://topics/{topic}"
        reference = types.ResourceTemplateReference(type="ref/resource", uri=form.uri_template)
        assert (await client.complete(reference, {"name": "topic", "value": "ri"})).completion.values == ["rice"]
        assert (await client.complete(reference, {"name": "topic", "value": "x"})).completion.values == []

    tell(in_process(memory), story)


@pytest.mark.parametrize("uri", ["holdfast://topics/bobs", "holdfast://topics/", "holdfast://nothing", "file:///etc/passwd"])
def test_foreign_and_missing_resources_get_the_same_error(memory: Engine, uri: str) -> None:
    memory.remember("bob bakes", topic="bobs", user="bob")
    if uri == "holdfast://topics/":
        assert json.loads(_read(memory, uri, user="ana").text) == []
        return
    with pytest.raises(MCPError, match="There is no resource"):
        _read(memory, uri, user="ana")


def test_the_profile_has_pinned_and_profile_memories_or_else_the_newest_facts(memory: Engine) -> None:
    memory.remember("likes the sea", user="ana")
    assert "likes the sea" in _read(memory, "holdfast://profile", user="ana").text
    memory.remember("a baker in Lisbon", kind="profile", key="who", user="ana")
    memory.remember("is called Ana", user="ana", metadata={"category": "user_profile"})
    profile = _read(memory, "holdfast://profile", user="ana").text
    assert "a baker in Lisbon" in profile
    assert "is called Ana" in profile
    assert "likes the sea" not in profile


def test_the_profile_of_an_unknown_user_says_that_nothing_is_known(memory: Engine) -> None:
    assert _read(memory, "holdfast://profile", user="ana").text == "# Profile\n\nNothing is known yet.\n"


def test_a_preset_without_topics_has_none(open_memory: Any) -> None:
    assert json.loads(_read(open_memory(preset="rumi"), "holdfast://topics").text) == []


@pytest.mark.parametrize(("language", "said"), [("en", "Tell me what you know about me."), ("es", "Cuéntame qué sabes de mí.")])
def test_the_prompt_what_do_you_know_shows_the_memories(memory: Engine, language: str, said: str) -> None:
    memory.set_user("ana", language=language)
    memory.remember("prefers tea", key="drink", user="ana")
    memory.remember("prefers coffee", user="bob")
    got = tell(in_process(memory, user="ana"), lambda client: client.get_prompt("what_do_you_know", {}))
    text = text_of(got)
    assert text.startswith(said)
    assert "- drink: prefers tea" in text
    assert "coffee" not in text


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_prompt_exists_completely_in_every_language(memory: Engine, language: str) -> None:
    memory.set_user("ana", language=language)

    async def story(client: Client) -> None:
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["remember_conversation", "what_do_you_know", "forget_about"]
        for prompt in prompts:
            assert prompt.title
            assert prompt.arguments
            filled = await client.get_prompt(prompt.name, {prompt.arguments[0].name: "xylophones {0}"})
            text = text_of(filled)
            assert "xylophones" in text
            assert not any(f"{{{name}}}" in text for name in ("about", "focus", "known"))

    tell(in_process(memory, user="ana"), story)


def test_a_prompt_without_its_argument_and_an_unknown_prompt_are_refused(memory: Engine) -> None:
    with pytest.raises(MCPError, match="needs the argument about"):
        tell(in_process(memory), lambda client: client.get_prompt("forget_about", {}))
    with pytest.raises(MCPError, match="what_do_you_know"):
        tell(in_process(memory), lambda client: client.get_prompt("dream", {}))
