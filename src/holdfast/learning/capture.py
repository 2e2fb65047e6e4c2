"""Extract memories from a conversation with a chat model, or with rules if there is no model.

The model answers with a list of items. An :class:`Extractor` defines the prompt, the fields of an item, and the
function that turns an item into a memory. It also defines rules for extracting without a model. If the model fails,
the rules are used for that conversation, and the outcome records the failure. The model sees messages and memories as
numbered lines, never their ids. An item is dropped if too few of its words occur in the text shown to the model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import ModelError
from holdfast.learning.ask_model import Outcome, complete, load_prompt, prompt_turns
from holdfast.learning.changes.reconcile import may_replace
from holdfast.protocols import SentenceReader
from holdfast.text.clean import one_line
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import Memory, Message, Put

ExtractorName: TypeAlias = Literal["statements", "typed_facts", "key_values", "conclusions", "paragraph"]

_MAX_PART_CHARACTERS: Final = 12_000
"""Maximum number of characters of conversation per model call: about 3,000 tokens, which small models still follow."""
_MAX_PARTS: Final = 6
"""Maximum number of model calls per conversation, not counting retries. Rules handle the rest of a longer conversation."""
_MIN_GROUNDED_SHARE: Final = 0.34
"""Minimum share, from 0 to 1, of the terms of a proposed memory that must occur in the text shown to the model.

A memory with a lower share counts as invented by the model.
"""
_MIN_SAME_SHARE: Final = 0.6
"""Minimum share, from 0 to 1, of one text's terms that must occur in another text.

With this share or more, the two texts count as the same statement.
"""
_NARRATION_WORDS: Final = frozenset({"user", "usuario", "usuari", "usuaria", "person", "persona"})
"""Words for the user in a report, such as "user" in "the user likes tea". They are ignored when texts are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """Messages to extract from, already filtered by ``input_filter``, and the memories known so far."""

    messages: Sequence[Message]
    known: Sequence[Memory] = ()
    """Memories shown to the model. The model's answer can replace only these memories."""
    language: str | None = None
    reader: SentenceReader | None = None
    """The model that reads sentences if there is no chat model. None if only rules do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """A way of extracting memories, defined both for a model and for rules."""

    name: str
    prompt: str
    """Name of the prompt file."""
    fields: Mapping[str, Any]
    """Fields of one item in the model's answer, as JSON Schema properties.

    ``schema`` adds two fields: ``messages`` (numbers of the source lines) and ``replaces`` (numbers of the replaced
    memories).
    """
    required: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Function that turns one item of the model's answer into arguments of :class:`Put`, such as kind, text and key."""
    rules: Callable[[Sequence[Message], SentenceReader | None], list[Put]]
    """Function that extracts without a chat model, with the sentence reader if there is one."""
    version: str
    """Version of the rules."""
    reads: Literal["user", "all"] = "user"
    """Whose messages may be sources of a memory: ``user`` for the user's only, ``all`` for other messages, too.

    At least one source of a memory is always a message of the user.
    """
    max_tokens: int = 1500

    @property
    def schema(self) -> Schema:
        """JSON Schema of an answer."""
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
class _Results:
    """Puts (memories to store), flaws and usage accumulated over the parts of a conversation."""

    puts: list[Put] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    version: str = ""


def extract(extractor: Extractor, conversation: ExtractionInput, model: ChatModel | None) -> Outcome:
    """Extract memories from a conversation with the model, or with rules if there is no model or it fails."""
    if not any(message.role == "user" for message in conversation.messages):
        return Outcome(prompt=extractor.version)
    if model is None:
        return _extract_locally(extractor, conversation, conversation.messages)
    results = _Results()
    try:
        _ask_in_parts(extractor, conversation, model, results)
    except ModelError as error:
        spent = results.usage + usage_of(error)
        flaw = f"{model.name} failed, rules took over: {type(error).__name__}: {error}"[:300]
        found = _extract_locally(extractor, conversation, conversation.messages)
        return replace(found, flaws=(flaw, *found.flaws), usage=spent)
    return Outcome(
        changes=tuple(results.puts), model=model.name, prompt=results.version, flaws=tuple(results.flaws), usage=results.usage
    )


def _extract_locally(extractor: Extractor, conversation: ExtractionInput, messages: Sequence[Message]) -> Outcome:
    """Extract without a chat model. If the sentence reader cannot be used, the rules work alone, and the outcome says so."""
    if conversation.reader is not None:
        try:
            return Outcome(changes=tuple(extractor.rules(messages, conversation.reader)), prompt=extractor.version)
        except ModelError as error:
            rules = tuple(extractor.rules(messages, None))
            return Outcome(changes=rules, prompt=extractor.version, flaws=(reader_flaw(error),))
    return Outcome(changes=tuple(extractor.rules(messages, None)), prompt=extractor.version)


