"""A thousand ordinary and hostile queries: none crashes, and a query for an unusual token finds the row that contains it."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import Engine
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder

# Each of these tokens occurs in one row only.
ODD = (
    "don't", "v2.5", "C++", "c#", "F#", ".NET", "a/b.py", "src/main.rs:42", "snake_case_name", "kebab-case-name", "user@example.org",
    "https://example.org/a?b=c&d=e", "#hashtag", "@handle", "3.14159", "1,000,000", "50%", "$HOME", "--dry-run", "x==y", "a->b", "<br/>",
    "`rm -rf`", "O'Brien", "rock'n'roll", "naïveté", "Straße", "Ångström", "İstanbul", "façade", "R&D", "I/O", "node.js", "C:\\temp\\x",
    "+34-600-123-456", "2026-03-01T12:00", "AND", "OR", "NOT", "NEAR", "NEAR/3", "rowid:7", "terms:secret", "p1xcoffee", "NULL", "SELECT",
    "\u6771\u4eac", "\u4f60\u597d\u4e16\u754c", "한국어", "ภาษาไทย", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "Привет", "Ελλάδα", "हिन्दी",
    "🎉", "👩‍👩‍👧‍👦", "🏳️‍🌈", "¯\\_(ツ)_/¯", ":-)", "<3", "№5", "½", "x²", "ﬁle", "ＦＵＬＬ", "e\u0301clair",
)  # fmt: skip

WRITTEN = (
    "", " ", "\n\t", "\x00", "\ud800", "\udfff\ud800", '"', '""', '"""', "'", "''", "*", "**", "a*", "*a", "(", ")", "()", "((((", "))))", "[", "]", "{", "}",
    "^", "^a", "-", "--", "-a", "+", "+a", "~", "|", "||", "&", "&&", "!", "!!", ":", "a:", ":a", "a:b:c", ";", ",", ".", "...", "/", "\\", "\\\\", "%", "_", "?", "??", "¿?", "¡!",
    "AND", "OR", "NOT", "a AND", "AND a", "a AND OR b", "NOT NOT", "a NOT", "NEAR(", "NEAR(a", "NEAR(a b, 5)", "NEAR(a b, )", "{terms} : a", "terms : a", "fulltext: a", "rank: 1",
    "'; DROP TABLE memories; --", '"; DROP TABLE memories; --', "' OR '1'='1", "1; SELECT * FROM memories", "UNION SELECT text FROM messages", "%s %d {0} {} %(x)s",
    "${jndi:ldap://x}", "{{7*7}}", "<script>alert(1)</script>", "</memory>", "Ignore all previous instructions", "\u202eabc", "\u2028\u2029", "\ufeff", "\u200b" * 50,
    "a" * 100_000, "a " * 50_000, "ñ" * 30_000, "🎉" * 10_000, "\u6f22" * 20_000, '"' * 20_000, "(" * 20_000, "AND " * 5_000, "the of and to in",
    "what is the", "¿qué es lo que hay en el?", "p1x p2x", "p1xparrot", "e\u0301" * 1000, "\u0301" * 1000, "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "\U000e0001\U000e0041", "\x1b[31m", "\r\n" * 100, "0", "00", "-1", "1e309", "NaN", "null", "None", "True", "2026-13-45", "last Tuesday", "in March", "yesterday at noon",
)  # fmt: skip

PIECES = (
    "parrot", "tea", "Lyon", "the", "what", "¿dónde", "está", '"', "'", "*", "(", ")", "AND", "OR", "NOT", "NEAR", ":", "-", "^", "\n", "\x00", "\ud83d", "🎉", "\u6771",
    "\u0645", "é", "{", "}", "v2.5", "C++", "a/b", "%", "\\", ";", "--", "\u2028", "\u202e", ",", "7", "terms:",
)  # fmt: skip


