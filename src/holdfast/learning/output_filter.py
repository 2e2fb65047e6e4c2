"""Reject a model's text that must not replace memories: a refusal, a loop, markup, another language, or too little content.

Each check looks for one typical failure of models. A text is not rejected for a property that the memories already have: it
may contain HTML if one of the memories contains HTML.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS, detect_language

_MAX_GROWTH = 10
"""Maximum length of a text, as a multiple of the total length of the texts it replaces."""
_MIN_WORD_SHARE = 0.2
"""Minimum ratio of two counts: the distinct content words in the new text, and those in the texts that it replaces.

``_MAX_ROOM_SHARE`` limits the required number of words.
"""
_MAX_ROOM_SHARE = 0.15
"""Upper limit for the number of content words that a new text must have.

It is a share (0 to 1) of the words that fit in ``max_characters``. Without this limit, a short summary of many long texts
would be rejected.
"""
_CHARACTERS_PER_WORD = 6
_LOOP_WORDS = 4
"""Number of equal words in a row that count as a loop."""
_MIN_DISTINCT_SHARE = 0.5
"""Minimum share (0 to 1) of distinct three-word sequences. A text with a lower share is a loop.

Texts of fewer than ``_MIN_LOOP_WORDS`` words are not checked.
"""
_MIN_LOOP_WORDS = 12
_MIN_SHARED_SHARE = 0.5
"""If at least this share (0 to 1) of a text's content words occurs in the replaced texts, both count as one language."""
_MIN_QUOTED_CHARACTERS = 30
"""Minimum number of characters of a prompt sentence that a text must not repeat. Shorter sentences may be repeated."""

