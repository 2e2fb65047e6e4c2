"""What a conversation leaves behind, without any model: the statements its users made, quoted."""

import re
from collections.abc import Iterator, Sequence

from holdfast.policies.statements import OPENINGS, Opening
from holdfast.types import Change, Message, Put

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\n+")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEDGE = re.compile(r"\b(?:just kidding|lol jk|what if|imagine|hypothetically|es broma|imagina que|supongamos)\b", re.IGNORECASE)
_LONGEST = 400
_SHORTEST_WORDS = 3


def capture_statements(messages: Sequence[Message]) -> list[Change]:
    """Propose a memory for each statement that a user made of themselves, or decided, or asked to keep."""
    return [
        Put(
            scope=message.scope,
            kind=opening.kind,
            text=quote,
            importance=opening.importance,
            trust=message.trust,
            sources=(message.id,),
            language=message.language,
            valid_from=message.at,
            metadata={"speaker": message.speaker} if message.speaker else {},
            reason="asked to remember" if opening.asked else "said so",
        )
        for message in messages
        if is_users_word(message)
        for quote, opening in _statements(message.text)
    ]


def is_users_word(message: Message) -> bool:
    """Tell whether a message is something a person said to us: not noise, a tool's output or a page."""
    return message.role == "user" and message.origin == "user" and message.action is None


def _statements(text: str) -> Iterator[tuple[str, Opening]]:
    for sentence in _sentences(text):
        for opening in OPENINGS:
            match = opening.pattern.match(sentence)
            if match:
                quote = sentence[match.end() :].strip() if opening.asked else sentence
                if quote:
                    yield quote, opening
                break


def _sentences(text: str) -> Iterator[str]:
    """Yield what was stated: no questions, no code, no quoted lines, nothing hypothetical."""
    for piece in _SENTENCE_END.split(_CODE.sub("\n", text)):
        sentence = piece.strip(" \t\"'“”*_-")
        if not sentence or len(sentence) > _LONGEST or sentence.startswith((">", "|", "#")):
            continue
        if "?" in sentence or _HEDGE.search(sentence) or len(sentence.split()) < _SHORTEST_WORDS:
            continue
        yield sentence
