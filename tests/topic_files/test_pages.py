"""Topic pages and the index as text: rendering and parsing round-trip, and hand-written variants parse."""

import re
import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.learning.topics.page_names import file_name, is_page, name_key, topic_called
from holdfast.topic_files.index import note_line, parse_index, render_index, topic_and_note
from holdfast.topic_files.markdown import flat, page_line, parse_page, render_page
from holdfast.types import Memory, Scope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=1000).filter(str.strip)
PIECES = (
    "- |* |# |## |---|(2026-01-05)| (2025-13-40)|```|<!--|-->|\\|1. | |\n|\u200d|\u2028|café|🍳|e\u0301|\t|>|[ ] |===|x".split(
        "|"
    )
)
ODD = st.lists(st.sampled_from([*PIECES, "|"]), min_size=1).map("".join).filter(str.strip)


def memory(text: str, *, topic: str | None = "cooking", at: datetime = NOON, id: str = "mem_1", key: str | None = None) -> Memory:
    return Memory(
        id=id,
        scope=Scope(),
        kind="fact",
        text=text,
        topic=topic,
        key=key,
        created_at=at,
        updated_at=at,
        valid_from=at,
        recorded_at=at,
    )


@pytest.mark.ledger("R7")
def test_a_page_is_a_title_and_a_dated_line_for_each_memory_oldest_first() -> None:
    lines = [
        memory("Allergic to tree nuts", at=NOON, id="b"),
        memory("Prefers bomba rice for paella", at=NOON - timedelta(days=2), id="a"),
    ]
    assert render_page("cooking", lines) == (
        "# Cooking\n\n- Prefers bomba rice for paella (2026-02-27)\n- Allergic to tree nuts (2026-03-01)\n"
    )


def test_a_date_is_the_day_in_utc() -> None:
    late = datetime.fromisoformat("2026-03-01T23:30:00-05:00")
    assert page_line(memory("x", at=late)).at == "2026-03-02"


@pytest.mark.ledger("R7")
@given(st.one_of(TEXTS, ODD))
@example("met Ana (2026-01-05)")
@example("- - dashes")
@example("# hash")
@example("x" * 1000)
def test_written_text_is_read_back_unchanged(text: str) -> None:
    page = parse_page(render_page("cooking", [memory(text), memory("another one", id="mem_2")]))
    assert [(line.text, line.at) for line in page.lines] == [(flat(text), "2026-03-01"), ("another one", "2026-03-01")]
    assert page.title == "Cooking"


@given(st.one_of(TEXTS, ODD), st.one_of(TEXTS, ODD))
@example("a|b", "c|d")
@example("a\\", "|")
def test_the_written_index_is_read_back_unchanged(topic: str, text: str) -> None:
    note = memory(text, topic=topic)
    (line,) = parse_index(render_index([note])).lines
    assert (line.text, line.at) == (note_line(note).text, "2026-03-01T12:00:00")
    assert topic_and_note(line.text) == (flat(topic), flat(text))


@pytest.mark.parametrize(
    ("typed", "text", "at"),
    [
        ("* Likes tea (2026-02-01)", "Likes tea", "2026-02-01"),
        ("+ Likes tea", "Likes tea", None),
        ("Likes tea", "Likes tea", None),
        ("  - Likes tea (2026/2/1)  ", "Likes tea", "2026-02-01"),
        ("12. Likes tea", "Likes tea", None),
        ("• Le gusta el té (2026-02-01)", "Le gusta el té", "2026-02-01"),
        ("- Likes\n  tea (2026-02-01)", "Likes tea", "2026-02-01"),
        ("- Likes tea (2026-02-31)", "Likes tea (2026-02-31)", None),
        ("- (2026-02-01)", "(2026-02-01)", None),
    ],
)
def test_a_line_may_be_typed_in_many_ways(typed: str, text: str, at: str | None) -> None:
    (line,) = parse_page(f"# Tea\n\n{typed}\n").lines
    assert (line.text, line.at) == (text, at)


def test_markdown_layout_is_not_parsed_as_memories() -> None:
    page = parse_page(
        "---\ntags: x\n---\n# Tea\n\n## Green\n\n- Sencha\n\n***\n<!-- not\n this -->\n```\ncode\n```\n| a | b |\n- \n- Oolong\n"
    )
    assert [line.text for line in page.lines] == ["Sencha", "Oolong"]
    assert page.title == "Tea"


def test_an_unclosed_code_block_or_comment_hides_no_line() -> None:
    assert [line.text for line in parse_page("# Tea\n```\n- Sencha\n<!-- oh\n- Oolong\n").lines] == ["Sencha", "Oolong"]


@pytest.mark.parametrize(
    "text", ["Tea\n===\n\n- Sencha\n", "\ufeff# Tea\r\n- Sencha\r\n".removeprefix("\ufeff"), "#Tea\n- Sencha"]
)
def test_a_title_may_be_typed_in_many_ways(text: str) -> None:
    assert parse_page(text).title == "Tea"


@pytest.mark.ledger("R9")
def test_the_index_lists_the_newest_twenty() -> None:
    notes = [memory(f"talk {n}", at=NOON + timedelta(hours=n), id=f"m{n}") for n in range(25)]
    rows = render_index(notes).splitlines()
    assert len(rows) == 20
    assert rows[0] == "2026-03-02T12:00:00|cooking|talk 24"


@pytest.mark.parametrize(
    "topic",
    [
        "../../etc/passwd",
        "CON",
        "con.md",
        "a/b",
        "a\\b",
        "C:",
        ".hidden",
        "🍕",
        "index",
        "README",
        "..",
        "/",
        "a" * 500,
        "ñ" * 300,
        "nul\0byte",
        "line\nbreak",
        "LPT¹",
        "comida picante",
        "~",
        "-",
        "\u202egpj",
        "📁/../x",
    ],
)
def test_a_file_name_is_one_plain_part_on_every_system(topic: str) -> None:
    name = file_name(topic)
    stem = name.removesuffix(".md")
    assert name.endswith(".md")
    assert is_page(name)
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f.]', stem)
    assert len(name.encode()) <= 125
    assert stem not in {"con", "nul", "prn", "aux", "index", "readme", "lpt¹", ""}
    assert stem.strip(string.whitespace) == stem


@given(st.text(min_size=1, max_size=600))
def test_no_topic_name_leads_out_of_the_folder(topic: str) -> None:
    name = file_name(topic)
    assert is_page(name)
    assert not set(name) & set('/\\:*?"<>|\0')
    assert len(name.encode()) <= 125


def test_two_topics_never_share_a_file() -> None:
    topics = ["a/b", "a-b", "A-B", "a b", "x" * 200 + "1", "x" * 200 + "2", "café", "cafe\u0301!"]
    names: list[str] = []
    for topic in topics:
        names.append(file_name(topic, names))
    assert len({name_key(name) for name in names}) == len(topics)


@pytest.mark.parametrize(
    ("title", "topic"), [("Cooking rice", "cooking-rice"), ("COOKING", "Cooking!"), ("Viajes a Perú", "viajes-a-perú")]
)
def test_a_title_means_a_known_topic_or_a_new_one(title: str, topic: str) -> None:
    assert topic_called(title, ["cooking-rice", "Cooking!"]) == topic
