"""Find out which messages a wish to stay off the record covers, such as only its own message or the rest of the session.

The words that say so, such as "for now" or "earlier", count only in the wish itself. In "don't save this: I was fired earlier",
they belong to what the user tells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from holdfast.runtime.regex import regex
from holdfast.text.consent import english, spanish
from holdfast.text.consent.rules import POLITE, fold_places, is_stop_word, own_words, patterns

__all__ = ["Reach", "reach_of"]

Reach: TypeAlias = Literal["message", "previous", "next", "rest", "around", "all"]
"""Which messages an off-the-record wish covers.

``message``: the message with the wish. ``previous``: also the user's message before it. ``next``: also the user's next
message. ``around``: also the messages before and after it. ``rest``: all messages until the user lifts the wish or the
session ends. ``all``: these and the message before.
"""

_MIN_CONTENT_WORDS: Final = 4
"""Minimum number of words, besides the wish, that count as content covered by the wish."""
_MIN_APART_WORDS: Final = 2
"""Minimum number of words that count as content if punctuation separates them from the wish."""
_MAX_CHARACTERS: Final = 600
"""Number of characters at the start of a message that are read."""
_WORD: Final = regex(r"\w+")
_PAUSE: Final = regex(r"(?P<introduces>\s*[:–—]\s*|\s+-+\s+)|\s*[,;.!?()]+\s*")
_JOINED: Final = r"(?:\W|\b(?:but|and|so|that|cause|because|ok|okay|now|btw|lol|well|yeah|y|pero|que|q|porque|es que|ya que|oye|mira|bueno|pues|vale|jaja)\b)*"
"""Matches words between a wish and what the user tells next."""
_FIRST: Final = regex(_JOINED)
_THE_WISH: Final = r"(?:you|u|this|that|it|these|those|none|nothing|any|anything)\b"
_ASKS: Final = (
    r"(?:(?:really|just|also|would|do|don'?t|do not|kindly|am|much) )*(?:"
    rf"(?:rather|sooner|prefer|want|need|wish|hope|think|know|trust|expect|ask|asking|beg|begging|request|requesting|appreciate|would like|(?<='d )like)(?: if| that| it)* {_THE_WISH}"
    r"|(?:would )?be (?:\w+ )?(?:happier|happy|grateful|glad|obliged|thankful|relieved|pleased|better)\b"
    r"|like (?:this|that|it|the [\w ]{2,30}?) (?:to be|kept|left|off|out)\b"
    r"|(?:want|need|like) to (?:talk|speak|vent|chat|rant|tell|say|confess)\b|(?:humble |kind |only |one )?(?:request|wish|preference)\b"
    r"|a (?:contar|decir|confesar|pedir|desahogar)\w*|que (?:contar|decir|confesar|pedir)\w*|(?:gustaria|encantaria|prometes|peticion)\b)"
)
"""Matches what follows the subject of a clause that asks for something or announces it: "(I) would like that to be left out"."""
_SUBJECT: Final = regex(
    rf"{_JOINED}\b(?:i(?:'?m|'ve|'ll|'d)?|he(?:'s)?|she(?:'s)?|they(?:'re|'ve)?|we(?:'re|'ve)?|my|his|her|our|their|yo|mi|mis|ella|ellos|nosotros|estoy|soy|tengo|voy|me)"
    rf"\s+(?!{_ASKS}|(?:just |have |'ve )*(?:say|said|tell|told|write|wrote|type|typed|spoke|speak|confess|blurt|mention|share|overshare)\w*\b|(?:digo|dije|cuento|arrepiento)\b)\w"
)
"""Matches the beginning of a clause with a subject, such as "he drinks". Such a clause always counts as content."""
_DID: Final = regex(
    rf"{_JOINED}(?:(?:ayer|anoche|hoy|no|me|lo|la|le|nos|ya) )*(?!(?:cont|escrib|mencion|coment|equivoqu|pas|aqu|all|caf|beb)[éí]\b)\w{{3,}}[éí]\b"
)
"""Matches a Spanish clause without a subject that tells what the user did: "voté a Milei". Its accents are needed."""
_EARLIER: Final = regex(
    r"\b(?:earlier|ago|before|just now|antes|hace un|recien|acabo de|dije|conte|he \w+|said|told|wrote|mentioned|shared|messages?|mensajes?)\b"
)
"""Matches words of a wish that always refer to an earlier message. "That last bit" can also be a part of the message itself."""
_HERE: Final = regex(
    r"\b(?:leav(?:e|es|ing)|outside|beyond|stays? (?:in|within)|remains? (?:in|within)|out of|sal(?:e|ga|ir) de|fuera de|qued[ae] (?:en|dentro de)) (?:this|est[ae]) "
    r"(?:chat|conversation|room|session|talk|window|charla|conversacion|sala|sesion)\b(?! out\b)"
)
"""Matches "leave this chat" and similar words. They do not mean that the wish covers all later messages."""
_OF_THAT: Final = regex(r"\b(?:nothing|none|any|anything|nada) (?:of|about|from|de) (?:that|eso)\b")
"""Matches "nothing of that" and similar words, which do not mean everything that follows."""
_INNER: Final = (
    regex(
        rf"\b(?:(?:but|and|so|please|pls|plz|just|also|lol|ok|now|abeg) )*{english.NOT} (?:please |ever |just |be |go |going )*{english.KEEP}"
        r"(?: (?:any of )?(?:this|that|it|these)(?: one| bit| part| down)*)?(?: anywhere| (?:on|in) (?:file|record|(?:your|ur|my|the) \w+))?\b"
    ),
    regex(
        rf"\b(?:(?:y|pero|asi que|porfa|por favor|mejor|eso|esto|ese|esa|ultimo|lo|la) )*(?:{spanish.NOT}|ni se te ocurra)(?: (?:me |te )?(?:lo|la|los|las))? "
        rf"{spanish.KEEP}(?:lo|la|los|las)?(?: (?:eso|esto|este dato))?\b"
    ),
)
"""Match a wish in the middle of a clause, as in "I take Valium dont save that". They only serve to separate it from the rest."""
_CONSUMED: Final = regex(
    r"(?:[\s.,:;!?)]+(?:i|i'm|i've|my|but|we|he|he's|she|she's|they|they're|his|her|pero|mi|soy|estoy|tengo|es)?)+$"
)
"""Matches punctuation and pronouns at the end of a matched wish. They belong to the content after the wish."""
_COLON: Final = regex(r"[:–—]\s*\w|\s-+\s+\w")
_ANNOUNCES: Final = regex(
    r"\b(?:(?:i|we)(?:'ve| have)?(?: got| have)? (?:a|another|something|one)(?: big| little| small| dark)? ?(?:secret|confession|private|personal)|"
    r"(?:there(?:'s| is) |hay )?(?:something|algo|una cosa) (?:that |que )?(?:i|i'd|i would|me|te)? ?(?:really )?(?:want|need|have|like|wanted|quiero|quisiera|necesito|queria|tengo que|gustaria) (?:to )?(?:tell you|say|share|confess|contar|decir|confesar)\w*|"
    r"(?:can|could|may) (?:we|i) (?:talk|tell you|ask you|say)(?: something| this)?|(?:let me|i want to|i need to) tell you something|"
    r"you (?:can'?t|mustn'?t|must not|won'?t|shouldn'?t)(?: ever)? (?:remember|repeat|tell|keep|save)(?: it| this| that| anyone| anybody)?|"
    r"promise(?: me)?|any of (?:it|this|that)|anywhere|"
    r"(?:tengo|tenemos|guardo)(?: que contarte| un| una| algo)*(?: secreto| confesion| confidencial| privado)|(?:te|les) (?:cuento|confieso) (?:algo|una cosa|un secreto)|"
    r"(?:podemos|quiero|necesito) hablar(?: de algo| contigo| con vos)?|promete\w*|(?:esto |eso )?(?:que )?qued[ae] entre nosotr[ao]s|"
    r"en ningun (?:sitio|lado|lugar)|en ninguna parte)\b"
)
"""Matches words that announce something private, such as "I have a secret"."""
_ONLY_HERE: Final = regex(
    r"\b(?:(?:just|only|strictly|solo|solamente|nomas|unicamente|nada mas) (?:es )?(?:for|para|por|en) (?:this|est[ae]) \w+|for this \w+ only)\b"
)
"""Matches "just for this conversation" and similar words. They do not mean that the wish covers all later messages."""
_COMES_NEXT: Final = regex(
    r"\b(?:my|the|this) (?:very )?next (?:message|thing|bit|part|question|one|line|sentence)\b|\bwhat (?:comes|follows)\b"
    r"|\blo que (?:viene|sigue)\b|\blo (?:siguiente|proximo)\b|\b(?:mi|el|la|lo) (?:proxim[oa]|siguiente) (?:mensaje|frase|cosa|parte|pregunta|dato)\b"
)
"""Matches words of a wish that name the user's next message, even after other words: "Three years. Don't save what comes next."."""
_OF_THIS: Final = regex(r"\b(?:nothing|none|any|anything|nada) (?:of|about|from|de) (?:this|esto)\b")
"""Matches "nothing of this" and similar words. They mean what was said before, too."""
_ANYTHING: Final = regex(
    r"\b(?:anything|nothing|everything|no more|nada|ningun\w*(?! (?:parte|sitio|lado|lugar|registro)\b)|todo)\b"
)
"""Matches "anything", "nothing" and similar words.

A wish with such a word covers the following messages, if its own message has no content.
"""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of a message between two punctuation marks."""

    text: str
    start: int
    is_apart: bool
    """True if punctuation separates the part from the wish."""
    is_introduced: bool
    """True if a colon or a dash comes directly before the part."""


def reach_of(text: str, tells: Callable[[str], bool] = lambda part: True) -> Reach:
    """Return which messages a wish to stay off the record covers, such as only its own message or the rest of the session.

    ``text`` is the message with the wish. `Reach` lists all possible results. ``tells`` is called with parts of the message. It
    returns True if a part states something that should stay off the record.
    """
    original = own_words(text[:_MAX_CHARACTERS])
    folded = fold_places(original)
    contents = _contents(original, folded, tells)
    wish = _without(folded, contents)
    books = patterns()
    back = _points_back(wish, contents)
    if back and any(book.said.search(wish) for book in books):
        return "previous"
    if any(book.rest.search(_HERE.sub(" ", _ONLY_HERE.sub(" ", wish))) for book in books):
        return "rest"
    if any(book.mistake.search(wish) for book in books) or back:
        return "previous"
    if contents and not _only_announces(folded):
        coming = _COMES_NEXT.search(wish)
        return "next" if coming and all(each.start < coming.start() for each in contents) else "message"
    if _only_announces(folded) or any(book.next.search(wish) for book in books):
        return "next"
    return _reach_without_content(wish)


def _reach_without_content(wish: str) -> Reach:
    """Return which messages a wish covers that says neither what nor which messages."""
    if not _ANYTHING.search(_OF_THAT.sub(" ", wish)):
        return "around"
    return "all" if _OF_THIS.search(wish) else "rest"


def _points_back(wish: str, contents: Sequence[_Segment]) -> bool:
    """Return True if a wish refers to what the user said before.

    "That last bit" and similar words refer to the message itself if the user tells something before them. ``wish`` is the text of
    the message without its ``contents``.
    """
    places = [match.start() for book in patterns() for pattern in (book.said, book.previous) if (match := pattern.search(wish))]
    tells_first = bool(places) and any(each.start < min(places) for each in contents)
    return bool(places) and (not tells_first or _EARLIER.search(wish) is not None)


def _without(folded: str, contents: Sequence[_Segment]) -> str:
    """Return the text of a message in which spaces replace what the wish covers."""
    for each in contents:
        folded = folded[: each.start] + " " * len(each.text) + folded[each.start + len(each.text) :]
    return folded


def _only_announces(folded: str) -> bool:
    """Return True if a message only announces something private, such as "I have a secret and you can't remember it"."""
    if not _ANNOUNCES.search(folded) or _COLON.search(folded):
        return False
    rest = _ANNOUNCES.sub(" ", folded)
    for book in patterns():
        for pattern in (*book.off_record, *book.between_us):
            rest = pattern.sub(" ", rest)
    words = [word for word in _WORD.findall(rest) if word not in POLITE and not is_stop_word(word)]
    return len(words) < _MIN_CONTENT_WORDS - 1


def _contents(original: str, folded: str, tells: Callable[[str], bool]) -> list[_Segment]:
    """Return the parts of a message that say more than the wish to stay off the record.

    ``folded`` is the message in lower case, without accents. ``tells`` is called with parts of the message. It returns True if a
    part states something that should stay off the record.
    """
    start, end, is_inner = _wish_place(folded)
    if start == end:
        segments = _segments(folded, 0, len(folded))
        if len(segments) == 1:
            is_long = len(_WORD.findall(folded)) > 2 * _MIN_CONTENT_WORDS
            is_told = is_long and not _points(segments[0]) and (_SUBJECT.search(folded) is not None or tells(folded))
            return segments if is_told else []
    else:
        end = start + len(_CONSUMED.sub("", folded[start:end]))
        segments = [
            *_segments(folded, 0, start, wish="none" if is_inner else "after"),
            *_segments(folded, end, len(folded), wish="before"),
        ]
    return [each for each in segments if _is_told(each, original, tells)]


def _wish_place(folded: str) -> tuple[int, int, bool]:
    """Return the start and the end of the words that express the wish. Both are 0 if no rule finds them.

    The third value is True if the words may stand in the middle of a clause.
    """
    rules = [pattern for book in patterns() for pattern in (*book.off_record, *book.between_us)]
    for group in (tuple(rules), _INNER):
        spans = [match.span() for pattern in group if (match := pattern.search(folded))]
        if spans:
            return *max(spans, key=lambda span: span[1] - span[0]), group is _INNER
    return 0, 0, False


def _is_told(segment: _Segment, original: str, tells: Callable[[str], bool]) -> bool:
    said = original[segment.start : segment.start + len(segment.text)].lower()
    has_subject = _SUBJECT.match(segment.text) is not None or _DID.match(said) is not None
    if segment.is_introduced:  # "don't save this: pregnant"
        return any(word not in POLITE for word in _WORD.findall(segment.text))
    if _points(segment, has_subject=has_subject):
        return False
    return has_subject or (_is_long_enough(segment) and tells(segment.text))


def _points(segment: _Segment, *, has_subject: bool = False) -> bool:
    """Return True if a part of a message says which messages the wish covers: "what I said earlier", "te voy a contar algo".

    A part with a subject counts only if it announces something or calls the message before a mistake.
    """
    first = _FIRST.match(segment.text)
    start = first.end() if first else 0
    if any(book.next.match(segment.text, start) or book.mistake.search(segment.text) for book in patterns()):
        return True
    others = [pattern for book in patterns() for pattern in (book.said, book.next, book.rest, book.previous)]
    return (
        any(book.said.search(segment.text) for book in patterns())
        if has_subject
        else any(each.search(segment.text) for each in others)
    )


def _segments(folded: str, start: int, end: int, *, wish: Literal["before", "after", "none"] = "none") -> list[_Segment]:
    """Return the parts between punctuation marks of the text from ``start`` to ``end``. ``wish`` is the place of the wish."""
    pauses = list(_PAUSE.finditer(folded, start, end))
    starts = [start, *(pause.end() for pause in pauses)]
    ends = [*(pause.start() for pause in pauses), end]
    introduced = [False]
    for pause in pauses:  # "don't save this: I quit, my boss drinks"
        goes_on = introduced[-1] and not any(mark in pause[0] for mark in ".!?")
        introduced.append(goes_on or pause["introduces"] is not None)
    next_to = {"before": 0, "after": len(starts) - 1, "none": -1}[wish]
    return [
        _Segment(folded[first:last], first, place != next_to, colon)
        for place, (first, last, colon) in enumerate(zip(starts, ends, introduced, strict=True))
        if _WORD.search(folded[first:last])
    ]


def _is_long_enough(segment: _Segment) -> bool:
    words = [word for word in _WORD.findall(segment.text) if word not in POLITE]
    return len(words) >= (_MIN_APART_WORDS if segment.is_apart else _MIN_CONTENT_WORDS)
