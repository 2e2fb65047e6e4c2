"""Load the training data of the reader: clauses, judged memories, wishes about memory, and pairs of an old and a new claim."""

import hashlib
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reader.schema import HEADS, numbers

_VERDICTS = "ABJW"
"""The verdicts on memories: useful, minor, junk, and unclear or broken. Their order is that of the answers of ``worth``."""
_PLAIN = ("project_g", "plain_h", "plain_v", "plain_w", "plain_x", "plain_y", "task_j", "task_l")
"""Sources of ``clauses.jsonl`` whose clauses also count as judged memories."""
DEV = 12
"""One in this many training dialogues is held out, to choose thresholds and the best of several runs."""


MARKED = ("parts_", "later_")
"""Beginnings of the names of the sources whose pairs have marked words."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text to read, the text before it, and the known answers as numbers. Questions without a known answer are not trained."""

    id: str
    source: str
    split: str
    lang: str
    first: str
    """The previous turn, or the old claim of a pair."""
    text: str
    labels: dict[str, int]
    span: tuple[int, int] | None = None
    gone: tuple[tuple[int, int], ...] | None = None
    """Positions of the words of an old text that a new text ends, or asks to forget. None if they are unknown."""
    is_pair: bool = False
    draw: str = ""
    how: str = ""
    is_held: bool | None = None
    """True if the answers should stay those of the reader that training starts from; the labels do not count then.

    None if no answers are held in this training.
    """


def read(labels: Path, texts: Path, *, own_chars: int = 0) -> list[Example]:
    """Return all examples.

    With ``own_chars``, up to ``own_chars`` characters that the user wrote just before the clause are added to the previous turn.
    """
    with lzma.open(texts, "rt", encoding="utf-8") as file:
        restored = {row["id"]: row for row in map(json.loads, file)}
    real = [_clause({**row, **restored[row["id"]]}, own_chars) for row in _rows(labels / "real.jsonl")]
    written = [_clause(row, own_chars) for row in _rows(labels / "clauses.jsonl")]
    memories = [_memory({**row, **restored.get(row["id"], {})}) for row in _rows(labels / "memories.jsonl")]
    wishes = [_wish(row) for row in _rows(labels / "wishes.jsonl")]
    pairs = [_pair(row) for row in _rows(labels / "changes.jsonl")]
    neighbors = [_pair({**row, **restored[row["id"]]}) for row in _rows(labels / "neighbors.jsonl")]
    people = list(_of_people(_rows(labels / "people.jsonl")))
    parts = list(map(_parts, _rows(labels / "parts.jsonl")))
    parts += _later(_rows(labels / "later.jsonl"))
    joined = [*parts, *_pieces(parts), *_of_others(parts), *_joined(_rows(labels / "people.jsonl"))]
    clauses = [*real, *written]
    made = [*_crossed(pairs, clauses), *_of_relatives(pairs), *unrelated(pairs, clauses), *among_others(pairs, clauses)]
    memories += _plain(written)
    return [*real, *written, *memories, *wishes, *map(_with_words, [*pairs, *people, *neighbors, *made]), *joined]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def is_dev(row: dict[str, Any]) -> bool:
    """Return True if a row of the training data is held out as the split ``dev``.

    Clauses that were picked because the reader was uncertain about them (``pick_uncertain.py``) never move to ``dev``. They
    are harder than ordinary clauses, so results on ``dev`` could no longer be compared with earlier results.
    """
    key = row["id"] if row["id"].count(":") == 1 else row["id"].rsplit(":", 2)[0]
    held = hashlib.sha256(f"dev {key}".encode()).digest()[0] % DEV == 0
    return held and row["split"] == "train" and row.get("draw") != "active"


def _split(row: dict[str, Any]) -> str:
    """Return the split of a row."""
    return "dev" if is_dev(row) else str(row["split"])


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "source": row["source"], "split": _split(row), "lang": row["lang"]}


def _clause(row: dict[str, Any], own_chars: int) -> Example:
    """Return a clause as an example.

    If the user asks not to save the clause, the labels ``keep`` and ``consent`` are dropped, because the wish may be in another
    clause. A row marked as partial has only the labels that it lists.
    """
    labels = numbers(row)
    if row.get("partial"):
        labels = {head: number for head, number in labels.items() if head in row}
    elif labels["consent"] == HEADS["consent"].index("off_record"):
        del labels["consent"], labels["keep"]
    own = row["own"][-own_chars:] if own_chars else ""
    first = f"{row['before']} / {own}" if own else row["before"]
    span = tuple(row["span"]) if "span" in row else None
    return Example(**_known(row), first=first, text=row["text"], labels=labels, span=span, draw=row.get("draw", ""))


