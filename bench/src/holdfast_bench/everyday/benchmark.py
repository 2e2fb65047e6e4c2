"""Measure recall in everyday use.

For each question, the answer should be the first hit and in the context block. If there is no answer, the block should
show nothing. The conversations are added through the public interface, with their dates, and everything is learned by
rules. No model judges the results: a shown text answers a question if it comes from the right turn and contains the
right words.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from holdfast.config.folders import models_directory
from holdfast.config.models import make_embedder
from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.protocols import Embedder
from holdfast.recall.context.block import block_words
from holdfast.services import services
from holdfast.testing.clock import FrozenClock
from holdfast.text.clean import fold
from holdfast.types import Hit
from holdfast_bench.everyday.people import BACKGROUND, FOLDER, Half, Person, Question, Talk, Turn, load_background, load_people
from holdfast_bench.everyday.scores import Outcome, table
from holdfast_bench.recall.vector_cache import CachedEmbedder

BLOCK_TOKENS = 400
_BETWEEN_TURNS = timedelta(seconds=20)
_BACKGROUND_DAYS = 120
"""Number of days over which background conversations are spread. They end with the person's last conversation."""
FEW = 5
"""Maximum number of turns in the smallest stores: the turn with the answer, and a few turns of other conversations."""


def run(
    *,
    people: Path = FOLDER,
    background: Path = BACKGROUND,
    half: Half | None = "test",
    sizes: Sequence[int] = (0,),
    embedder: str = "talk-embed-s",
    misses: bool = False,
    as_json: bool = False,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> None:
    """Ask every question of every person, and print the tables.

    Each of ``sizes`` is the number of turns in the store. Background conversations are added until that number is
    reached. Size 0 means only the person's own conversations.
    """
    outcomes: list[Outcome] = []
    loaded = load_people(people, half=half)
    for size in sizes:
        for number, person in enumerate(loaded, 1):
            outcomes += measure(person, size=size, background=background, embedder=embedder)
            progress(f"{size or 'own'} items", number, len(loaded))
    if misses:
        for outcome in outcomes:
            if outcome.is_miss:
                print(outcome)  # noqa: T201  (output of the command)
    print(json.dumps(table(outcomes).as_data()) if as_json else table(outcomes))  # noqa: T201


def measure(person: Person, *, size: int = 0, background: Path = BACKGROUND, embedder: str = "talk-embed-s") -> list[Outcome]:
    """Ask all questions of a person. Return the outcome of each question.

    ``size`` is the number of turns in the store, as in :func:`run`. If it is ``FEW``, each question gets its own store
    with a few turns.
    """
    model = _cached(embedder)
    clock = FrozenClock()
    parts: list[tuple[list[Talk], Sequence[Question]]]
    if size == FEW:
        parts = [(_few(person, question), [question]) for question in person.questions]
    else:
        missing = size - sum(len(talk.turns) for talk in person.talks)
        filler = load_background(background, person.language) if missing > 0 else []
        parts = [(_with_background(person, filler, missing), person.questions)]
    outcomes: list[Outcome] = []
    for talks, questions in parts:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_engine(Path(folder) / "memory.db", embedder=model, worker="none", clock=clock) as engine,
        ):
            turns = _keep(engine, clock, person.id, talks)
            for question in questions:
                clock.set(question.at)
                engine.trust_clock()
                outcomes.append(_ask(engine, person, question, turns, size))
    return outcomes


def _cached(embedder: str) -> Embedder | str:
    """Return the embedder, with a cache that keeps the vector of each text between runs."""
    source = make_embedder(embedder)
    return "none" if source is None else CachedEmbedder(source.load(), models_directory().parent / "bench" / "vectors.db")


def _few(person: Person, question: Question) -> list[Talk]:
    """Return at most ``FEW`` turns: the turn with the answer, the turn before it, and the first turns of other conversations."""
    wanted = question.answer or question.related
    home = next((talk for talk in person.talks if any(turn.id in wanted for turn in talk.turns)), person.talks[-1])
    place = next((number for number, turn in enumerate(home.turns) if turn.id in wanted), len(home.turns) - 1)
    own = Talk(at=home.at, turns=home.turns[max(place - 1, 0) : place + 1])
    others = [Talk(at=talk.at, turns=talk.turns[:1]) for talk in person.talks if talk is not home]
    return sorted([own, *others[: FEW - len(own.turns)]], key=lambda talk: talk.at)


def _with_background(person: Person, talks: Sequence[Sequence[tuple[str, str]]], wanted: int) -> list[Talk]:
    """Return a person's conversations, mixed with background conversations that have at least ``wanted`` turns in total.

    If there are too few background conversations, they are repeated.
    """
    end = person.talks[-1].at
    added: list[Talk] = []
    count = 0
    while talks and count < wanted:
        talk = talks[len(added) % len(talks)]
        turns = [Turn(id=f"background:{count + place}", role=role, text=text) for place, (role, text) in enumerate(talk)]
        added.append(Talk(at=end, turns=turns))
        count += len(turns)
    step = timedelta(days=_BACKGROUND_DAYS) / max(len(added), 1)
    spread = [Talk(at=end - (number + 1) * step, turns=talk.turns) for number, talk in enumerate(added)]
    return sorted([*person.talks, *spread], key=lambda talk: talk.at)


def _keep(engine: Engine, clock: FrozenClock, user: str, talks: Sequence[Talk]) -> dict[str, str]:
    """Add conversations to the engine, and run its background work. Return a mapping from message id to turn id."""
    turns: dict[str, str] = {}
    for talk in talks:
        clock.set(talk.at)
        engine.trust_clock()  # weeks pass between two conversations
        with engine.session(user=user) as session:
            for turn in talk.turns:
                turns[session.add(turn.role, turn.text, at=clock.advance(_BETWEEN_TURNS)).id] = turn.id
        engine.drain()
    while services(engine).embedding.catch_up(limit=256):
        pass
    return turns


def _ask(engine: Engine, person: Person, question: Question, turns: dict[str, str], size: int) -> Outcome:
    hits = engine.recall(question.text, user=person.id, limit=10)
    block = engine.session(user=person.id).context(question.text, max_tokens=BLOCK_TOKENS)
    shown = [hit for hit in block.hits if not (hit.memory and hit.memory.pinned)]  # pinned memories claim no relevance
    ranks = [rank for rank, hit in enumerate(hits, 1) if _answers(hit, question, turns)]
    fair = question.answer | question.related
    return Outcome(
        person=person.id,
        language=person.language,
        size=size,
        question=question,
        rank=ranks[0] if ranks else None,
        in_block=any(_answers(hit, question, turns) for hit in block.hits),
        claims_answer=any(block_words(language).relevant in block.text.splitlines() for language in ("en", "es")),
        lines=len(shown),
        unrelated=sum(not fair & _turns_of(hit, turns) for hit in shown),
        scores=[hit.score for hit in hits],
        shown=[hit.text for hit in shown],
    )


def _turns_of(hit: Hit, turns: dict[str, str]) -> set[str]:
    """Return the turns that a hit comes from."""
    ids = [hit.message.id] if hit.message else list(hit.memory.sources) if hit.memory else []
    return {turns[id] for id in ids if id in turns}


def _answers(hit: Hit, question: Question, turns: dict[str, str]) -> bool:
    """Return True if a hit comes from a turn that answers the question, and its text contains the necessary words."""
    if not question.answer & _turns_of(hit, turns):
        return False
    text = fold(f"{hit.message.asked or '' if hit.message else ''} {hit.text}")
    return all(any(fold(spelling) in text for spelling in spellings) for spellings in question.says)
