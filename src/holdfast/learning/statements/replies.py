"""Find the question that a reply answers, and the alternative that a reply chooses."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.learning.statements.clauses import fold_clause
from holdfast.runtime.regex import regex
from holdfast.text.sentences import split_sentences

__all__ = ["answered_question", "chosen_statement", "leaves_person_out", "leaves_topic_out", "words_to_answer"]

_STOP: Final = regex(r"\s*[,;:(–—]\s+(?:(?:and|but|so|y|pero)\s+)?|\s+-+\s+|\s+(?:but|pero)\s+")
_ALTERNATIVE: Final = regex(r"\W*(?:or|o|u)\b")
"""Matches the second alternative of a question: "Shall I commit to main, or open a PR?"."""
_SPEAKER: Final = regex(r"\b(?:i|i'\w+|im|me|my|mine|we|we'\w+|our|us|yo|mi|mis|nos|nosotr[oa]s|nuestr[oa]s?)\b")
_BARE: Final = regex(
    r"\W*(?:(?:and|what about|how about|y|que tal)\s+)?(?:you|yourself|u|tu|vos|usted(?:es)?|ti)\s*\?*$"
    r"|\W*(?:\w+ )?(?:anything|something|algo|alguna cosa|otra cosa) (?:else|mas)\W*$|\W*(?:\w+ )?otra cosa\W*$"
)
_OPEN: Final = regex(
    r"\W*(?:and |y |pero )*(?:(?:para|for|de|a|en|desde|hasta|con|by|at|from) )?(?:cuando|donde|quien|cual|cuanto|como|que (?:hora|dia|edad)|when|where|who|what (?:time|day)|how (?:old|long|much))"
    r"(?: (?:es|son|seria|sera|fue|esta|queda|empieza|termina|sale|llega|dura|cuesta|tiene|se llama|is|was|will|does|did|it|that|this|he|she|they|be|start|end|last|cost))*\W*"
)
"""Matches a question that does not name what it is about: "when is it?"."""
_THIRD_PERSON: Final = regex(
    r"\W*(?:(?:y|pero|ya|no|le|lo|la|se)\s+)*(?!(?:para|que|de|ella|donde|sobre|entre|desde|una)\b)\w{2,}[ae](?:\s|\?)|\W*(?:y )?que edad tiene\b"
    r"|.*\b(?:is|does|was|did|has|will) (?:he|she)\b|.*\b(?:his|her) \w"
)
"""Matches a question about someone whom it does not name: "¿usa bastón?", "how old is she?"."""
_MIN_QUESTION_WORDS: Final = 2
_MAX_LEAD_IN_WORDS: Final = 6
_MAX_REPLY_WORDS: Final = 4
_ARTICLE: Final = r"(?:(?:the|an?|el|la|los|las|una?|al|in|at|by|en|de|con)\s+)*"
_OR: Final = regex(rf"(?P<first>{_ARTICLE}[\w'-]+(?: [\w'-]+)?),? (?:or|o|u) (?P<second>{_ARTICLE}[\w'-]+(?: one)?)")
_FRAME: Final = regex(
    r"\W*(?:and |but |so |y |pero |entonces )*(?:do you (?:usually |normally |generally )?|(?P<would>would you )|¿)"
)
_LEADING: Final = regex(r"\W*(?:the|an?|el|la|los|las|una?|in|at|by|en|probably|definitely|usually|always|siempre|creo que)\s+")
_SPANISH: Final[Mapping[str, str]] = {
    "tienes": "tengo",
    "vas": "voy",
    "eres": "soy",
    "estas": "estoy",
    "haces": "hago",
    "sales": "salgo",
    "prefieres": "prefiero",
    "quieres": "quiero",
    "duermes": "duermo",
    "juegas": "juego",
}
_ORDINAL: Final = regex(r"(?P<second>second|latter|last|segund[oa]|ultim[oa])|first|former|primer[oa]?")
"""Matches a reply that names the first or the second of two alternatives."""
_SECOND_PERSON: Final = regex(r"\w{2,}[ae]s\b")


def answered_question(told: Sequence[str]) -> str:
    """Return the question of the previous turn that the user answers, or an empty text. ``told`` are the turn's sentences.

    Words of the other speaker about themselves are removed: "I'm divorced, what's yours?" becomes "what's yours?". The result
    is empty for a question that names no subject, such as "and you?".
    """
    question = next((said for said in reversed(told) if said.endswith("?")), "")
    stops = list(_STOP.finditer(question))
    if stops and _SPEAKER.search(fold_clause(question)) and not _ALTERNATIVE.match(fold_clause(question[stops[-1].end() :])):
        question = question[stops[-1].end() :]
    if len(question.split()) < _MIN_QUESTION_WORDS and not question.startswith("¿"):
        return ""
    return "" if _BARE.fullmatch(fold_clause(question)) else question


def words_to_answer(turn: str) -> str:
    """Return the part of the previous turn that the user's message answers: its question without a short lead-in.

    Without "OK, great.", the sentence reader is surer about a short answer. A longer lead-in stays, because the question can
    refer to it, and so does the lead-in of a question that is not clear alone, such as "and you?".
    """
    told = split_sentences(turn)
    question = told[-1] if told else ""
    is_short = len(turn.split()) - len(question.split()) <= _MAX_LEAD_IN_WORDS
    is_clear = len(question.split()) > _MIN_QUESTION_WORDS and answered_question(told) == question
    return question if question.endswith("?") and is_short and is_clear else turn


def leaves_topic_out(question: str) -> bool:
    """Return True if a question does not name what it is about: "when is it?", "¿a qué hora empieza?"."""
    return _OPEN.fullmatch(fold_clause(question)) is not None


def leaves_person_out(question: str) -> bool:
    """Return True if a question is about someone whom it does not name: "how old is she?", "¿usa bastón?".

    A Spanish question that addresses the user with "usted" has the same form.
    """
    return _THIRD_PERSON.match(fold_clause(question)) is not None


def chosen_statement(question: str, reply: str) -> str:
    """Return a reply that chooses between two alternatives as a statement of the user, or an empty text.

    "Do you take the tram or the bus to work?" and "the tram" become "I take the tram to work". The sentence reader can rate
    this statement, but not the reply alone.
    """
    asked, said = fold_clause(question), _bare(fold_clause(reply))
    frame, either = _FRAME.match(asked), _OR.search(asked)
    if frame is None or either is None or not said or len(said.split()) > _MAX_REPLY_WORDS:
        return ""
    ordinal = _ORDINAL.fullmatch(said)
    if ordinal is not None:
        chosen = either["second" if ordinal["second"] else "first"]
    else:
        chosen = next((each for each in (either["second"], either["first"]) if _is_named(said, each)), None)
    if chosen is None or either.start() < frame.end():
        return ""
    verb, rest = asked[frame.end() : either.start()], asked[either.end() :].rstrip("? ")
    # The first alternative may begin with the words before it: "rather have coffee or tea".
    ahead = either["first"].split()[: -len(chosen.split())] if chosen == either["second"] else []
    stated = f"{verb}{' '.join([*ahead, chosen])}{rest}"
    if question.lstrip().startswith("¿"):
        return _SECOND_PERSON.sub(lambda found: _SPANISH.get(found[0], found[0][:-2] + "o"), stated, count=1)
    return f"i {'would ' if frame['would'] else ''}{stated}"


def _bare(text: str) -> str:
    """Return a short reply without articles and adverbs: "tram" for "the tram"."""
    text = text.strip(" .,!;").removesuffix(" one")
    while (lead := _LEADING.match(text)) is not None:
        text = text[lead.end() :]
    return re.split(r"[,.;!]", text, maxsplit=1)[0].strip()


def _is_named(said: str, alternative: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(said)}(?!\w)", alternative) is not None