def _memory(row: dict[str, Any]) -> Example:
    """Return a judged memory as an example."""
    return Example(**_known(row), first=row["before"], text=row["text"], labels={"worth": _VERDICTS.index(row["verdict"])})


def _plain(clauses: Iterable[Example]) -> Iterator[Example]:
    """Yield clauses that we wrote as judged memories, if they need no turn before: project facts, instructions and plain facts.

    The judged memories of conversations have few of them.
    """
    for one in clauses:
        if one.source in _PLAIN and one.split == "train" and "keep" in one.labels and not one.labels.get("reply"):
            verdict = "A" if one.labels["keep"] else "J"
            yield replace(one, id=f"{one.id} judged", labels={"worth": _VERDICTS.index(verdict)}, span=None)


def _wish(row: dict[str, Any]) -> Example:
    labels = {"consent": HEADS["consent"].index(row["consent"])}
    return Example(**_known(row), first=row["before"], text=row["text"], labels=labels)


def _pair(row: dict[str, Any]) -> Example:
    labels = {"change": HEADS["change"].index(row["change"])}
    return Example(**_known(row), first=row["old"], text=row["new"], labels=labels, is_pair=True, how=row["how"])


def _of_people(rows: Iterable[dict[str, Any]]) -> Iterator[Example]:
    """Yield a pair of each fact about a person and each later message of that person.

    A message ends or repeats at most a few of the facts. With the others, it forms pairs that only look alike.
    """
    for row in rows:
        for number, message in enumerate(row["messages"]):
            for fact, old in enumerate(row["facts"]):
                change = "ends" if fact in message["ends"] else "repeats" if fact in message["repeats"] else "leaves"
                how = "person" if change == "leaves" else f"person {message['how']}"
                pair = {**row, "old": old, "new": message["t"], "change": change, "how": how}
                yield replace(_pair(pair), id=f"{row['id']}:{number}:{fact}")


def _with_words(pair: Example) -> Example:
    """Return a pair with the words that the new claim ends: all or none. They are unknown if a long claim has ended.

    They are left out, too, of pairs that were made from other texts: most of the words that the reader sees should be in texts of
    which a part has ended.
    """
    if pair.gone is not None or pair.how in _PLAINLY_UNRELATED or pair.how.endswith("among others"):
        return pair
    if pair.labels["change"] != HEADS["change"].index("ends"):
        return replace(pair, gone=())
    is_short = len(pair.first.split()) <= _MAX_ENDED_WORDS
    return replace(pair, gone=((0, len(pair.first)),)) if is_short else pair


def _parts(row: dict[str, Any]) -> Example:
    """Return a pair of which the words are known that the new text ends, or asks to forget."""
    labels = {"change": HEADS["change"].index(_CHANGES[row["how"]])} if row["how"] in _CHANGES else {}
    gone = tuple((start, end) for start, end in row["gone"])
    return Example(**_known(row), first=row["old"], text=row["new"], labels=labels, gone=gone, is_pair=True, how=row["how"])


def _later(rows: Iterable[dict[str, Any]]) -> Iterator[Example]:
    """Yield a pair of what a user said and each later message. Each message lists the words that it ends, or asks to forget."""
    for row in rows:
        for number, message in enumerate(row["later"]):
            places = sorted((row["old"].index(words), len(words)) for words in message["gone"])
            pair = {
                **row,
                "new": message["new"],
                "how": message["how"],
                "gone": [(start, start + size) for start, size in places],
            }
            yield replace(_parts(pair), id=f"{row['id']}:{number}")


def _pieces(pairs: Sequence[Example]) -> Iterator[Example]:
    """Yield the ended words of each old text as a text of their own, and those that stay. A piece of few words is left out."""
    for pair in pairs:
        if not pair.gone:
            continue
        ended = " ".join(pair.first[start:end] for start, end in pair.gone)
        ends = [0, *(end for _, end in pair.gone)]
        starts = [*(start for start, _ in pair.gone), len(pair.first)]
        left = " ".join(pair.first[start:end] for start, end in zip(ends, starts, strict=True))
        for name, words in (("ended", ended), ("left", left)):
            text = " ".join(words.split()).strip(" ,;:.")
            if len(text.split()) >= _MIN_PIECE:
                labels = {"change": HEADS["change"].index("ends" if name == "ended" else "leaves")} if pair.labels else {}
                gone = ((0, len(text)),) if name == "ended" else ()
                yield replace(pair, id=f"{pair.id} {name}", first=text, labels=labels, gone=gone)


