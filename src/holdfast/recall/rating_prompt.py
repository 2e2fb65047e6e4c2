"""How well notes answer a question, as a chat model sees it that reads both together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from holdfast.chat import ChatModel, Schema, Usage
from holdfast.learning import ask_model
from holdfast.protocols import Candidate
from holdfast.text.language import detect_language

_MAX_CANDIDATE_CHARACTERS: Final = 600
_MAX_QUESTION_CHARACTERS: Final = 2000
_MAX_RATING: Final = 3
_TOKENS_PER_CANDIDATE: Final = 20
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "ratings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "note": {"type": "integer", "minimum": 1},
                    "rating": {"type": "integer", "minimum": 0, "maximum": _MAX_RATING},
                },
                "required": ["note", "rating"],
            },
        }
    },
    "required": ["ratings"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """From 0 to 1 how well each note fits, in their order; None where the model said nothing of it."""

    values: tuple[float | None, ...]
    usage: Usage = field(default_factory=Usage)
    flaws: tuple[str, ...] = ()


def rate(model: ChatModel, question: str, candidates: Sequence[Candidate], *, asked_at: datetime, timeout: float) -> Ratings:
    """Ask how well each note helps to answer a question; raises ModelError when no usable answer comes."""
    lines = [f"{number}. {_dated(note)}" for number, note in enumerate(candidates, 1)]
    prompt = ask_model.load_prompt("rating", "es" if detect_language(question) == "es" else "en")
    turns = ask_model.prompt_turns(
        prompt, question=question[:_MAX_QUESTION_CHARACTERS], notes=lines, day=asked_at.date().isoformat()
    )
    answer = ask_model.complete(model, turns, _SCHEMA, max_tokens=50 + _TOKENS_PER_CANDIDATE * len(candidates), timeout=timeout)
    given = _by_candidate(answer.data)
    values = tuple(given.get(number) for number in range(1, len(candidates) + 1))
    return Ratings(values=values, usage=answer.usage, flaws=answer.flaws)


def _dated(note: Candidate) -> str:
    text = " ".join(note.text.split())[:_MAX_CANDIDATE_CHARACTERS]
    return f"({note.at.date().isoformat()}) {text}" if note.at else text


def _by_candidate(data: dict[str, Any]) -> dict[int, float]:
    """Return the ratings by the notes' numbers, the first where one was given twice."""
    found: dict[int, float] = {}
    for each in data["ratings"]:
        found.setdefault(each["note"], each["rating"] / _MAX_RATING)
    return found
