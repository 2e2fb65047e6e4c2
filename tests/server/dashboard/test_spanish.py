"""The dashboard in Spanish, in a real browser: texts that the server writes follow the language of the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.settings import Settings
from holdfast.services import services
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


def _fill(page: Visitor, selector: str, text: str) -> None:
    """Type into a field, and submit its form."""
    page.see(selector).fill(text)
    page.page.locator(f"form:has({selector.removeprefix('dialog ')}) button[type=submit]").last.click()


def _fail_in_many_ways(ana: Visitor, served: Served) -> Iterator[str]:
    """Do something that fails, and yield a part of the message that is expected. Repeat with other actions."""
    for route, expected in (
        ("memories/mem_nada", "No existe el recuerdo mem_nada"),
        ("sessions/ses_nada", "No existe la sesión ses_nada"),
        ("traces/trc_nada", "No existe la traza trc_nada"),
        ("topics/nada", "El tema «nada» no existe"),
    ):
        ana.go(route)
        yield expected
    ana.go("settings")
    _fill(ana, "input[list=zones]", "Marte/Olimpo")
    yield "«Marte/Olimpo» no es una zona horaria"
    kept = served.client.post("/v1/memories", json={"text": "Vive en Lyon", "user": "ana"}).json()
    ana.go(f"memories/{kept['id']}")
    served.client.delete(f"/v1/memories/{kept['id']}", params={"erase": True}).raise_for_status()
    ana.click("#main [data-action=forget]")
    yield f"No existe el recuerdo {kept['id']}"
    ana.go("admin/models")
    ana.click("[data-role=chat] [data-action=choose]")
    _fill(ana, "dialog input[type=text]", "nadie")
    yield "«nadie» no es un nombre de modelo válido"
    ana.page.keyboard.press("Escape")
    ana.go("admin/backups")
    (Path(services(served.pool.operator).store.location).parent / "backups").write_text("not a folder", "utf-8")
    ana.click("[data-action=backup]")
    yield "No se pudo escribir la copia de seguridad"
    bound, read = served.key("write", user="bruno"), served.key("read")
    ana.go("memories")
    yield "Se necesita una clave de acceso"
    for key, route, expected in (
        ("hf_falsa", "memories", "Esta clave no es válida"),
        (read, "admin/keys", "Esto requiere una clave de nivel admin; esta es de nivel read"),
        (bound, "memories", "«ana» no existe"),
        (bound, "stats", "esta clave está limitada a un usuario"),
    ):
        ana.go("settings")
        _fill(ana, "input[type=password]", key)
        ana.go(route)
        yield expected


CLIPPED = "() => [...document.querySelectorAll('.toast > span')].some((node) => node.scrollHeight > node.clientHeight + 1)"


def test_failed_actions_are_explained_in_spanish(ana: Visitor, served: Served) -> None:
    details: list[str] = []
    problem = "application/problem+json"
    ana.page.on(
        "response",
        lambda found: (
            details.append(found.json()["detail"]) if found.headers.get("content-type", "").startswith(problem) else None
        ),
    )
    count = 0
    for expected in _fail_in_many_ways(ana, served):
        ana.see(".problem, .toast.bad", has_text=expected)
        shown = ana.page.inner_text("body")
        assert [text for text in details if text in shown] == [], "a text of the server is shown in English"
        assert ana.page.locator("details.original").count() == 0, "a text of the server has no translation"
        assert _english(ana) == []
        assert not ana.page.evaluate(CLIPPED), "a notification hides a part of its text"
        count += 1
    assert count > 10
    assert len(details) > 10