def _of_others(pairs: Sequence[Example]) -> Iterator[Example]:
    """Yield the new text of each pair with old texts of two other people. It leaves them alone, also if it asks to forget something."""
    chance, alike = random.Random(21), defaultdict[tuple[str, str], list[Example]](list)
    for pair in pairs:
        alike[pair.lang, pair.split].append(pair)
    for pair in pairs:
        others = alike[pair.lang, pair.split]
        for number, other in enumerate(chance.sample(others, min(2, len(others)))):
            if other.first != pair.first and not _long_words(other.first) & _long_words(pair.text):
                yield replace(pair, id=f"{pair.id} other {number}", first=other.first, labels=_LEAVES, gone=(), how="of others")


def _joined(rows: Iterable[dict[str, Any]]) -> Iterator[Example]:
    """Yield pairs of several facts about a person, joined to one text, and a later message of that person."""
    chance = random.Random(20)
    for row in rows:
        for number, message in enumerate(row["messages"]):
            others = [fact for fact in range(len(row["facts"])) if fact not in message["ends"]]
            for _ in range(_TIMES_JOINED if message["ends"] else 1):
                ended = chance.sample(message["ends"], min(len(message["ends"]), chance.choice((1, 1, 2))))
                facts = [*ended, *chance.sample(others, min(len(others), chance.choice((1, 2, 2, 3))))]
                chance.shuffle(facts)
                text, places = _join([row["facts"][fact] for fact in facts], _JOINTS[row["lang"]], chance)
                gone = tuple(place for fact, place in zip(facts, places, strict=True) if fact in ended)
                labels = {"change": HEADS["change"].index("ends" if gone else "leaves")}
                known = {**_known(row), "id": f"{row['id']}:{number}:joined"}
                yield Example(**known, first=text, text=message["t"], labels=labels, gone=gone, is_pair=True, how="joined")


def _join(facts: Sequence[str], joints: Sequence[str], chance: random.Random) -> tuple[str, list[tuple[int, int]]]:
    """Join facts to one text. Return the text, and the position of each fact in it."""
    text, places = "", []
    for fact in facts:
        text += chance.choice(joints) if text else ""
        places.append((len(text), len(text) + len(fact)))
        text += fact
    return text, places


def _crossed(pairs: Sequence[Example], clauses: Sequence[Example]) -> Iterator[Example]:
    """Yield pairs of unrelated claims: the new claim of one pair with the old claims of others, or with clauses to keep.

    Without these examples, the reader would learn that a claim such as "I moved to Munich" ends any old claim.
    """
    chance = random.Random(18)
    ended = [pair for pair in pairs if pair.split == "train" and pair.labels["change"] == HEADS["change"].index("ends")]
    known = [(pair.lang, text) for pair in pairs if pair.split == "train" for text in (pair.first, pair.text)]
    known += [(clause.lang, clause.text) for clause in clauses if clause.split == "train" and clause.labels.get("keep") == 1]
    olds = {lang: [text for other, text in known if other == lang] for lang in {pair.lang for pair in ended}}
    for pair in ended:
        said = _long_words(pair.first) | _long_words(pair.text)
        for number, old in enumerate(chance.sample(olds[pair.lang], _CROSSINGS)):
            if not _long_words(old) & said:
                yield replace(pair, id=f"{pair.id} crossed {number}", first=old, labels=_LEAVES, how="crossed")


_CHANGES = {"direct": "ends", "sideways": "ends", "none": "leaves"}
"""The change that a later message makes, for each kind of message. Other kinds are trained only on the marked words."""
_MAX_ENDED_WORDS = 7
"""Maximum number of words of an old claim of which all words count as ended. Of a longer one, a part may still be true."""
_PLAINLY_UNRELATED = ("unrelated", "crossed", "person", "neighbors")
_TIMES_JOINED = 3
"""Number of texts that are made of the facts that a message ends, each with other facts of the person."""
_MIN_PIECE = 4
_JOINTS = {
    "en": (". ", ". ", ", ", ", and ", " and ", " but ", "; ", " ", ", also ", " so "),
    "es": (". ", ". ", ", ", " y ", ", y ", " pero ", "; ", " ", ", además ", " así que "),
}
_CROSSINGS = 4
"""Number of unrelated old claims that the new claim of an ended pair is compared with."""
_MAX_RELATIVE_WORDS = 10
_SAME_LANGUAGE = 0.9
"""Share of the unrelated pairs whose two texts are in one language."""
_LEAVES = {"change": HEADS["change"].index("leaves")}
_RELATIVES = {"en": ("Her brother", "His mother", "Their neighbor Kim"), "es": ("Su hermana", "Su padre", "Su vecina Kim")}
_VERB = re.compile(
    r"(?:Lives|Works|Has|Is|Plays|Drives|Rides|Takes|Drinks|Eats|Wants|Plans|Studies|Uses|Goes|Runs|Smokes|Likes|Hates"
    r"|Vive|Trabaja|Tiene|Es|Está|Juega|Toca|Maneja|Conduce|Toma|Come|Quiere|Planea|Estudia|Usa|Va|Corre|Fuma|Odia) "
)


