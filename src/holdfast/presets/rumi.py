"""Rumi, a personal agent: facts as a free key and a value, learnt when a session ends, all of them in the prompt."""

from datetime import timedelta

from holdfast.policies.captures import KEY_VALUES
from holdfast.policies.consolidate import ConsolidationRules
from holdfast.presets.base import Layout, Preset, RecallPlan, Section
from holdfast.types import Kind

RUMI = Preset(
    name="rumi",
    default_kind="fact",
    kinds=(Kind(name="fact", meaning="Algo estable del usuario: una clave libre y un valor en tercera persona", keyed="many"),),
    capture=KEY_VALUES,
    consolidation=ConsolidationRules(normalise_keys=True),
    recall=RecallPlan(limit=100, kinds=("fact",)),
    layout=Layout(sections=(Section(words="facts", source="all", kinds=("fact",), most=100),), language="es"),
    default_key="nota",
    unused_after=timedelta(days=365),
    context_tokens=1500,
)
