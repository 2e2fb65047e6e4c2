"""Summarize a conversation in a few words, for the index of recent topics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import ModelError
from holdfast.learning import ask_model
from holdfast.learning.topics.naming import distinctive, prompt_language
from holdfast.text.clean import one_line

RULE_VERSION: Final = "recent-rules-1"
MAX_CHARACTERS: Final = 80
_MAX_SHOWN_TEXTS: Final = 20
_MAX_TEXT_CHARACTERS: Final = 300
_SCHEMA: Final[Schema] = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSummary:
    """A short summary with its author (a model or the rules), the problems that occurred (``flaws``), and the cost."""

    text: str
    model: str | None = None
    prompt: str = RULE_VERSION
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def summarize_topic(texts: Sequence[str]) -> str:
    """Summarize texts by rules, in their five most distinctive words."""
    words = distinctive(texts)[:5]
    return _shorten(", ".join(words) if words else (texts[0] if texts else ""))


def summarize_topic_with(model: ChatModel | None, texts: Sequence[str]) -> TopicSummary:
    """Summarize texts with a model, or by rules if there is no model or it fails."""
    if model is None or not texts:
        return TopicSummary(text=summarize_topic(texts))
    prompt = ask_model.load_prompt("recent", prompt_language(texts))
    lines = [one_line(text)[:_MAX_TEXT_CHARACTERS] for text in texts[:_MAX_SHOWN_TEXTS]]
    try:
        answer = ask_model.complete(model, ask_model.prompt_turns(prompt, texts=lines), _SCHEMA, max_tokens=100)
    except ModelError as error:
        flaw = f"rules wrote the index line because the model failed: {error}"
        return TopicSummary(text=summarize_topic(texts), flaws=(flaw,), usage=usage_of(error))
    text = _shorten(str(answer.data.get("summary") or ""))
    if not text:
        return TopicSummary(
            text=summarize_topic(texts),
            flaws=(*answer.flaws, "the model's index line was empty; rules wrote it"),
            usage=answer.usage,
        )
    return TopicSummary(text=text, model=model.name, prompt=prompt.version, flaws=answer.flaws, usage=answer.usage)


def _shorten(text: str) -> str:
    """Return the text as one line, cut at a word if it is too long.

    The character ``|`` is replaced, because it separates the columns in the index of recent topics.
    """
    plain = one_line(text.replace("|", "/")).strip(" .")
    if len(plain) <= MAX_CHARACTERS:
        return plain
    return plain[: MAX_CHARACTERS - 3].rsplit(" ", 1)[0].rstrip(" ,;") + "..."
