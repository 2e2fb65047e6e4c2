"""The extractors that presets choose from. Each has a model prompt and rules."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.learning.capture import Extractor
from holdfast.learning.capture_by_rules import extract_conclusions, extract_key_values, extract_statements, extract_typed_facts
from holdfast.learning.statements.statements import RULE_VERSION

FACT_TYPES: Final = ("personal", "preference", "knowledge", "event")
_TEXT: Final = {"type": "string", "minLength": 2, "maxLength": 400}
_KEY: Final = {"type": "string", "minLength": 1, "maxLength": 60}
_IMPORTANCE: Final = {"type": "number", "minimum": 0, "maximum": 10}


def _statement(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": item["kind"], "text": item["text"], "importance": item.get("importance")}


def _typed_fact(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "fact", "text": item["fact"], "metadata": {"type": item["type"]}}


def _key_value(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "fact", "key": item["key"], "text": item["value"]}


def _conclusion(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "conclusion", "text": item["conclusion"]}


STATEMENTS: Final = Extractor(
    name="statements",
    prompt="statements",
    fields={"text": _TEXT, "kind": {"type": "string", "enum": ["fact", "decision", "event"]}, "importance": _IMPORTANCE},
    required=("text", "kind"),
    text="text",
    defaults={"kind": "fact"},
    make=_statement,
    rules=extract_statements,
    version=RULE_VERSION,
)
"""Extractor of facts, decisions and events. The default preset uses it."""

TYPED_FACTS: Final = Extractor(
    name="typed_facts",
    prompt="typed_facts",
    fields={"fact": _TEXT, "type": {"type": "string", "enum": list(FACT_TYPES)}},
    required=("fact", "type"),
    text="fact",
    defaults={"type": "personal"},
    make=_typed_fact,
    rules=extract_typed_facts,
    version=RULE_VERSION,
    empty=[],
)
"""Extractor of standalone sentences in the third person, each with one of four types."""

KEY_VALUES: Final = Extractor(
    name="key_values",
    prompt="key_values",
    fields={"key": _KEY, "value": _TEXT},
    required=("key", "value"),
    text="value",
    defaults={},
    make=_key_value,
    rules=extract_key_values,
    version=RULE_VERSION,
    empty={"facts": []},
)
"""Extractor of lasting facts, each as a freely chosen key and a value."""

CONCLUSIONS: Final = Extractor(
    name="conclusions",
    prompt="conclusions",
    fields={"conclusion": _TEXT},
    required=("conclusion",),
    text="conclusion",
    defaults={},
    make=_conclusion,
    rules=extract_conclusions,
    version=RULE_VERSION,
    reads="all",
)
"""Extractor of conclusions, decisions and discoveries, including the assistant's observations that the user confirmed."""

EXTRACTORS: Final[Mapping[str, Extractor]] = {
    extractor.name: extractor for extractor in (STATEMENTS, TYPED_FACTS, KEY_VALUES, CONCLUSIONS)
}
