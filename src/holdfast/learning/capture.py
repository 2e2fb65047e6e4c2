"""Extract memories from a conversation with a chat model, or with rules if there is no model.

The model answers with a list of statements. An :class:`Extractor` defines the prompt, the fields of a statement, and the
function that turns a statement into a memory. It also defines rules for extracting without a model. If the model fails, the
rules are used for that conversation, and the outcome records the failure. The model sees messages and memories as numbered
lines, never their ids.

Each statement of the model is checked against its messages (``answer_check``). If a statement is refused, the rules or the
sentence reader read its messages, and the outcome contains the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import AnswerInvalid, ModelError
from holdfast.learning.answer_check.check import Evidence, problem, states_date
from holdfast.learning.answer_check.evidence import evidence_for
from holdfast.learning.answer_shapes import as_items
from holdfast.learning.ask_model import AnswerShape, Outcome, complete, load_prompt, prompt_turns
from holdfast.learning.changes.end_reason import may_replace
from holdfast.learning.provenance import OWN_SHARE, PARAPHRASE_SHARE, lowest_trust, repeats_own_words
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.clean import one_line
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import Memory, Message, Put

ExtractorName: TypeAlias = Literal["statements", "typed_facts", "key_values", "conclusions", "paragraph"]

_MAX_PART_CHARACTERS: Final = 12_000
"""Maximum number of characters of conversation per model call: about 3,000 tokens, which small models still follow."""
_MAX_PARTS: Final = 6
"""Maximum number of model calls per conversation, not counting retries. Rules handle the rest of a longer conversation."""
_MIN_MEANT_SHARE: Final = 0.5
"""Minimum share, from 0 to 1, of a statement's terms that must occur in the message that it is attributed to.

It applies to statements of the model that do not name their source messages.
"""
HAPPENED_AT: Final = "happened_at"
"""Metadata key for the day on which an event happened or a state began.

