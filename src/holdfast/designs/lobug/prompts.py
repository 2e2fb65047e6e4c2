"""The design's three prompts as message lists for a chat function. The engine itself uses the same prompts."""

from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.learning.ask_model import load_prompt, prompt_turns
from holdfast.presets.lobug import LOBUG
from holdfast.text.language import detect_language

__all__ = ["distill_base_memory_messages", "fact_extraction_messages", "summarize_conversation_messages"]

_SUMMARY_CHARACTERS = 700
_BASE_WORDS = LOBUG.base.max_words if LOBUG.base else 400


def fact_extraction_messages(user_text: str, assistant_text: str) -> list[dict[str, str]]:
    """Return the prompt that extracts typed facts, in the third person, from one exchange."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    transcript = [f"1 | {today} | user | {user_text}", f"2 | {today} | assistant | {assistant_text}"]
    return _messages("typed_facts", user_text, known=["-"], transcript=transcript)


def summarize_conversation_messages(conversation_text: str) -> list[dict[str, str]]:
    """Return the prompt that condenses a conversation to a paragraph of 3-5 sentences."""
    lines = conversation_text.splitlines() or [""]
    return _messages("summary", conversation_text, transcript=lines, longest=str(_SUMMARY_CHARACTERS))


def distill_base_memory_messages(
    current_base: str, new_summaries: str | Sequence[str], recent_facts: str | Sequence[str]
) -> list[dict[str, str]]:
    """Return the prompt that merges summaries and facts into the base document, in at most 400 words."""
    summaries, facts = _lines(new_summaries), _lines(recent_facts)
    spoken = " ".join([current_base, *summaries, *facts])
    document = current_base.splitlines() or ["-"]
    return _messages("base", spoken, document=document, summaries=summaries, facts=facts, most_words=str(_BASE_WORDS))


def _lines(given: str | Sequence[str]) -> list[str]:
    lines = given.splitlines() if isinstance(given, str) else [str(each) for each in given]
    return lines or ["-"]


def _messages(name: str, sample: str, **values: str | Sequence[str]) -> list[dict[str, str]]:
    prompt = load_prompt(name, detect_language(sample))
    return [{"role": turn.role, "content": turn.text} for turn in prompt_turns(prompt, **values)]
