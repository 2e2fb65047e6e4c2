"""What a conversation leaves behind: a model is asked where there is one, rules answer where there is none.

A capture is described by data: its prompt, the shape of an answer, how an item becomes a memory, and the rules
that do the same without a model. When the model fails, the rules take over for that conversation and the outcome
says so. A model sees messages and memories as numbered lines, never their ids, and what it says must be found in
what it was shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import ModelError
from holdfast.learning.ask_model import Outcome, complete, load_prompt, prompt_turns
from holdfast.learning.changes.reconcile import may_replace
from holdfast.text.clean import one_line
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import Memory, Message, Put

ExtractorName: TypeAlias = Literal["statements", "typed_facts", "key_values", "conclusions", "paragraph"]

_MAX_PART_CHARACTERS: Final = 12_000
"""Characters of conversation a model is shown at a time: about 3,000 tokens, which small models still follow."""
_MAX_PARTS: Final = 6
"""Calls one conversation may cost, repairs aside; rules read what is left of a longer one."""
_MIN_GROUNDED_SHARE: Final = 0.34
"""Share of an item's words that must occur in what the model was shown; less is made up."""
_NARRATION_WORDS: Final = frozenset({"user", "usuario", "usuari", "usuaria", "person", "persona"})
"""Words of the report, not of what is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """What is to be learnt from, fenced: only what people said to each other, and what is known already."""

    messages: Sequence[Message]
    known: Sequence[Memory] = ()
    """Memories the model is shown, and the only ones its answer may replace."""
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """One way of learning."""

    name: str
    prompt: str
    """The prompt's file."""
    fields: Mapping[str, Any]
    """What an item of the answer holds, as JSON Schema properties; sources and replacements are added."""
    required: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Turns an item into what a :class:`Put` needs: kind, text, key and the like."""
    rules: Callable[[Sequence[Message]], list[Put]]
    version: str
    """The version of the rules."""
    reads: Literal["user", "all"] = "user"
    """Whose words may be the source of an item."""
    max_tokens: int = 1500

    @property
    def schema(self) -> Schema:
        """The shape of an answer."""
        numbers = {"type": "array", "items": {"type": "integer"}}
        item = {
            "type": "object",
            "properties": {**self.fields, "messages": numbers, "replaces": numbers},
            "required": [*self.required, "messages"],
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {"items": {"type": "array", "items": item, "maxItems": 40}},
            "required": ["items"],
            "additionalProperties": False,
        }


@dataclass(slots=True)
class _Findings:
    """What has been gathered so far."""

    puts: list[Put] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    version: str = ""


def extract(extractor: Extractor, conversation: ExtractionInput, model: ChatModel | None) -> Outcome:
    """Return the memories a conversation leaves, thought of by the model or, failing that, by rules."""
    if not any(message.role == "user" for message in conversation.messages):
        return Outcome(prompt=extractor.version)
    if model is None:
        return Outcome(changes=tuple(extractor.rules(conversation.messages)), prompt=extractor.version)
    found = _Findings()
    try:
        _ask_in_parts(extractor, conversation, model, found)
    except ModelError as error:
        spent = found.usage + usage_of(error)
        flaw = f"{model.name} failed, rules took over: {type(error).__name__}: {error}"[:300]
        return Outcome(
            changes=tuple(extractor.rules(conversation.messages)), prompt=extractor.version, flaws=(flaw,), usage=spent
        )
    return Outcome(changes=tuple(found.puts), model=model.name, prompt=found.version, flaws=tuple(found.flaws), usage=found.usage)


def _ask_in_parts(extractor: Extractor, conversation: ExtractionInput, model: ChatModel, found: _Findings) -> None:
    parts = _parts(conversation.messages)
    for part in parts[:_MAX_PARTS]:
        _ask(extractor, replace(conversation, messages=part), model, found)
    rest = [message for part in parts[_MAX_PARTS:] for message in part]
    if rest:
        found.puts += extractor.rules(rest)
        found.flaws.append(f"a very long conversation: rules read its last {len(rest)} messages")


def _ask(extractor: Extractor, part: ExtractionInput, model: ChatModel, found: _Findings) -> None:
    prompt = load_prompt(extractor.prompt, part.language)
    asked = prompt_turns(prompt, known=_known(part.known), transcript=_transcript(part.messages))
    answer = complete(model, asked, extractor.schema, max_tokens=extractor.max_tokens)
    found.version = prompt.version
    found.usage += answer.usage
    found.flaws += answer.flaws
    shown = _words([*(message.text for message in part.messages), *(str(memory) for memory in part.known)])
    for item in answer.data["items"]:
        put = _put(extractor, part, item)
        if put is None:
            found.flaws.append("an item without text or without a source was left out")
        elif not _is_grounded(put, shown):
            found.flaws.append("an item that nobody said was left out")
        else:
            found.puts.append(put)


def _put(extractor: Extractor, part: ExtractionInput, item: Mapping[str, Any]) -> Put | None:
    """Make a memory of an item; numbers it was not shown are passed over."""
    sources = [
        message
        for number, message in enumerate(part.messages, 1)
        if number in item["messages"] and (extractor.reads == "all" or message.role == "user")
    ]
    made = extractor.make(item)
    blank = not one_line(made["text"]) or (made.get("key") is not None and not one_line(made["key"]))
    if blank or not any(message.role == "user" for message in sources):
        return None
    last = sources[-1]
    made.setdefault("reason", "learnt from what was said")
    speaker = {"speaker": last.speaker} if last.speaker else {}
    put = Put(
        scope=last.scope,
        sources=tuple(message.id for message in sources),
        trust=min(message.trust for message in sources),
        valid_from=last.at,
        language=last.language or part.language,
        **{**made, "metadata": {**speaker, **made.get("metadata", {})}},
    )
    named = [memory for number, memory in enumerate(part.known, 1) if number in item.get("replaces", ())]
    return replace(put, replaces=tuple(memory.id for memory in named if may_replace(put, memory)))


def is_same_statement(one: str, other: str) -> bool:
    """Tell whether most of what one text says stands in another: a quote and its paraphrase."""
    words = [spellings for spellings in query_terms(one, ("en", "es")) if not spellings & _NARRATION_WORDS]
    shown = _words([other])
    return bool(words) and sum(not spellings.isdisjoint(shown) for spellings in words) >= 0.6 * len(words)


def newest_that_fit(messages: Sequence[Message], *, characters: int) -> list[Message]:
    """Return the newest messages that are together no longer than this; always the last one."""
    kept: list[Message] = []
    for message in reversed(messages):
        characters -= len(message.text)
        if kept and characters < 0:
            break
        kept.insert(0, message)
    return kept


def _is_grounded(put: Put, shown: frozenset[str]) -> bool:
    """Tell whether enough of the words were said: "works" meets "work", and "trabaja" meets "trabajo"."""
    own = [spellings for spellings in query_terms(put.text, ("en", "es")) if not spellings & _NARRATION_WORDS]
    return not own or sum(not spellings.isdisjoint(shown) for spellings in own) >= _MIN_GROUNDED_SHARE * len(own)


def _words(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(term for text in texts for language in ("en", "es") for term in document_terms(text, language))


def _transcript(messages: Sequence[Message]) -> list[str]:
    """Return the messages as numbered lines."""
    return [
        f"{number} | {message.at:%Y-%m-%d} | {message.speaker or message.role} | {message.text}"
        for number, message in enumerate(messages, 1)
    ]


def _known(memories: Sequence[Memory]) -> list[str]:
    return [f"{number} | {memory}" for number, memory in enumerate(memories, 1)] or ["-"]


def _parts(messages: Sequence[Message]) -> list[list[Message]]:
    """Cut a conversation into parts a model can read at once; one long message is a part of its own, cut short."""
    parts: list[list[Message]] = [[]]
    size = 0
    for message in messages:
        text = message.text[:_MAX_PART_CHARACTERS]
        if parts[-1] and size + len(text) > _MAX_PART_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(message if text == message.text else replace(message, text=text))
        size += len(text) + 40
    return parts
