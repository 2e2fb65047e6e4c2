"""Write summaries and the base document with a chat model, falling back to rules.

If the model fails, or its output is clearly not a summary of its input, the rules write the text and ``flaws`` says why.
Names, numbers and dates that the model left out are appended if there is room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import AnswerInvalid, ModelError
from holdfast.learning.answer_check.check import Evidence, distortion, without_distortions
from holdfast.learning.answer_check.evidence import evidence_for
from holdfast.learning.answer_shapes import as_text
from holdfast.learning.ask_model import AnswerShape, Prompt, StructuredAnswer, complete, load_prompt, prompt_turns
from holdfast.learning.output_filter import rejection_reason
from holdfast.learning.summaries import base_document, extractive
from holdfast.learning.summaries.base_document import distill
from holdfast.learning.summaries.extractive import add_details, language_of, paragraph, spoken, summarize, wanted_details
from holdfast.learning.summaries.importance import importance_of, is_worth_keeping, tags_of
from holdfast.learning.summaries.kept_sentences import paragraph_of_kept
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.details import kept
from holdfast.text.language import detect_language
from holdfast.types import Message

__all__ = [
    "Summary",
    "distill",
    "distill_with",
    "paragraph",
    "paragraph_by_rules",
    "paragraph_with",
    "rate_by_rules",
    "summarize",
    "summarize_with",
]

_TIMEOUT_SECONDS = 60.0
"""Maximum time to wait for a model. After that, rules write the text. A preset can set another limit for paragraphs."""
_MIN_KEPT_SHARE = 0.8
_MAX_MESSAGE_CHARACTERS = 4000
"""Maximum number of characters of one message that a model is shown. A longer message is usually a pasted file."""
_ROOM_FACTOR = {"summary": 1.5, "paragraph": 2.0, "document": 1.5}
"""Maximum length of a model's text, as a multiple of the requested length. Models treat the requested length as a hint."""
_MAX_TAGS = 5
_NOTHING = regex(
    r"(?:null|none|n/?a|nothing|nada|(?:no|ningun) (?:memory|recuerdo)(?: \w+)?"
    r"|(?:there (?:is|was|are|were) )?(?:nothing|no (?:\w+ ){0,2}(?:information|facts?|details?|content))(?: \w+){0,2} (?:worth|to)"
    r" (?:keep|remember|sav|stor|record|not)\w*(?: \w+){0,5}"
    r"|(?:no (?:hay|hubo) )?(?:nada|(?:informacion|datos|hechos|detalles))(?: (?!de\b)\w+){0,2} (?:que|para|digno de)(?: \w+){0,4}"
    r" (?:recordar|guardar|conservar|anotar)\w*(?: \w+){0,5})"
)
"""Matches a paragraph that only says that nothing is worth keeping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary with its author (a model or the rules) and its cost. ``flaws`` describes the problems that occurred."""

    text: str
    model: str | None = None
    """Name of the model that wrote the text; None if rules wrote it."""
    prompt: str = ""
    """Version of the prompt that the model was given. If rules wrote the text, version of the rules."""
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    importance: float | None = None
    tags: tuple[str, ...] = ()
    away: bool = False
    """True if rules wrote the text because the model could not be reached or did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """Result of a model call. ``data`` is None if the call failed; ``flaws`` then says why."""

    data: Mapping[str, Any] | None
    flaws: tuple[str, ...]
    usage: Usage
    away: bool = False


def summarize_with(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    max_characters: int = 700,
    language: str | None = None,
) -> Summary:
    """Summarize messages in 3-5 sentences with a model, or by rules if the model fails."""
    language = language_of(messages, language)
    prompt = load_prompt("summary", language)
    values = {"transcript": _transcript(messages), "longest": str(max_characters)}
    written = _call_model(model, prompt, values, _text_schema("summary"))
    text, flaws = _checked(written, "summary", messages, max_characters)
    if text is None:
        rules = summarize(messages, max_characters=max_characters, language=language)
        return Summary(text=rules, prompt=extractive.RULE_VERSION, flaws=flaws, usage=written.usage)
    text = _with_lost_details(text, messages, max_characters, language)
    return Summary(text=text, model=model.name, prompt=prompt.version, flaws=flaws, usage=written.usage)


def paragraph_with(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    max_characters: int = 200,
    language: str | None = None,
    timeout: float = _TIMEOUT_SECONDS,
    reader: SentenceReader | None = None,
) -> Summary:
    """Summarize messages in a paragraph of 2-4 sentences, rate their importance and choose tags.

    If the model fails, rules do this. The text is empty if the model found nothing worth keeping.
    """
    language = language_of(messages, language)
    prompt = load_prompt("paragraph", language)
    schema = _text_schema("paragraph", importance={"type": "number"}, tags={"type": "array", "items": {"type": "string"}})
    schema = {**schema, "properties": {**schema["properties"], "paragraph": {"type": ["string", "null"]}}}
    values = {"transcript": _transcript(messages), "longest": str(max_characters)}
    written = _call_model(model, prompt, values, schema, timeout)
    if written.data is not None and _is_nothing(str(written.data.get("paragraph") or "")):
        return Summary(text="", model=model.name, prompt=prompt.version, flaws=written.flaws, usage=written.usage)
    text, flaws = _checked(written, "paragraph", messages, max_characters)
    importance, tags = rate_by_rules(messages)
    if text is None or written.data is None:
        rules, more = paragraph_by_rules(messages, max_characters=max_characters, language=language, reader=reader)
        return Summary(
            text=rules,
            prompt=extractive.RULE_VERSION,
            flaws=(*flaws, *more),
            usage=written.usage,
            importance=importance,
            tags=tags,
            away=written.away,
        )
    return Summary(
        text=text,
        model=model.name,
        prompt=prompt.version,
        flaws=flaws,
        usage=written.usage,
        importance=_parse_importance(written.data.get("importance"), importance),
        tags=_parse_tags(written.data.get("tags")) or tags,
    )


def _is_nothing(text: str) -> bool:
    """Return True if a model's paragraph is empty, or only says that nothing is worth keeping."""
    return not text.strip() or _NOTHING.fullmatch(fold(text).strip(" .!\"'()[]")) is not None


