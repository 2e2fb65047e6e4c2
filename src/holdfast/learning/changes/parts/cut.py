"""Cut the words out of a text that have ended, according to the sentence reader. Words are cut, never added.

The reader estimates for each word whether it has ended. The text is cut only at its joints: punctuation, conjunctions and
prepositions. If the first words of a clause have ended, its details have ended, too: nothing stays of "I do crossfit on Mondays at
a box in Lyon". What stays is free of loose joints: "[I sing in the choir,] as I am a seamstress" leaves "I am a seamstress".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.dictation import has_verb
from holdfast.text.sentences import split_sentences

__all__ = ["Cut", "cut_ended"]

_MIN_WORDS: Final = 3
"""Minimum number of words that may stay of a sentence."""
_MIN_SHARE: Final = 0.6
"""A piece of a text of which something has ended counts as ended, too, if its probability is this share of the highest one."""
_MIN_DETAIL_SHARE: Final = 0.2
"""The same for the details of a clause that has ended."""
_COORDINATOR: Final = r"(?:and|but|so|because|cause|cos|cuz|bc|while|plus|also|though|y|e|pero|porque|xq|pq|aunque|además|ademas|mientras|pues|así|asi)"
_RELATIVE: Final = r"(?:which|who|whose|where|when|since|as|que|q|quien|quienes|cuando|donde)"
_PREPOSITION: Final = (
    r"(?:with|in|on|at|for|to|from|near|every|until|about|of|by|con|en|desde|hasta|cada|para|pa|por|al?|del?|sobre|sin|without)"
)
_CLAUSE: Final = regex(rf"{_COORDINATOR}$")
_DETAIL: Final = regex(rf"{_RELATIVE}$|{_PREPOSITION}$|[(\[–—-]")
_ENDS: Final = regex(r"[,;:.!?…)\]–—]$|^[–—-]+$")
_SUBJECT: Final = regex(
    r"(?:i|im|ive|i['’]\w+|we|weve|were|we['’]\w+|he|he['’]s|she|she['’]s|they|they['’]\w+|it|its|it['’]s|there['’]?s?|my|our|his|her|their|the|this"
    r"|yo|nosotr[oa]s|él|ella|ellos|ellas|mis?|nuestr[oa]s?|sus?|el|la|los|las|me|nos|le|les|se|lo|soy|somos|estoy|estamos|tengo|tenemos|voy|vamos|no"
    r"|\w{3,}(?:amos|emos|imos)|\w{3,}[^aeiou\W]o)$"
)
"""Matches the first word of a clause, after its conjunction: a subject, or a Spanish verb or pronoun."""
_LOOSE_START: Final = regex(
    r"(?:[\s,;:.!?)\]…–—-]|(?:and|but|so|because|cause|cos|cuz|as|which|who|whose|plus|also|where|while|y|e|pero|porque|xq|pq|que|además|ademas|mientras|pues|así que|asi que|por eso)\b(?=\s))+"
)
_LOOSE_END: Final = regex(
    r"(?:[\s,;:(\[…–—-]|\s(?:and|but|so|because|cause|cos|as|which|who|plus|with|in|on|at|for|to|from|of|the|a|an|my|y|e|pero|porque|que|con|en|de|a|al|del|para|por|el|la|los|las|un|una|mi)(?=[\s,;:.]*$))+[.\s]*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A text without the words that have ended."""

    kept: tuple[str, ...]
    """The sentences that stay, without the words that have ended."""
    gone: float
    """Highest mean probability of a piece that was cut. 0 if nothing was cut."""


@dataclass(slots=True, kw_only=True)
class _Piece:
    """The words between two joints of a sentence."""

    words: list[str]
    chances: list[float]
    begins_clause: bool
    cut: bool = False

    @property
    def chance(self) -> float:
        """Mean probability with which the words have ended."""
        return sum(self.chances) / len(self.chances)

    @property
    def text(self) -> str:
        """The words as one text."""
        return " ".join(self.words)