def reader_flaw(error: ModelError) -> str:
    """Return the note on a job whose sentence reader cannot be used."""
    return f"the sentence reader cannot be used, rules took over: {error}"[:300]


def _ask_in_parts(extractor: Extractor, conversation: ExtractionInput, model: ChatModel, results: _Results) -> None:
    parts = _parts(conversation.messages)
    for part in parts[:_MAX_PARTS]:
        _ask(extractor, replace(conversation, messages=part), model, results)
    rest = [message for part in parts[_MAX_PARTS:] for message in part]
    if rest:
        found = _extract_locally(extractor, conversation, rest)
        results.puts += [change for change in found.changes if isinstance(change, Put)]
        results.flaws += found.flaws
        results.flaws.append(f"the conversation is too long for the model: rules extracted from its last {len(rest)} messages")


def _ask(extractor: Extractor, part: ExtractionInput, model: ChatModel, results: _Results) -> None:
    prompt = load_prompt(extractor.prompt, part.language)
    turns = prompt_turns(prompt, known=_known(part.known), transcript=_transcript(part.messages))
    answer = complete(model, turns, extractor.schema, max_tokens=extractor.max_tokens)
    results.version = prompt.version
    results.usage += answer.usage
    results.flaws += answer.flaws
    shown = _words([*(message.text for message in part.messages), *(str(memory) for memory in part.known)])
    for item in answer.data["items"]:
        put = _put(extractor, part, item)
        if put is None:
            results.flaws.append("dropped an item without text or without a source")
        elif not _is_grounded(put, shown):
            results.flaws.append("dropped an item whose words do not occur in the conversation")
        else:
            results.puts.append(put)


def _put(extractor: Extractor, part: ExtractionInput, item: Mapping[str, Any]) -> Put | None:
    """Turn one item of the model's answer into a Put (a memory to store). Return None if the item lacks text or a source.

    Line numbers that match no message or memory are ignored.
    """
    sources = [
        message
        for number, message in enumerate(part.messages, 1)
        if number in item["messages"] and (extractor.reads == "all" or message.role == "user")
    ]
    arguments = extractor.make(item)
    key = arguments.get("key")
    blank = not one_line(arguments["text"]) or (key is not None and not one_line(key))
    if blank or not any(message.role == "user" for message in sources):
        return None
    last = sources[-1]
    arguments.setdefault("reason", "extracted from the conversation")
    speaker = {"speaker": last.speaker} if last.speaker else {}
    put = Put(
        scope=last.scope,
        sources=tuple(message.id for message in sources),
        trust=min(message.trust for message in sources),
        valid_from=last.at,
        language=last.language or part.language,
        **{**arguments, "metadata": {**speaker, **arguments.get("metadata", {})}},
    )
    replaced = [memory for number, memory in enumerate(part.known, 1) if number in item.get("replaces", ())]
    return replace(put, replaces=tuple(memory.id for memory in replaced if may_replace(put, memory)))


def is_same_statement(one: str, other: str) -> bool:
    """Return True if most terms of one text occur in the other, as with a quote and its paraphrase."""
    shared, total = _count_shared_terms(one, _words([other]))
    return total > 0 and shared >= _MIN_SAME_SHARE * total


def newest_that_fit(messages: Sequence[Message], *, characters: int) -> list[Message]:
    """Return the newest messages whose total length is at most ``characters``. The last message is always included."""
    kept: list[Message] = []
    for message in reversed(messages):
        characters -= len(message.text)
        if kept and characters < 0:
            break
        kept.insert(0, message)
    return kept


def _is_grounded(put: Put, shown: frozenset[str]) -> bool:
    """Return True if enough terms of a proposed memory occur in the text shown to the model.

    Terms are compared by their stems: "works" matches "work".
    """
    shared, total = _count_shared_terms(put.text, shown)
    return shared >= _MIN_GROUNDED_SHARE * total


def _count_shared_terms(text: str, others: frozenset[str]) -> tuple[int, int]:
    """Return how many terms of a text occur in ``others``, and how many terms the text has.

    Words for the user in a report, such as "user" in "the user likes tea", do not count.
    """
    terms = [spellings for spellings in query_terms(text, ("en", "es")) if not spellings & _NARRATION_WORDS]
    return sum(not spellings.isdisjoint(others) for spellings in terms), len(terms)


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
    """Split a conversation into parts, one for each model call. A message longer than a part is truncated."""
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
