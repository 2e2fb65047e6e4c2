"""The preset of Rumi, a personal agent.

A fact consists of a freely chosen key and a value. Facts are extracted at the end of a session. The prompt shows all
facts, or only the relevant ones if there are more than 100.
"""

from datetime import timedelta

from holdfast.learning.capture_kinds import KEY_VALUES
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.presets.base import Preset, PromptLayout, RecallPlan, Section
from holdfast.types import Kind

RUMI = Preset(
    name="rumi",
    default_kind="fact",
    kinds=(Kind(name="fact", meaning="Algo estable del usuario: una clave libre y un valor en tercera persona", keyed="many"),),
    extractor=KEY_VALUES,
    reconcile_rules=ReconcileRules(normalize_keys=True),
    recall=RecallPlan(limit=100, kinds=("fact",)),
    layout=PromptLayout(sections=(Section(words="facts", source="all", kinds=("fact",), max_items=100),), language="es"),
    default_key="nota",
    unused_after=timedelta(days=365),
    context_tokens=1500,
)