def cut_ended(text: str, gone: Sequence[float], *, least: float) -> Cut:
    """Return a text without the words that have ended.

    ``gone`` has the probability for each word of the text that it has ended. ``least`` is the minimum mean probability of the
    words between two joints with which something has ended. A sentence of which too few words would stay is left out.
    """
    sentences, start = [], 0
    for sentence in split_sentences(text):
        words = sentence.split()
        sentences.append(_pieces(words, gone[start : start + len(words)]))
        start += len(words)
    highest = max((piece.chance for pieces in sentences for piece in pieces), default=0.0)
    if highest < least:
        return Cut(kept=tuple(split_sentences(text)), gone=0.0)
    kept, question = [], ""
    for pieces in sentences:
        asked = " ".join(piece.text for piece in pieces)
        if asked.endswith("?"):
            question = asked  # it stays if its answer stays
            continue
        _mark(pieces, highest)
        rest = _joined(pieces)
        if rest and (question or len(rest.split()) >= min(_MIN_WORDS, len(asked.split()))):
            kept.append(f"{question} {rest}".strip())
        question = ""
    return Cut(kept=tuple(kept), gone=highest)


def _pieces(words: Sequence[str], chances: Sequence[float]) -> list[_Piece]:
    """Return the words between the joints of a sentence, each group with the probabilities of its words."""
    pieces: list[_Piece] = []
    for place, (word, chance) in enumerate(zip(words, chances, strict=False)):
        plain = word.casefold().strip("¿¡\"'“«")
        after_mark = bool(pieces) and _ENDS.search(pieces[-1].words[-1]) is not None
        is_joint = _CLAUSE.match(plain) is not None
        if not pieces or after_mark or is_joint or _DETAIL.match(plain):
            rest = words[place + 1 :] if is_joint else words[place:]
            starts = not pieces or ((after_mark or is_joint) and _starts_clause(rest))
            pieces.append(_Piece(words=[], chances=[], begins_clause=starts))
        pieces[-1].words.append(word)
        pieces[-1].chances.append(chance)
    return pieces


def _starts_clause(words: Sequence[str]) -> bool:
    """Return True if words after a mark or a conjunction begin a clause. Otherwise, they continue a list, or add a detail."""
    if not words or _DETAIL.match(words[0].casefold()):
        return False
    end = next((place for place, word in enumerate(words) if _ENDS.search(word)), len(words) - 1)
    return _SUBJECT.match(words[0].casefold()) is not None or has_verb(" ".join(words[: end + 1]))


def _mark(pieces: Sequence[_Piece], highest: float) -> None:
    """Mark the pieces of a sentence to cut: those that have ended, and the details of clauses that have ended.

    ``highest`` is the highest probability of a piece of the text.
    """
    has_ended = False
    for piece in pieces:
        if piece.begins_clause:
            has_ended = piece.chance >= _MIN_SHARE * highest
        is_detail = has_ended and not piece.begins_clause
        piece.cut = piece.chance >= (_MIN_DETAIL_SHARE if is_detail else _MIN_SHARE) * highest


def _joined(pieces: Sequence[_Piece]) -> str:
    """Join the pieces that stay to one text, without the joints that led to pieces that were cut."""
    joined = ""
    for number, piece in enumerate(pieces):
        if piece.cut:
            continue
        if number and pieces[number - 1].cut and joined:
            joined = _LOOSE_END.sub("", joined)
            joined += " " if _CLAUSE.match(piece.words[0].casefold()) or _DETAIL.match(piece.words[0].casefold()) else ", "
        joined += f" {piece.text}" if joined and not joined.endswith(" ") else piece.text
    if not any(piece.cut for piece in pieces):
        return joined
    if pieces[-1].cut:
        joined = _LOOSE_END.sub("", joined)
    found = _LOOSE_START.match(joined) if pieces[0].cut else None
    joined = joined[found.end() :] if found else joined
    return f"{joined[:1].upper()}{joined[1:]}"
