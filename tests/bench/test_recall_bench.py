"""Tests of the recall benchmark: reading data sets, ranking turns, and scoring by evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.opening import open_engine
from holdfast.errors import InvalidInput, ModelError
from holdfast.testing import HashEmbedder
from holdfast_bench.recall.benchmark import keep, run
from holdfast_bench.recall.datasets import Conversation, Dataset, Question, load
from holdfast_bench.recall.scores import Abstention, score, table

NOTHING: dict[int, list[str]] = {1000: [], 4000: []}
OWN_FORMAT: list[dict[str, Any]] = [
    {
        "id": "c1",
        "sessions": [
            {
                "id": "S1",
                "at": "2024-05-08T13:56:00",
                "turns": [
                    {"id": "D1:1", "speaker": "Caroline", "text": "I adopted a parrot called Basil."},
                    {"id": "D1:2", "speaker": "Melanie", "text": "Lovely! I painted a lighthouse."},
                ],
            },
            {
                "id": "S2",
                "at": "2024-06-01T10:00:00",
                "turns": [{"id": "D2:1", "speaker": "Caroline", "text": "We flew to Oslo."}],
            },
        ],
        "questions": [
            {"id": "q1", "category": "single-hop", "text": "What is Caroline's parrot called?", "evidence": ["D1:1"]},
            {"id": "q2", "category": "temporal", "text": "Who painted a lighthouse in May?", "evidence": ["D1:2"]},
            {"id": "q3", "category": "adversarial", "text": "Does Melanie have a parrot?", "evidence": ["D1:1"]},
        ],
    }
]
LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kite"}],
        },
        "qa": [{"question": "What did Ana show?", "evidence": ["D1:1"], "category": 4}],
    }
]
LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "x1",
        "question_type": "multi-session",
        "question": "Where did I fly?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s1"],
        "haystack_sessions": [[{"role": "user", "content": "I flew to Oslo."}]],
        "answer_session_ids": ["s1"],
    }
]


def saved(folder: Path, data: Any) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps(data), "utf-8")
    return path


@pytest.mark.ledger("X16")
def test_a_run_ranks_the_turns_that_answer_and_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.jsonl"
    run(saved(tmp_path, OWN_FORMAT), out=out, embedder="none")
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2", "q3"]
    assert lines[0]["ranked"][0] == "D1:1"
    assert lines[1]["ranked"][0] == "D1:2", "the day's month is part of what is searched"
    printed = capsys.readouterr().out
    assert "R@10" in printed
    assert "adversarial" in printed


def test_scores_are_shares_of_the_evidence() -> None:
    conversation = Conversation(id="t", sessions=(), questions=())
    asked = Question(id="q", category="", text="", evidence=("a", "b"))
    values = score(
        Dataset(name="d", conversations=(conversation,)), conversation, asked, ["x", "a"], {1000: ["x"], 4000: ["x", "a"]}
    ).values
    assert (values["R@5"], values["all@5"], values["MRR"]) == (0.5, 0.0, 0.5)
    assert (values["in 1k"], values["in 4k"]) == (0.0, 0.5)


def test_questions_of_other_conversations_measure_abstention() -> None:
    text = str(Abstention(own=(0.9, 0.8, 0.4), foreign=(0.3, 0.6)))
    assert "83%" in text, "of the six pairs, one is the wrong way round"
    assert "67% of own, 50% of foreign questions" in text


def test_adversarial_questions_are_scored_separately() -> None:
    conversation = Conversation(id="t", sessions=(), questions=())
    data = Dataset(name="d", conversations=(conversation,))
    rows = [
        score(data, conversation, Question(id="1", category="adversarial", text="", evidence=("a",)), [], NOTHING),
        score(data, conversation, Question(id="2", category="other", text="", evidence=("a",)), ["a"], NOTHING),
    ]
    assert table(rows).as_data()["all"]["R@5"] == 1.0


@pytest.mark.ledger("X16")
@pytest.mark.parametrize(
    ("data", "said"), [(LOCOMO, "Look! [shows a red kite]"), (LONGMEMEVAL, "I flew to Oslo.")], ids=["locomo", "longmemeval"]
)
def test_the_published_datasets_are_read_unchanged(tmp_path: Path, data: Any, said: str) -> None:
    (conversation,) = load(saved(tmp_path, data)).conversations
    assert conversation.sessions[0].turns[0].text == said
    assert conversation.sessions[0].at.year == 2023
    assert conversation.questions[0].evidence or conversation.questions[0].sessions


@pytest.mark.parametrize("data", [{"nothing": 1}, [{"strange": True}], 7])
def test_a_file_in_an_unknown_format_is_refused(tmp_path: Path, data: Any) -> None:
    with pytest.raises(InvalidInput, match="not in a known format"):
        load(saved(tmp_path, data))


class _FailingEmbedder(HashEmbedder):
    """An embedder that cannot embed some documents."""

    def embed(self, texts, *, role):  # type: ignore[no-untyped-def]
        if role == "document" and any("parrot" in text for text in texts):
            raise ModelError("out of memory")
        return super().embed(texts, role=role)


def test_nothing_is_measured_if_a_text_has_no_vector(tmp_path: Path) -> None:
    dataset = tmp_path / "own.json"
    dataset.write_text(json.dumps(OWN_FORMAT))
    conversation = load(dataset).conversations[0]
    with (
        open_engine(tmp_path / "memory.db", embedder=_FailingEmbedder("failing"), worker="none") as memory,
        pytest.raises(ModelError, match="3 texts have no vector"),
    ):
        keep(memory, conversation)