The value is an ISO date, which may have only a year or a month.
"""
ENDED_AT: Final = "ended_at"
"""Metadata key for the day on which something ended or will end."""
_MIN_SAME_SHARE: Final = 0.6
"""If at least this share (0 to 1) of one text's terms occurs in another text, both count as the same statement."""
_DAY: Final = regex(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?(?![\d-])")
_NARRATION_WORDS: Final = frozenset({"user", "usuario", "usuari", "usuaria", "person", "persona"})
"""Words for the user in a report, such as "user" in "the user likes tea". They are ignored when texts are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """Messages to extract from, already filtered by ``input_filter``, and the memories known so far."""

    messages: Sequence[Message]
    known: Sequence[Memory] = ()
    """Memories shown to the model. The model's answer can replace only these memories."""
    language: str | None = None
    trusts: Mapping[str, float] = field(default_factory=dict)
    """Trust of each message by its id, see :func:`holdfast.learning.provenance.trust_of`. Messages not listed have full trust."""
    reader: SentenceReader | None = None
    """The sentence reader, which is used if there is no chat model. If it is None, only rules are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """A way of extracting memories, defined both for a model and for rules."""

    name: str
    prompt: str
    """Name of the prompt file."""
    fields: Mapping[str, Any]
    """Fields of one statement in the model's answer, as JSON Schema properties.

    ``schema`` adds the fields ``messages`` (numbers of the source lines), ``replaces`` (numbers of the replaced memories),
    ``happened_at`` and ``ended_at``.
    """
    required: tuple[str, ...]
    """Names of the required fields of a statement."""
    text: str
    """Name of the field with the text."""
    defaults: Mapping[str, Any]
    """Values for required fields that are missing in an answer, or have a value that is not allowed."""
    make: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Function that turns one statement of the model's answer into arguments of :class:`Put`, such as kind, text and key."""
    rules: Callable[[Sequence[Message], SentenceReader | None], list[Put]]
    """Function that extracts without a chat model, with the sentence reader if there is one."""
    version: str
    """Version of the rules."""
    reads: Literal["user", "all"] = "user"
    """Whose messages can be sources of a memory: only the ``user``'s, or ``all`` messages.

    At least one source of each memory is a message of the user.
    """
    max_tokens: int = 1500
    empty: Any = None
    """An answer that means "nothing to keep" in the design's own prompt, such as an empty list. It is accepted, too.

    If it is None, only the answer that the prompt here asks for is accepted.
    """

    @property
    def schema(self) -> Schema:
        """JSON Schema of an answer."""
        numbers = {"type": "array", "items": {"type": "integer"}}
        day = {"type": ["string", "null"]}
        more = {"messages": numbers, "replaces": numbers, HAPPENED_AT: day, ENDED_AT: day}
        item = {
            "type": "object",
            "properties": {**self.fields, **more},
            "required": list(self.required),
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {"items": {"type": "array", "items": item, "maxItems": 40}},
            "required": ["items"],
            "additionalProperties": False,
        }

    @property
    def answer_shape(self) -> AnswerShape:
        """The formats of answers that are accepted."""
        key = "key" if "key" in self.fields else None
        enums = {name: field["enum"] for name, field in self.fields.items() if "enum" in field}
        adapt = partial(as_items, text=self.text, key=key, defaults=self.defaults, enums=enums, empty=self.empty)
        return AnswerShape(schema=self.schema, adapt=adapt, items="items", empty=self.empty)


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
        return replace(found, flaws=(flaw, *found.flaws), usage=spent, failed=True, away=not isinstance(error, AnswerInvalid))
    return Outcome(
        changes=tuple(results.puts), model=model.name, prompt=results.version, flaws=tuple(results.flaws), usage=results.usage
    )


def _extract_locally(extractor: Extractor, conversation: ExtractionInput, messages: Sequence[Message]) -> Outcome:
    """Extract memories from ``messages`` without a chat model.

    The sentence reader of ``conversation`` is used. If it cannot be used, only rules are used, and the outcome says so.
    """
    if conversation.reader is not None:
        try:
            return Outcome(changes=tuple(extractor.rules(messages, conversation.reader)), prompt=extractor.version)
        except ModelError as error:
            rules = tuple(extractor.rules(messages, None))
            return Outcome(changes=rules, prompt=extractor.version, flaws=(reader_flaw(error),))
    return Outcome(changes=tuple(extractor.rules(messages, None)), prompt=extractor.version)


def reader_flaw(error: ModelError) -> str:
    """Return the text of the problem that is reported if the sentence reader cannot be used."""
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
    answer = complete(model, turns, extractor.answer_shape, max_tokens=extractor.max_tokens)
    results.version = prompt.version
    results.usage += answer.usage
    results.flaws += answer.flaws
    kept: list[Put] = []
    refused: list[Message] = []
    for item in answer.data["items"]:
        sources = _sources(extractor, part, item)
        put, why = _checked_put(extractor, part, item, sources)
        if put is None:
            results.flaws.append(f"dropped {why}")
            refused += sources or part.messages
        else:
            kept.append(put)
    if any(flaw.startswith("items[") for flaw in answer.flaws):  # statements in a wrong format were dropped
        covered = {source for put in kept for source in put.sources}
        refused += [message for message in part.messages if message.id not in covered]
    results.puts += [*kept, *_left_to_rules(extractor, part, kept, refused, results)]


def _left_to_rules(
    extractor: Extractor, part: ExtractionInput, kept: Sequence[Put], refused: Sequence[Message], results: _Results
) -> list[Put]:
    """Extract memories by rules from the user's messages in ``refused``. Return these memories.

    ``refused`` are messages whose content may be missing in the model's result: a statement of the model about them was
    refused, or a statement was dropped because its format was invalid. ``kept`` are the memories from the accepted
    statements. A memory that repeats one of ``kept`` is left out. Problems of the extraction are added to ``results``.
    """
    ids = {message.id for message in refused if message.role == "user"}
    if not ids:
        return []
    found = _extract_locally(extractor, part, part.messages)
    results.flaws += found.flaws
    puts = [change for change in found.changes if isinstance(change, Put) and not ids.isdisjoint(change.sources)]
    return [
        put
        for put in puts
        if not any(is_same_statement(put.text, other.text) or is_same_statement(other.text, put.text) for other in kept)
    ]


def _sources(extractor: Extractor, part: ExtractionInput, item: Mapping[str, Any]) -> list[Message]:
    """Return the messages that a statement of the model comes from. The list is empty if they are unclear.

    The statement (``item``) names the messages by number. Unknown numbers are ignored. The list is also empty if none of the
    named messages is from the user. A statement without numbers comes from the user's only message, or from the message that
    has clearly the most words in common with the statement.
    """
    numbers = item.get("messages") or ()
    named = [
        message
        for number, message in enumerate(part.messages, 1)
        if number in numbers and (extractor.reads == "all" or message.role == "user")
    ]
    if named or numbers:
        return named if any(message.role == "user" for message in named) else []
    users = [message for message in part.messages if message.role == "user"]
    if len(users) == 1:
        return users
    shares = []
    for message in users:
        shared, total = _count_shared_terms(str(item[extractor.text]), _words([message.text]))
        shares.append((shared / total if total else 0.0, message))
    shares.sort(key=lambda share: share[0], reverse=True)
    is_clear = shares[0][0] >= _MIN_MEANT_SHARE and shares[0][0] > shares[1][0]
    return [shares[0][1]] if is_clear else []


def _checked_put(
    extractor: Extractor, part: ExtractionInput, item: Mapping[str, Any], sources: Sequence[Message]
) -> tuple[Put | None, str]:
    """Turn a statement of the model (``item``) into a Put (a memory to store), and check the statement.

    Return two values. If the statement is accepted, these are the Put and an empty text. If it is refused, these are None and
    the reason.
    """
    arguments = extractor.make(item)
    key = arguments.get("key")
    blank = not one_line(arguments["text"]) or (key is not None and not one_line(key))
    if blank or not sources:
        return None, "an item without text or without a source"
    evidence = evidence_for(sources, part.messages, part.known)
    why = problem(arguments["text"], evidence, part.reader)
    if why is not None:
        return None, why
    last = sources[-1]
    arguments.setdefault("reason", "extracted from the conversation")
    speaker = {"speaker": last.speaker} if last.speaker else {}
    lowest = lowest_trust(part.messages, part.trusts)
    is_own = repeats_own_words(arguments["text"], part.messages, min_share=OWN_SHARE if lowest < 1 else PARAPHRASE_SHARE)
    put = Put(
        scope=last.scope,
        sources=tuple(message.id for message in sources),
        trust=1.0 if is_own else lowest,
        doubtful=lowest < 1 or not is_own,
        valid_from=last.at,
        language=last.language or part.language,
        **{**arguments, "metadata": {**speaker, **arguments.get("metadata", {}), **_dates(item, evidence)}},
    )
    replaced = [memory for number, memory in enumerate(part.known, 1) if number in item.get("replaces", ())]
    return replace(put, replaces=tuple(memory.id for memory in replaced if may_replace(put, memory))), ""


def _dates(item: Mapping[str, Any], evidence: Evidence) -> dict[str, str]:
    """Return the dates in a statement of the model. Dates that do not follow from its messages are left out."""
    found = {name: _DAY.match(str(item.get(name) or "")) for name in (HAPPENED_AT, ENDED_AT)}
    return {name: day[0] for name, day in found.items() if day is not None and states_date(day[0], evidence)}


def is_same_statement(one: str, other: str) -> bool:
    """Return True if most terms of the first text occur in the second text, as with a quote and its paraphrase."""
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


def _count_shared_terms(text: str, others: frozenset[str]) -> tuple[int, int]:
    """Return two counts: the terms of a text that occur in ``others``, and all terms of the text.

    Words for the user, such as "user" in "the user likes tea", do not count.
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
