"""The Grafana dashboard shows only metrics that the server exposes."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client", reason="the extra server is not installed")

import holdfast
from holdfast.server.metrics import ServerMetrics, store_families

BOARD = json.loads((Path(__file__).parents[2] / "deploy" / "grafana.json").read_text("utf-8"))
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",), "info": ("_info",)}


def _known(memory: holdfast.Engine) -> set[str]:
    """Return the names of all samples that the server can expose."""
    server = ServerMetrics()
    families = [*server.registry().collect(), *store_families(memory)]
    server.close()
    return {family.name + suffix for family in families for suffix in SUFFIXES[family.type]}


@pytest.mark.ledger("X38")
def test_every_panel_shows_metrics_that_the_server_has(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, embedder="none", worker="none") as memory:
        known = _known(memory)
    used = {
        name for panel in BOARD["panels"] for target in panel["targets"] for name in re.findall(r"\bholdfast_\w+", target["expr"])
    }
    assert len(used) >= 10
    assert sorted(used - known) == []


def test_panels_have_their_own_ids_and_do_not_overlap() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (column, row)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < 24