def _of_relatives(pairs: Sequence[Example]) -> Iterator[Example]:
    """Yield pairs in which the old claim is about a relative. A new claim about the user does not end such a claim."""
    for pair in pairs:
        names = _RELATIVES.get(pair.lang)
        short = len(pair.first.split()) <= _MAX_RELATIVE_WORDS
        if names and short and pair.split == "train" and pair.how in ("direct", "sideways") and _VERB.match(pair.first):
            name = names[hashlib.sha256(pair.id.encode()).digest()[0] % len(names)]
            old = f"{name} {pair.first[0].lower()}{pair.first[1:]}"
            yield replace(pair, id=f"{pair.id} relative", first=old, labels=_LEAVES, how="relative")


def unrelated(pairs: Sequence[Example], clauses: Sequence[Example]) -> Iterator[Example]:
    """Yield pairs of texts that have nothing to do with each other. Most sentences of a person leave most known claims alone.

    Each text of a training pair, and each clause to keep, is an old claim. The new text is one to three clauses of one language.
    Without these examples, the reader would take remarks like "we got it!!" for changes.
    """
    chance = random.Random(16)
    said = _by_language(clauses)
    olds = [(pair, chance.choice((pair.first, pair.text))) for pair in pairs if pair.split == "train"]
    olds += [(clause, clause.text) for clause in clauses if clause.split == "train" and clause.labels.get("keep") == 1]
    for number, (example, old) in enumerate(olds):
        lang = example.lang if example.lang in said and chance.random() < _SAME_LANGUAGE else chance.choice(sorted(said))
        new = " ".join(chance.sample(said[lang], chance.choice((1, 1, 2, 3))))
        if not _long_words(old) & _long_words(new):
            yield Example(
                id=f"unrelated {number}",
                source="unrelated",
                split="train",
                lang=lang,
                first=old,
                text=new,
                labels=_LEAVES,
                is_pair=True,
                how="unrelated",
            )


def among_others(pairs: Sequence[Example], clauses: Sequence[Example]) -> Iterator[Example]:
    """Yield training pairs in which one text has a further sentence that another person said. The answer stays the same.

    Real messages and memories often contain more than the claim that matters. Repetitions are left out, because a further sentence
    says more.
    """
    chance = random.Random(17)
    said = _by_language(clauses)
    for pair in pairs:
        if pair.split != "train" or pair.how == "repeat" or pair.lang not in said:
            continue
        other = chance.choice(said[pair.lang])
        if _long_words(other) & (_long_words(pair.first) | _long_words(pair.text)):
            continue
        part = chance.choice(("first", "text"))
        joined = " ".join(chance.sample((_sentence(getattr(pair, part)), _sentence(other)), 2))
        longer = replace(pair, first=joined) if part == "first" else replace(pair, text=joined)
        if part == "first" and pair.labels["change"] == HEADS["change"].index("ends"):
            start = joined.index(pair.first.rstrip())
            longer = replace(longer, gone=((start, start + len(pair.first.rstrip())),))
        yield replace(longer, id=f"{pair.id} among others", how=f"{pair.how} among others")


def held(examples: Sequence[Example], new: Sequence[str]) -> Iterator[Example]:
    """Yield the examples for further training of a reader that should change only where it has new labels.

    Wishes, judged memories and the clauses of the sources ``new`` are trained on their labels. So are all pairs if ``new`` has
    "pairs", and the pairs of long texts with marked words if it has "marked". All other answers are held. The texts of the labeled
    pairs are added as clauses without labels, once each, some with the old claim as the previous turn.
    """
    chance, alone = random.Random(19), dict[str, Example]()
    for one in examples:
        is_marked = one.source.startswith(MARKED) or one.how == "joined"
        is_new_pair = one.is_pair and ("pairs" in new or (is_marked and "marked" in new))
        is_new = is_new_pair or one.source in new or one.labels.keys() in ({"consent"}, {"worth"})
        yield replace(one, is_held=not is_new)
        if one.is_pair and one.how not in ("unrelated", "crossed"):
            first = one.first if chance.random() < 1 / 3 else ""
            clause = replace(one, id=f"{one.id} alone", first=first, labels={}, is_pair=False, how="alone", is_held=True)
            alone.setdefault(one.text, clause)
    yield from alone.values()


def _by_language(clauses: Sequence[Example]) -> dict[str, list[str]]:
    """Return the texts of the training clauses of each language."""
    return {lang: [clause.text for clause in clauses if clause.split == "train" and clause.lang == lang] for lang in _RELATIVES}


def _sentence(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?", "…")) else f"{text.rstrip()}."


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.casefold()))
