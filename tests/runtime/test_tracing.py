"""Tracing: spans follow OpenTelemetry's conventions, and listeners get durations. Neither contains private text."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.runtime.tracing import listen

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
exporting = pytest.importorskip("opentelemetry.sdk.trace.export")
in_memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.fixture(scope="module")
def provider() -> Any:
    """The tracer provider of this process. OpenTelemetry accepts only one provider, so another test may have set it."""
    provider = sdk.TracerProvider()
    trace.set_tracer_provider(provider)
    return trace.get_tracer_provider()


@pytest.fixture
def spans(provider: Any) -> Iterator[Any]:
    exporter = in_memory.InMemorySpanExporter()
    provider.add_span_processor(exporting.SimpleSpanProcessor(exporter))
    yield exporter.get_finished_spans
    exporter.shutdown()


def test_remembering_recalling_and_forgetting_are_spans_named_by_the_conventions(memory: Engine, spans: Any) -> None:
    kept = memory.remember("prefers tea", key="drink", user="ana")
    memory.recall("tea", user="ana")
    memory.forget(kept.id, user="ana")
    assert [(span.name, span.attributes["holdfast.operation"]) for span in spans()] == [
        ("upsert_memory", "remember"),
        ("search_memory", "recall"),
        ("delete_memory", "forget"),
    ]
    assert all(span.attributes["gen_ai.operation.name"] == span.name for span in spans())
    assert [span.attributes["gen_ai.memory.record.count"] for span in spans()] == [1, 1, 1]
    assert spans()[0].attributes["gen_ai.memory.record.id"] == kept.id


def test_a_recall_for_a_context_is_a_span_within_it(memory: Engine, spans: Any) -> None:
    memory.remember("prefers tea", user="ana")
    memory.context("tea", user="ana")
    recalled, context = spans()[-2:]
    assert (recalled.attributes["holdfast.operation"], context.attributes["holdfast.operation"]) == ("recall", "context")
    assert recalled.parent.span_id == context.context.span_id


def test_a_digestion_is_recorded_as_a_span(memory: Engine, spans: Any) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "I live in Lisbon and I work as a baker.")
    talk.end()
    memory.drain()
    assert "digest" in [span.attributes["holdfast.operation"] for span in spans()]


def test_no_text_is_in_a_span(memory: Engine, spans: Any) -> None:
    talk = memory.session(user="ana-maria")
    talk.add("user", "My xylophone is purple.")
    talk.context()
    talk.end()
    memory.drain()
    memory.remember("plays the xylophone", user="ana-maria")
    memory.recall("xylophone", user="ana-maria")
    with pytest.raises(InvalidInput):
        memory.remember("xylophone", kind="xylophone", user="ana-maria")
    told = "".join(span.to_json() for span in spans())
    assert "xylophone" not in told
    assert "ana-maria" not in told


def test_an_error_is_identified_by_its_code(memory: Engine, spans: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.remember("tea", kind="dream")
    (span,) = spans()
    assert span.attributes["error.type"] == "invalid_input"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert not span.status.description
    assert not span.events


def test_a_listener_is_called_for_each_operation_until_it_is_removed(memory: Engine) -> None:
    heard: list[str] = []
    stop = listen(lambda operation, seconds: heard.append(operation) if seconds >= 0 else None)
    memory.remember("prefers tea")
    memory.context("tea")
    stop()
    memory.recall("tea")
    assert heard == ["remember", "recall", "context"]


@pytest.mark.long
def test_without_a_tracing_program_nothing_of_opentelemetry_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys, holdfast\n"
        "with holdfast.open(sys.argv[1], embedder='none', worker='none') as memory:\n"
        "    memory.remember('prefers tea'); memory.recall('tea')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "memory.db")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
