"""The dashboard in Spanish, in a real browser: texts that the server writes follow the language of the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.settings import Settings
from tests.server.dashboard.support import SECTIONS, Visitor, visit
from tests.server.http_support import Served, serving

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server whose reranker is misconfigured, and whose store every user of the machine can read."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "store", settings=Settings(reranker="chat")) as found:
        for path in (tmp_path / "store").glob("*.db"):
            path.chmod(0o644)
        yield found


@pytest.fixture
def ana(browser: Any, served: Served) -> Iterator[Visitor]:
    visitor = visit(browser, served.url, language="es-ES", size=(1280, 800))
    yield visitor
    visitor.context.close()
    assert not visitor.faults


def _english(page: Visitor) -> list[str]:
    """Return the texts of the page that are marked as English, because they have no translation."""
    found: list[str] = page.page.locator("#main [lang=en]").all_inner_texts()
    return found


def test_the_health_page_is_in_spanish_with_its_causes_and_remedies(ana: Visitor, served: Served) -> None:
    report = served.client.get("/v1/doctor", params={"deep": True}).json()
    assert not report["ok"]
    ana.go("admin/health")
    ana.click("[data-action=deep]")
    ana.see(".check-row", has_text="Sumas de comprobación de los recuerdos")
    shown = ana.see("#main").inner_text()
    assert "Todos los usuarios de este equipo pueden leer el almacén" in shown
    assert "comprueba también las copias de seguridad" in shown
    assert "no hay ningún modelo de chat configurado" in shown
    for item in report["items"]:
        for part in ("detail", "remedy"):
            assert item[part] is None or item[f"{part}_code"] or item[part] in ("on", "off"), item
            if item[part] and " " in item[part] and item["check"] != "sqlite":
                assert item[part] not in shown
    assert _english(ana) == []


def test_a_damaged_file_is_rejected_in_spanish_by_the_dry_run_of_an_import(ana: Visitor) -> None:
    ana.go("admin/data")
    for name, content, expected in (
        (
            "notas.jsonl",
            b'{"type": "holdfast-export", "version": 1}\n{"type": \n',
            "notas.jsonl, línea 2: la línea no contiene JSON válido",
        ),
        ("vacio.txt", b"", "El archivo está vacío. No se importó nada."),
        ("datos.bin", b"\x00\x01\x02", "No se reconoció el formato de datos.bin"),
    ):
        ana.see("input[type=file]").set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
        ana.click("[data-action=dry-run]")
        assert expected in ana.see(".import-result .problem", has_text=expected).inner_text()
        assert _english(ana) == []


def test_a_notice_of_a_recall_is_in_spanish(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MODELS", str(tmp_path / "no models"))
    with serving(tmp_path / "store", embedder="all-minilm-l6-v2") as served:
        served.client.post("/v1/memories", json={"text": "Vive en Lyon", "user": "ana"})
        notice = served.client.post("/v1/recall", json={"query": "Lyon", "user": "ana"}).json()
        assert notice["notices"][0].startswith("Searched by words only: ")
        assert notice["notice_codes"][0]["code"] == "notice.words_only"
        page = visit(browser, served.url, language="es-ES")
        page.go("memories?q=Lyon")
        shown = page.see(".notice").inner_text()
        assert shown.startswith("Se buscó solo por palabras: Los pesos de all-minilm-l6-v2 no están en este equipo")
        assert _english(page) == []
        page.context.close()
        assert not page.faults


def test_the_tabs_of_the_administration_fit_one_line(ana: Visitor) -> None:
    for section in SECTIONS:
        ana.go(f"admin/{section}")
        size = ana.page.evaluate("() => { const n = document.querySelector('.subnav'); return [n.scrollWidth, n.clientWidth]; }")
        assert size[0] <= size[1], section
    tops = ana.page.evaluate("() => [...document.querySelectorAll('.subnav a')].map((a) => a.getBoundingClientRect().top)")
    assert len(set(tops)) == 1


def test_the_buttons_of_the_chat_fit_one_line(ana: Visitor) -> None:
    ana.go("chat")
    ana.say("Mi hermana Clara vive en Oaxaca.")
    end = ana.see(".chat-bar [data-action=end]")
    assert end.bounding_box()["height"] < 45