def distill_with(
    model: ChatModel,
    base: str,
    summaries: Sequence[str],
    facts: Sequence[str],
    *,
    max_words: int = 400,
    language: str | None = None,
) -> Summary:
    """Return the base document, updated by a model, or by rules if the model fails.

    Summaries and facts must be sorted, oldest first.
    """
    language = language or detect_language(" ".join((base, *facts, *summaries))[:2000])
    prompt = load_prompt("base", language)
    values = {"document": base, "summaries": list(summaries), "facts": list(facts), "most_words": str(max_words)}
    written = _call_model(model, prompt, values, _text_schema("document"))
    text, flaws = _check(written, "document", [base, *summaries, *facts], 8 * max_words)
    text, flaws = _without_inventions(text, flaws, [base, *summaries, *facts])
    if text is None:
        rules = distill(base, summaries, facts, max_words=max_words, language=language)
        return Summary(text=rules, prompt=base_document.RULE_VERSION, flaws=flaws, usage=written.usage)
    if len(text.split()) > max_words:
        flaws += (f"the model's document had {len(text.split())} words; rules cut it to {max_words}",)
        text = distill(text, (), (), max_words=max_words, language=language)
    elif kept("\n".join((base, *facts)), text) < _MIN_KEPT_SHARE:
        flaws += ("the model's document lost many names, numbers and dates; rules put them back",)
        text = distill(text, (), [*_lines(base), *facts], max_words=max_words, language=language)
    return Summary(text=text, model=model.name, prompt=prompt.version, flaws=flaws, usage=written.usage)


def _call_model(
    model: ChatModel,
    prompt: Prompt,
    values: Mapping[str, str | Sequence[str]],
    schema: Schema,
    timeout: float = _TIMEOUT_SECONDS,
) -> _Written:
    try:
        name = schema["required"][0]
        shape = AnswerShape(schema=schema, adapt=partial(as_text, name=name), plain=name)
        answer: StructuredAnswer = complete(model, prompt_turns(prompt, **values), shape, timeout=timeout)
    except ModelError as error:
        usage, away = usage_of(error), not isinstance(error, AnswerInvalid)
        flaw = f"Rules wrote this because {model.name} failed ({error.code}): {error}"
        return _Written(data=None, flaws=(flaw,), usage=usage, away=away)
    data = answer.data if isinstance(answer.data, Mapping) else {}
    return _Written(data=data, flaws=answer.flaws, usage=answer.usage)


def _check(written: _Written, name: str, replaces: Sequence[str], max_characters: int) -> tuple[str | None, tuple[str, ...]]:
    """Return the model's text and the problems found (``flaws``). The text is None if it cannot be used.

    ``name`` is the field of the model's answer that contains the text. ``replaces`` are the texts that this text would
    replace.
    """
    if written.data is None:
        return None, written.flaws
    raw = str(written.data.get(name) or "").strip()
    text = raw if name == "document" else one_line(raw)
    reason = rejection_reason(
        text,
        replaces=replaces,
        max_characters=max_characters if len(text) <= max_characters else int(_ROOM_FACTOR[name] * max_characters),
    )
    if reason:
        return None, (*written.flaws, f"Rules wrote this because the model's answer could not be used: {reason}.")
    return text, written.flaws


