"""A store that looks like one in use: eight people, conversations of three years, topics, apps, traces, jobs, spend and a proposal.

The screenshots show this store. To look at it yourself, run ``python -m tests.server.dashboard.scene FOLDER [MEMORIES]``, then
``HOLDFAST_HOME=FOLDER holdfast serve``.
"""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import holdfast
from holdfast.background.jobs import new_job
from holdfast.engine import Engine
from holdfast.services import services
from holdfast.testing.samples import a_memory, remember
from holdfast.types import Author, Put, Scope, Spend
from holdfast.write import Writer

PEOPLE = ("ana", "Bruno Oliveira", "Chidi", "Dalia Haddad", "أمينة", "Frida", "Grigori", "Hye-jin")
AREAS = (
    ("fact", "Buys bread at the bakery in {place} street on day {n} of the month"),
    ("event", "Met {friend} in {place} for lunch number {n}"),
    ("decision", "Likes the {n}th seat of a row in the theatre of {place}"),
    ("fact", "{friend} keeps {n} bees on a roof in {place}"),
)
FRIENDS = ("Marek", "Odile", "Tomás", "Yuki", "Leila")
PLACES = ("Porto", "Kyoto", "Lyon", "Tartu", "Oaxaca")
LIFE = (
    (1100, "profile", "home", "Lives in Porto"),
    (1000, "profile", "job", "Works as a nurse at the children's hospital"),
    (900, "profile", "home", "Lives in Braga"),
    (500, "profile", "job", "Teaches nursing at the university of Minho"),
    (480, "fact", None, "Prefers window seats on trains"),
    (300, "profile", "home", "Lives in Lyon"),
    (200, "fact", None, "Is allergic to walnuts"),
    (120, "profile", "drink", "Drinks her coffee without sugar"),
    (30, "decision", None, "Answers should be short and without lists"),
)
TALKS = (
    (400, "I finished the night shift. Odile covered for me again.", "Sleep well. Shall I move the call with Marek?"),
    (210, "My sister Clara moved to Oaxaca with her son Tomás.", "How old is Tomás now?"),
    (45, "We looked at a flat near the river in Lyon, and Odile liked it.", "Which floor is it on?"),
    (6, "I started learning the cello with Leila on Thursdays.", "A fine instrument. Do you rent one?"),
    (1, "Clara is visiting from Oaxaca next week and she doesn't eat meat.", "Noted. Shall I look for a restaurant?"),
)
QUESTIONS = ("Where do I live?", "Which restaurant suits Clara?", "What instrument do I play?")


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids that the addresses of single pages need."""

    memory: str
    session: str
    trace: str


def fill_store(folder: Path, memories: int = 200) -> Ids:
    """Create the store in a folder, with about ``memories`` memories."""
    with closing(holdfast.open(folder / "memory.db", worker="none", embedder="none")) as memory:
        now = datetime.now(UTC)
        for name in PEOPLE[1:]:
            memory.remember(f"Speaks {len(name)} languages", user=name)
        _crowd(memory, memories, now)
        for days, kind, key, text in LIFE:
            found = memory.remember(text, user="ana", kind=kind, key=key, valid_from=now - timedelta(days=days))
        for title, lines in (
            ("Kitchen", ("The oven runs hot", "Knives go left")),
            ("Cello", ("Rents it from Leila", "Thursdays at six")),
        ):
            for line in lines:
                memory.remember(line, user="ana", topic=title)
        memory.remember("Meets the quartet on Mondays", user="ana", app="calendar")
        _talks(memory, now)
        memory.drain()
        _administration(memory, now)
        with memory.session(user="ana") as talk:
            for question in QUESTIONS:
                talk.add("user", question)
                trace = talk.context(question).trace
                talk.add("assistant", "Let me think about what I know.")
            memory.revise(found.id, "Answers should be short, without lists, and in plain words")
            return Ids(memory=found.id, session=talk.id, trace=trace or "")


def _crowd(memory: Engine, count: int, now: datetime) -> None:
    """Store many memories of all people over three years."""

    def texts() -> Iterator[tuple[int, str, str]]:
        for n in range(count):
            kind, text = AREAS[n % len(AREAS)]
            yield n, kind, text.format(n=n, place=PLACES[n % 5], friend=FRIENDS[(n // 5) % 5])

    made = [
        a_memory(
            text,
            id=f"mem_scene{n}",
            kind=kind,
            scope=Scope(tenant="default", user=PEOPLE[1 + n % 7]),
            valid_from=now - timedelta(hours=(n * 37) % 26_000),
        )
        for n, kind, text in texts()
    ]
    for start in range(0, count, 1000):
        remember(services(memory).store, *made[start : start + 1000])


def _talks(memory: Engine, now: datetime) -> None:
    for days, said, answered in TALKS:
        began = now - timedelta(days=days)
        with memory.session(user="ana") as talk:
            talk.add("user", said, at=began)
            talk.add("assistant", answered, at=began + timedelta(minutes=1))


def _administration(memory: Engine, now: datetime) -> None:
    """Add a failed job, a proposal, and spend over days."""
    parts = services(memory)
    with parts.store.write() as tx:
        job = new_job("digest", {"session": "ses_gone", "upto": 3}, effect="digest:gone:3", now=now)
        tx.add_job(replace(job, state="dead", attempt=5, error="ollama:llama3.2 did not answer within 240 s"))
        writer = Writer(tx=tx, preset=parts.preset, author=Author(actor="digest"), now=now)
        scope = Scope(tenant="default", user="ana")
        writer.apply([Put(scope=scope, kind="profile", key="home", text="Lives in Turin", trust=0.2)])
        for days in range(0, 25, 2):
            day = f"{now - timedelta(days=days):%Y-%m-%d}"
            for model, calls in (("openai:gpt-4o-mini", 40 - days), ("ollama:llama3.2", 8 + days)):
                cost = calls * 0.004 if model.startswith("openai") else 0.0
                tx.add_spend(
                    Spend(
                        day=day,
                        purpose="chat",
                        model=model,
                        calls=calls,
                        input_tokens=900 * calls,
                        output_tokens=60 * calls,
                        seconds=calls,
                        cost=cost,
                    )
                )


if __name__ == "__main__":
    home = Path(sys.argv[1])
    home.mkdir(parents=True, exist_ok=True)
    print(fill_store(home, int(sys.argv[2]) if len(sys.argv) > 2 else 5000))  # noqa: T201  (a command)