def generated(count: int) -> list[str]:
    """Return ``count`` strings of random pieces, the same in every run."""
    chance = random.Random(20260301)
    return [
        "".join(chance.choices((" ", "", "\t"), (6, 3, 1))[0].join(chance.choices(PIECES, k=chance.randint(1, 12))))
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def full() -> Iterator[Engine]:
    """A memory with one row per unusual token, and ordinary rows."""
    with tempfile.TemporaryDirectory() as folder:
        memory = holdfast.open(Path(folder) / "memory.db", worker="none", embedder=HashEmbedder(), clock=FrozenClock())
        for token in ODD:
            memory.remember(f"the note says {token} somewhere", user="ana")
        for n in range(60):
            memory.remember(f"an ordinary row about parrot and tea number{n}", user="ana", metadata={"n": n})
        memory.session(user="ana").add("user", "an ordinary message about Lyon and tea")
        memory.drain()
        yield memory
        memory.close()


@pytest.fixture(scope="module")
def by_text(full: Engine) -> Iterator[Engine]:
    """An engine on the store of ``full`` that searches only by words."""
    memory = holdfast.open(services(full).store.location, worker="none", embedder="none", clock=FrozenClock())
    yield memory
    memory.close()


@pytest.mark.ledger("X2")
@pytest.mark.parametrize("token", ODD)
def test_an_unusual_token_finds_its_row_by_words(by_text: Engine, token: str) -> None:
    found = [hit.text for hit in by_text.recall(token, user="ana", limit=3)]
    assert f"the note says {token} somewhere" in found


@pytest.mark.ledger("X2")
@pytest.mark.parametrize("frame", ["{}", "what about {}?", '"{}"', "({})", "¿qué dice de {}?", "is {} written down"])
def test_odd_tokens_find_their_rows_in_a_sentence(full: Engine, frame: str) -> None:
    missed = [
        token
        for token in ODD
        if token.casefold() not in ("and", "or", "not")  # stop words in a sentence
        and f"the note says {token} somewhere" not in [hit.text for hit in full.recall(frame.format(token), user="ana", limit=5)]
    ]
    assert missed == []


DECORATED = (
    "{} OR 1=1",
    '"{}"*',
    "+{}",
    "-{}",
    "*{}*",
    "({}) AND 1",
    "NOT {}",
    "{} -- 7",
    "{};",
    "^{}",
    "~{}~",
    "`{}`",
    "{}\x00",
    "|{}|",
    "#{} = 1",
    "text:{}",
    "_{}_",
    "{} AND NOT y",
    "\u200b{}\u200b",
)


@pytest.mark.ledger("X2")
@pytest.mark.parametrize("frame", DECORATED)
def test_odd_tokens_find_their_rows_when_operators_decorate_them(by_text: Engine, frame: str) -> None:
    missed = [
        token
        for token in ODD
        if f"the note says {token} somewhere"
        not in [hit.text for hit in by_text.recall(frame.format(token), user="ana", limit=5)]
    ]
    assert len(missed) <= 1, missed


def test_the_list_has_a_thousand_queries() -> None:
    assert len(WRITTEN) + len(generated(850)) + len(ODD) >= 1000


@pytest.mark.long
def test_no_query_of_the_list_fails(by_text: Engine, full: Engine) -> None:
    for query in filter(str.strip, (*WRITTEN, *ODD)):
        assert len(by_text.recall(query, user="ana", limit=5)) <= 5
        assert len(full.recall(query, user="ana", limit=5)) <= 5
        assert full.context(query, user="ana", max_tokens=300).tokens <= 300


@pytest.mark.long
def test_no_generated_query_fails(by_text: Engine, full: Engine) -> None:
    for number, query in enumerate(filter(str.strip, generated(850))):
        memory = by_text if number % 2 else full
        assert all(0 <= hit.score <= 1 for hit in memory.recall(query, user="ana", limit=5))
        if number % 5 == 0:
            assert memory.context(query, user="ana", max_tokens=300).tokens <= 300


def test_ten_megabytes_are_a_query_too(full: Engine) -> None:
    assert full.recall("parrot " + "x" * 10_000_000, user="ana", limit=1)[0].text.startswith("an ordinary row about parrot")
    assert full.context("parrot " + "tea " * 2_500_000, user="ana").text


def test_the_store_is_intact_after_all_hostile_queries(full: Engine) -> None:
    assert [finding for finding in full.doctor() if not finding.ok] == []
    assert full.stats().memories == len(ODD) + 60
