"""Name topics: short lower-case names in the language of the texts, safe as file names.

A name has only letters, digits and single hyphens, so it cannot point outside its folder. A name that some system reserves,
such as ``nul`` on Windows, gets the prefix ``topic-``. Accents are kept: ``cumpleaños``.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import ModelError
from holdfast.learning import ask_model
from holdfast.learning.topics.clusters import common_language, content_terms
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import detect_language, is_stop_word

RULE_VERSION = "topic-name-rules-1"
MAX_CHARACTERS = 40
"""Maximum number of characters in a name."""
MAX_WORDS = 3
_MAX_SHOWN_TEXTS = 40
"""Maximum number of a topic's texts that the model is shown to find a name. More texts do not improve the name."""
_MAX_TEXT_CHARACTERS = 300
_MAX_SHOWN_NAMES = 200
_RESERVED = frozenset({"con", "prn", "aux", "nul", "index"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})
_WORD = regex(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_SCHEMA: Schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

# Words that occur in memories about any subject, so they cannot name one.
_GENERIC_WORDS = frozenset(
    "user users usuario usuaria usuarios person persona people gente assistant asistente said says say told dijo dice "
    "like likes liked love loves prefer prefers preferred want wants wanted need needs use uses used using make makes made "
    "made found find finds finding keep keeps take takes took go goes going went come came know knows think thinks feel feels work works "
    "gusta gustan encanta encantan prefiere prefieren prefiero quiere quieren quiero necesita necesito usa usan uso hace hizo "
    "hacer tiene tener puede poder debe deber sabe cree encontró encuentra descubrió lleva toma va fue ser estar decidió decidido decided decides plan plans "
    "always never usually often sometimes every day days week weeks month months year years time times today tomorrow yesterday "
    "siempre nunca suele menudo veces vez día días semana semanas mes meses año años hoy mañana ayer hora horas new old good "
    "put puts putting set sets settle settled sell sells selling choose chose chosen agree agreed pone poner puso pondrá pondremos vende vender elige elegir eligió acordó acordado "
    "second third fourth another again half segundo segunda tercero tercera otro otra medio media "
    "bad best better big small first last next many much one two three thing things way something nuevo nueva viejo bueno buena "
    "mejor peor grande pequeño primero primera último última muchos muchas cosa cosas algo manera forma tres without within "
    "instead also still already yet ever even really only well however todavía ya además entonces luego después durante "
    "he's she's it's i'm i've don't doesn't didn't isn't can't won't memory memoria note nota".split()
)
_ADVERBS = ("ly", "mente")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicName:
    """A topic's name with its author (a model or the rules), the problems that occurred (``flaws``), and the cost."""

    name: str
    model: str | None = None
    prompt: str = RULE_VERSION
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def slug(text: str, *, max_words: int = MAX_WORDS, max_characters: int = MAX_CHARACTERS) -> str:
    """Return the text as a name in lower case, with hyphens between the words.

    Punctuation separates words, but apostrophes are dropped. The name has at most ``max_words`` words and ``max_characters``
    characters. It is empty if the text has no letter or digit. A reserved name, such as ``nul`` or ``index``, gets the prefix
    ``topic-``.
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    spelled = "".join(c if _is_kept(c) else "-" for c in plain if c not in "'’")
    words = [word for word in spelled.split("-") if word][:max_words]
    while words and len("-".join(words)) > max_characters:
        words = words[:-1] if len(words) > 1 else [words[0][:max_characters]]
    name = unicodedata.normalize("NFC", "-".join(words))
    return f"topic-{name}" if name in _RESERVED else name


def title(name: str) -> str:
    """Return a topic's name as a page title: "home-office" becomes "Home office"."""
    return (name[:1].upper() + name[1:]).replace("-", " ")


def _is_kept(character: str) -> bool:
    """Return True for characters that a topic's name keeps: letters, digits, and combining marks that some scripts need.

    Separate accents of Latin letters (U+0300 to U+036F) are not kept.
    """
    return character.isalnum() or (unicodedata.category(character)[0] == "M" and not "\u0300" <= character <= "\u036f")


def unused_name(name: str, taken: Collection[str], *, max_characters: int = MAX_CHARACTERS) -> str:
    """Return the name, with a number appended if it is in ``taken``. Case and accents are ignored in the comparison."""
    used = {fold(each) for each in taken}
    for number in count(1):
        ending = "" if number == 1 else f"-{number}"
        candidate = name[: max_characters - len(ending)].rstrip("-") + ending
        if fold(candidate) not in used:
            return candidate
    raise AssertionError


def distinctive(texts: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return the words that distinguish ``texts`` from ``others``, the most distinctive word first.

    Each word is in its most frequent spelling.
    """
    language = common_language((*texts, *others))
    inside, written = _count(texts, language)
    outside, _ = _count(others, language)
    first = {stem: place for place, stem in enumerate(inside)}

    def score(stem: str) -> float:
        share = inside[stem] / len(texts)
        return share - outside[stem] / len(others) if others else share

    ranked = sorted(inside, key=lambda stem: (-score(stem), first[stem]))
    return [written[stem].most_common(1)[0][0] for stem in ranked if score(stem) > 0]


def _count(texts: Sequence[str], language: str | None) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Count stems and spellings. Return two mappings.

    The first maps each stem to the number of texts that contain it. The second maps each stem to the number of times that
    each of its spellings occurs.
    """
    frequencies: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for text in texts:
        stems: dict[str, None] = {}
        for word in _naming_words(text):
            stem = min(content_terms(word, language), default=word)
            stems[stem] = None
            written.setdefault(stem, Counter())[word] += 1
        frequencies.update(stems.keys())
    return frequencies, written


def naming_terms(text: str) -> frozenset[str]:
    """Return the stems of a text's words that can be part of a topic's name."""
    return frozenset(stem for word in _naming_words(text) for stem in content_terms(word))


def _naming_words(text: str) -> Iterator[str]:
    """Yield the words that can be part of a name."""
    language = detect_language(text)
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if len(word) < 3 and word.isascii():
            continue
        if word not in _GENERIC_WORDS and not word.endswith(_ADVERBS) and not _is_stop_word(word, language):
            yield word


def _is_stop_word(word: str, language: str | None = None) -> bool:
    return any(is_stop_word(fold(word), code) for code in ("en", "es", language))


def name_by_rules(texts: Sequence[str], *, known: Collection[str] = ()) -> str:
    """Return a name for a topic: the most distinctive word of its texts.

    If less than half of the texts contain that word, the second most distinctive word is added. If a topic in ``known`` has
    the same name or another form of it, such as the plural, the name of that topic is returned.
    """
    words = distinctive(texts)
    stems = [content_terms(text) for text in texts]
    shared = bool(words) and sum(bool(content_terms(words[0]) & each) for each in stems) * 2 >= len(texts)
    name = next(_candidates(words, 1 if shared else 2), "") or next(_candidates(words, 1), "") or _fallback_name(texts)
    return joined_name(name, known)


def joined_name(name: str, known: Collection[str]) -> str:
    """Return the topic in ``known`` that has the given name. If there is none, return the name itself.

    Differences in case and accents, and between singular and plural, are ignored.
    """
    return next(
        (topic for topic in known if fold(topic) == fold(name)),
        next((topic for topic in known if _is_other_form(topic, name)), name),
    )


def _is_other_form(one: str, other: str) -> bool:
    """Return True if two names have the same words, in singular or plural."""
    first, second = ([content_terms(word) for word in name.split("-") if word] for name in (one, other))
    return len(first) == len(second) > 0 and all(stems & others for stems, others in zip(first, second, strict=True))


def _candidates(words: Sequence[str], at_first: int) -> Iterator[str]:
    """Yield candidate names, built from the first words of ``words``.

    The first candidate has ``at_first`` words, and each further candidate has one word more.
    """
    for size in range(at_first, MAX_WORDS + 1):
        if name := slug(" ".join(words[:size])):
            yield name


def _fallback_name(texts: Iterable[str]) -> str:
    return "tema" if detect_language(" ".join(texts)) == "es" else "topic"


def name_topic(texts: Sequence[str], *, known: Collection[str], model: ChatModel | None = None) -> TopicName:
    """Name the topic of some texts: a topic in ``known``, or a new topic. The name is always safe, whatever the model returns."""
    by_rules = name_by_rules(texts, known=known)
    if model is None or not texts:
        return TopicName(name=by_rules)
    prompt = ask_model.load_prompt("topic_name", prompt_language(texts))
    notes = [f"- {text[:_MAX_TEXT_CHARACTERS]}" for text in texts[:_MAX_SHOWN_TEXTS]]
    names = [", ".join(list(known)[:_MAX_SHOWN_NAMES]) or "-"]
    try:
        answer = ask_model.complete(model, ask_model.prompt_turns(prompt, texts=notes, existing=names), _SCHEMA, max_tokens=100)
    except ModelError as error:
        return TopicName(name=by_rules, flaws=(f"named by rules because the model failed: {error}",), usage=usage_of(error))
    proposed = slug(" ".join(_shorten(_without_extension(str(answer.data.get("name") or "")))))
    if not proposed:
        flaw = "named by rules because the model returned no name"
        return TopicName(name=by_rules, flaws=(*answer.flaws, flaw), usage=answer.usage)
    name = joined_name(proposed, known)
    return TopicName(name=name, model=model.name, prompt=prompt.version, flaws=answer.flaws, usage=answer.usage)


def _without_extension(name: str) -> str:
    """Return a name without the path and extension of a file: "cooking" for "topics/cooking.md"."""
    return name.strip().strip("`\"'").replace("\\", "/").rsplit("/", maxsplit=1)[-1].removesuffix(".md")


def _shorten(name: str) -> list[str]:
    """Return the words of a name. If there are too many, leave out stop words."""
    words = name.replace("-", " ").replace("_", " ").split()
    if len(words) <= MAX_WORDS:
        return words
    return [word for word in words if not _is_stop_word(word)] or words


def prompt_language(texts: Iterable[str]) -> str:
    """Return the prompt language for some texts: Spanish if most are in Spanish, otherwise English."""
    return "es" if common_language(texts) == "es" else "en"