_WORD = regex("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W_]+")
_REFUSAL = regex(
    r"\W{0,9}(?:(?:i(?:'|’)?m|i am)(?: very| really| so)? sorry,? (?:but )?(?:i|as an)\b.{0,20}?(?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|unable|not able|ai)\b"
    r"|i (?:can(?:'|’)?t|cannot|can not|am unable to|(?:'|’)?m unable to|won(?:'|’)?t) "
    r"(?:help|assist|comply|provide|fulfil|do that|merge|summari[sz]e|process|answer|continue|complete|create|generate|combine)"
    r"|as an? (?:ai|artificial intelligence|large language model|language model|assistant)\b"
    r"|(?:lo siento|lo lamento|disculpa|disculpe|perd[oó]n),? (?:mucho,? )?(?:pero )?no (?:puedo|me es posible|soy capaz|podr[eé])\b"
    r"|no (?:puedo|me es posible|me está permitido) (?:ayudar|asistir|cumplir|proporcionar|hacer eso|unir|resumir|procesar|responder|continuar|completar|generar|combinar)"
    r"|como (?:una? )?(?:ia|inteligencia artificial|modelo de lenguaje|asistente)\b)",
    re.IGNORECASE,
)
_CHATTER = regex(
    r"\W{0,9}(?:(?:sure|certainly|of course|okay|claro|por supuesto|desde luego)\b[^.\n]{0,20}?[,!.:]\s*)?"
    r"(?:(?:here(?:'|’)?s|here is|here are|below is)\b.{0,12}\b(?:the|your|a)\b.{0,20}?\b"
    r"(?:merged|combined|updated|summary|text|memory|json|version)\b"
    r"|(?:aqu[ií] (?:est[aá]|tienes|va))\b.{0,20}?\b(?:texto|resumen|memoria|recuerdo|json|versi[oó]n)\b)",
    re.IGNORECASE,
)
_HTML = regex(
    r"<!doctype|<!--|</?(?:html|head|body|div|span|p|br|hr|b|i|em|strong|a|ul|ol|li|table|tr|td|th|h[1-6]|script|style|img|pre|code|font)"
    r"(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_TAG = regex(r"</?[a-z_]{3,20}(?: id=\"[^\"<>]{0,80}\")?>|\{[a-z_]{3,20}\}", re.IGNORECASE)
_JSON = regex(r"\s*(?:```|[\[{]\s*[\"'{\[]|\{\s*\})")
_SAME_CHARACTER = regex(r"(\S)\1{19}")


def rejection_reason(text: str, *, replaces: Sequence[str], max_characters: int) -> str | None:
    """Return the reason to reject a text that would replace the texts in ``replaces``, or None if the text is acceptable."""
    if not _WORD.search(text):
        return "the text is empty"
    reason = _length_problem(text, replaces, max_characters)
    if reason:
        return reason
    for has, had, trait in _traits():
        if has(text) and not any(had(replaced) for replaced in replaces):
            return trait
    return "the text is in another language" if _is_foreign(text, replaces) else None


def _length_problem(text: str, replaces: Sequence[str], max_characters: int) -> str | None:
    """Return the reason why a text is too long or too short to replace the given texts. Return None if its length is fine."""
    if len(text) > max_characters:
        return f"the text has {len(text)} characters and may have {max_characters}"
    replaced = [words for words in map(_words, replaces) if words]
    if not replaced:
        return None
    words = _words(text)
    if len(words) == 1 and min(map(len, replaced)) >= 3:
        return "the text is one word and replaces more"
    if len(text) > _MAX_GROWTH * max(sum(map(len, replaces)), 20):
        return f"the text is more than {_MAX_GROWTH} times longer than the texts it replaces"
    replaced_words = {word for one in replaced for word in _meaningful(one)}
    max_required = max_characters / _CHARACTERS_PER_WORD * _MAX_ROOM_SHARE
    if len(_meaningful(words)) < min(len(replaced_words) * _MIN_WORD_SHARE, max_required):
        return "the text is far shorter than the texts it replaces"
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _meaningful(words: Sequence[str]) -> set[str]:
    return {word for word in words if word not in STOP_WORDS["en"] and word not in STOP_WORDS["es"]}


def _repeats_prompt(text: str) -> bool:
    plain = fold(text)
    return any(sentence in plain for sentence in _instructions())


@cache
def _instructions() -> frozenset[str]:
    """Return all prompt sentences of at least 30 characters, in lower case and without accents.

    A model's text that contains one of them has copied its instructions.
    """
    files = [file for file in resources.files("holdfast.prompts").iterdir() if file.name.endswith(".toml")]
    tables = [tomllib.loads(file.read_text("utf-8")) for file in files]
    texts = [text for table in tables for text in _texts(table)]
    sentences = (fold(part) for text in texts for part in re.split(r"(?<=[.:;!?])\s+|\n", text))
    return frozenset(sentence for sentence in sentences if len(sentence) >= _MIN_QUOTED_CHARACTERS and "{" not in sentence)


def _texts(table: dict[str, Any]) -> Iterator[str]:
    for value in table.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _texts(value)


def _loops(text: str) -> bool:
    """Return True if a text repeats itself, as models sometimes do.

    A text repeats itself if a word occurs four times in a row, if a character occurs twenty times in a row, or if most
    three-word sequences are repetitions.
    """
    words = _words(text)
    run = 1
    for one, other in pairwise(words):
        run = run + 1 if one == other else 1
        if run >= _LOOP_WORDS and not one.isdigit():
            return True
    trigrams = Counter(zip(words, words[1:], words[2:], strict=False))
    repeated = len(words) >= _MIN_LOOP_WORDS and len(trigrams) < _MIN_DISTINCT_SHARE * trigrams.total()
    return repeated or bool(_SAME_CHARACTER.search(text))


def _is_foreign(text: str, replaces: Sequence[str]) -> bool:
    """Return True if a text is in a language or script that none of the replaced texts uses."""
    script, scripts = _scripts(text), sum(map(_scripts, replaces), Counter[str]())
    if script and scripts and script.most_common(1)[0][0] not in scripts:
        return True
    own, theirs = detect_language(text), detect_language("\n".join(replaces))
    if own is None or theirs is None or own in {theirs, *map(detect_language, replaces)}:
        return False
    words = _words(text)
    # The language of a short text with foreign names is often guessed wrong. A translation shares few words.
    shared = _meaningful(words) & {word for replaced in replaces for word in _words(replaced)}
    if len(shared) >= _MIN_SHARED_SHARE * len(_meaningful(words)):
        return False
    if own not in STOP_WORDS or theirs not in STOP_WORDS:
        return True
    only_own = [word for word in words if word in STOP_WORDS[own] - STOP_WORDS[theirs]]
    only_theirs = [word for word in words if word in STOP_WORDS[theirs] - STOP_WORDS[own]]
    return len(only_own) >= 2 and not only_theirs


def _scripts(text: str) -> Counter[str]:
    """Count the letters of a text by script. Japanese kana count as CJK."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text[:2000] if letter.isalpha())
    return Counter("CJK" if name in ("HIRAGANA", "KATAKANA") else name for name in names if name)


@cache
def _traits() -> tuple[tuple[Callable[[str], Any], Callable[[str], Any], str], ...]:
    """Return the tests for defects, such as HTML, for which a new text is rejected.

    Each entry has three parts: a test of the new text, a test of a replaced text, and the reason to report. A new text is not
    rejected for a defect that a replaced text already has.
    """
    return (
        (_REFUSAL.match, _REFUSAL.search, "the text is a refusal"),
        (_CHATTER.match, _CHATTER.search, "the text addresses the person who requested it"),
        (_HTML.search, _HTML.search, "the text contains HTML"),
        (_TAG.search, _TAG.search, "the text repeats placeholders or tags of the prompt"),
        (_JSON.match, _JSON.match, "the text is JSON or code"),
        (_repeats_prompt, _repeats_prompt, "the text repeats the prompt"),
        (_loops, _loops, "the text repeats itself"),
    )
