"""Ask a chat model to rate how well candidates answer a question."""

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
    """One rating from 0 to 1 per candidate, in the same order. A rating is None if the model did not rate the candidate."""

    values: tuple[float | None, ...]
    usage: Usage = field(default_factory=Usage)
    flaws: tuple[str, ...] = ()


def rate(model: ChatModel, question: str, candidates: Sequence[Candidate], *, asked_at: datetime, timeout: float) -> Ratings:
    """Ask a model how well each candidate helps to answer a question. Raise ``ModelError`` if the model's reply is unusable."""
    lines = [f"{number}. {_dated(candidate)}" for number, candidate in enumerate(candidates, 1)]
    prompt = ask_model.load_prompt("rating", "es" if detect_language(question) == "es" else "en")
    turns = ask_model.prompt_turns(
        prompt, question=question[:_MAX_QUESTION_CHARACTERS], notes=lines, day=asked_at.date().isoformat()
    )
    answer = ask_model.complete(model, turns, _SCHEMA, max_tokens=50 + _TOKENS_PER_CANDIDATE * len(candidates), timeout=timeout)
    ratings = _by_candidate(answer.data)
    values = tuple(ratings.get(number) for number in range(1, len(candidates) + 1))
    return Ratings(values=values, usage=answer.usage, flaws=answer.flaws)


def _dated(candidate: Candidate) -> str:
    text = " ".join(candidate.text.split())[:_MAX_CANDIDATE_CHARACTERS]
    return f"({candidate.at.date().isoformat()}) {text}" if candidate.at else text


def _by_candidate(data: dict[str, Any]) -> dict[int, float]:
    """Return a dictionary that maps candidate numbers to ratings. If a number occurs twice, the first rating counts."""
    found: dict[int, float] = {}
    for entry in data["ratings"]:
        found.setdefault(entry["note"], entry["rating"] / _MAX_RATING)
    return found