def _checked(
    written: _Written, name: str, messages: Sequence[Message], max_characters: int
) -> tuple[str | None, tuple[str, ...]]:
    """Return the model's text without sentences that contradict the messages, and the problems found (``flaws``).

    The text is None if it cannot be used, or if nothing is left of it. ``name`` is the field of the model's answer that
    contains the text.
    """
    text, flaws = _check(written, name, [message.text for message in messages], max_characters)
    if text is None:
        return None, flaws
    left, wrong = without_distortions(text, evidence_for(messages, messages, ()))
    return left or None, (*flaws, *wrong)


def _without_inventions(text: str | None, flaws: tuple[str, ...], texts: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return a document without invented lines, and the problems found.

    A line is invented if one of its names, persons, numbers or dates occurs in none of the ``texts``. In languages other
    than English and Spanish, only numbers and dates are checked. Headings are not checked. The problems are ``flaws`` and
    the reasons why lines were removed. A reason that applies to several lines is listed once. If ``text`` is None, return
    None and ``flaws``.
    """
    if text is None:
        return None, flaws
    evidence = Evidence(sources=(), known=texts)
    wrong = {line: distortion(line, evidence, names_and_numbers=True) for line in text.splitlines() if not line.startswith("#")}
    reasons = tuple(f"left out {reason}".replace("an item", "a line") for reason in wrong.values() if reason)
    return "\n".join(line for line in text.splitlines() if not wrong.get(line)), (*flaws, *dict.fromkeys(reasons))


def _with_lost_details(text: str, messages: Sequence[Message], max_characters: int, language: str) -> str:
    """Return a model's summary. If it lacks more than 20% of the details in the messages, append the missing details.

    Details are names, numbers and dates.
    """
    relevant = spoken(messages) or list(messages)
    if kept("\n".join(message.text for message in relevant), text) >= _MIN_KEPT_SHARE:
        return text
    return add_details(text, wanted_details(relevant).values(), max_characters=max(max_characters, len(text)), language=language)


def _transcript(messages: Sequence[Message]) -> list[str]:
    return [
        f"[{message.at:%Y-%m-%d}] {message.speaker or message.role}: {one_line(message.text)[:_MAX_MESSAGE_CHARACTERS]}"
        for message in messages
    ]


def _text_schema(name: str, **more: Schema) -> Schema:
    return {"type": "object", "properties": {name: {"type": "string"}, **more}, "required": [name]}


def rate_by_rules(messages: Sequence[Message]) -> tuple[float, tuple[str, ...]]:
    """Return the highest importance of any message of the user, and the tags of the conversation, by rules."""
    said = [message.text for message in messages if message.role == "user"] or [message.text for message in messages]
    texts = [message.text for message in spoken(messages) or messages]
    return max(map(importance_of, said), default=0.0), tags_of(texts, max_tags=_MAX_TAGS)


def paragraph_by_rules(
    messages: Sequence[Message], *, max_characters: int, language: str | None = None, reader: SentenceReader | None = None
) -> tuple[str, tuple[str, ...]]:
    """Write a paragraph without a chat model. Return the paragraph and the problems found (``flaws``).

    The paragraph is empty if nothing is worth keeping. The sentence reader decides what is worth keeping. If ``reader`` is
    None or fails, rules decide.
    """
    flaws: tuple[str, ...] = ()
    if reader is not None:
        try:
            return paragraph_of_kept(messages, reader, max_characters=max_characters, language=language), ()
        except ModelError as error:
            flaws = (f"the sentence reader cannot be used, rules took over: {error}"[:300],)
    said = [message.text for message in messages if message.role == "user"]
    if said and not any(map(is_worth_keeping, said)):
        return "", flaws
    return paragraph(messages, max_characters=max_characters, language=language), flaws


def _parse_importance(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return round(min(10.0, max(0.0, float(value))), 1)


def _parse_tags(values: object) -> tuple[str, ...]:
    words = [fold(str(value).lstrip("#"))[:40] for value in values] if isinstance(values, list | tuple) else []
    return tuple(dict.fromkeys(word for word in words if word))[:_MAX_TAGS]


def _lines(base: str) -> list[str]:
    return [line.lstrip("-*• ") for line in base.splitlines() if line.strip() and not line.startswith("#")]
