"""Reconcile new facts with known facts: repeated, changed, corrected or new."""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.config.models import make_sentence_reader
from holdfast.errors import ModelError
from holdfast.learning.changes.end_reason import replaces
from holdfast.learning.changes.reconcile import Neighbor, ReconcileRules, reconcile
from holdfast.learning.changes.sameness import CALIBRATIONS, DocumentCalibration, adds_nothing, is_near
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.services import services
from holdfast.testing.samples import ANA, AT, BOB, a_memory
from holdfast.text.clean import content_hash
from holdfast.text.language import detect_language
from holdfast.types import SAID_LATER, Memory, Put

PAIRS = tomllib.loads((Path(__file__).parent / "statement_pairs.toml").read_text("utf-8"))
LATER = AT + timedelta(days=9)
NEAR = 0.99


def _put(text: str, **more: object) -> Put:
    values: dict[str, object] = {"scope": ANA, "kind": "fact", "valid_from": LATER, "sources": ("msg_new",), **more}
    return Put(text=text, **values)  # type: ignore[arg-type]


def _told(old: Memory | list[Memory], *new: Put, cosine: float | None = None, **rules: object) -> list[Put]:
    memories = old if isinstance(old, list) else [old]
    related = [[Neighbor(memory=memory, cosine=cosine) for memory in memories] for _ in new]
    return reconcile(new, related, ReconcileRules(**rules), calibration=CALIBRATIONS["arctic-embed-s"])  # type: ignore[arg-type]


def _auto(text: str, **more: Any) -> Memory:
    return a_memory(text, **{"origin": "auto", **more})


@pytest.mark.ledger("X3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Portland", "I moved to Seattle last week"),
        ("The standup is at 9:30", "Standup is at 10 from now on"),
        ("The meeting with Ana is at 10", "The meeting with Ana is at 11"),
        ("La reunión es a las 10", "La reunión se pasó a las 12"),
        ("La entrega es el 12", "La entrega se aplazó al 14"),
        ("I live in Portland", "I live in Seattle now"),
        ("Vivo en Madrid", "Me mudé a Sevilla"),
        ("Trabajo en Acme", "ya no trabajo en Acme"),
        ("I work at Google", "I got a new job at Apple"),
        ("The user lives in Portland", "The user lives in Seattle"),
        ("ubicacion: vive en Lyon", "ubicacion: vive en París"),
        ("work: Google", "work: Microsoft"),
        ("I'm vegan", "I'm not vegan anymore"),
        ("I drive a Honda Civic", "I sold my car"),
        ("I drink coffee every morning", "I gave up coffee"),
        ("Fumo mucho", "Dejé de fumar"),
        ("I smoke", "I quit smoking"),
        ("I love mushrooms", "I can't stand mushrooms anymore"),
        ("My dentist appointment is on Tuesday at 3pm", "My dentist appointment got moved to Thursday"),
        ("My dentist appointment is on the 12th", "Actually it's the 14th, not the 12th"),
        ("La reunión es el lunes", "No, me equivoqué, es el martes"),
        ("Mi cita con el dentista es el martes a las 10", "La cita con el dentista se pasó al jueves"),
        ("My favorite color is blue", "My new favourite colour is green"),
        ("I have a dog named Rex", "My dog Rex died"),
        ("I'm 30 years old", "I just turned 31"),
        ("I use Vim for coding", "I switched from Vim to Emacs"),
        ("My flight leaves at 7am", "My flight was pushed to 9am"),
        ("Tengo 30 años", "Cumplí 31 ayer"),
        ("My girlfriend is called Marta", "We broke up"),
        ("I'm married", "I got divorced"),
        ("Soy soltera", "Me casé en junio"),
        ("My sister lives in Madrid", "My sister moved to Lisbon"),
        ("I play tennis on Saturdays", "I stopped playing tennis"),
        ("Toco la guitarra los jueves", "Ya no toco la guitarra"),
        ("I don't have a car", "I drive a Tesla"),
        ("My rent is 900 euros", "My rent went up to 950 euros"),
        ("My phone number is 555-1234", "My new number is 555-9876"),
        ("Mi color favorito es el azul", "Ahora mi color favorito es el verde"),
        ("I no longer like running", "I love running again"),
        ("I'm single", "I'm dating Sam"),
        ("I'm based in Denver", "We relocated to Austin for my husband's job"),
        ("Vivimos en Bogotá", "Acabamos de mudarnos a Medellín"),
        ("I've been working at Initech since 2019", "I just started at Globex"),
        ("I work as a barista", "I got promoted to shift manager"),
        ("Soy enfermera en el Hospital Clínico", "Ahora soy profesora"),
        ("I'm a teacher", "I retired last month"),
        ("Trabajo de camarero", "Conseguí un nuevo trabajo de cocinero"),
        ("Our wedding is on June 5", "We had to move the wedding to September 12"),
        ("El examen es el 12 de mayo", "El examen se aplazó al 19 de mayo"),
        ("The project deadline is Friday", "The project deadline has been extended to next Wednesday"),
        ("My flight to Rome is on the 3rd", "My flight to Rome was cancelled"),
        ("Mi vuelo sale a las 8", "Han retrasado mi vuelo a las 11"),
        ("My boss is Karen", "My new boss is Tom"),
        ("Mi jefe se llama Luis", "Mi nuevo jefe se llama Pedro"),
        ("I prefer to be called Alex", "Please call me Sasha from now on"),
        ("My email is a@x.com", "I changed my email to b@y.org"),
        ("My goal weight is 70 kg", "I changed my goal weight to 68 kg"),
        ("I'm studying at MIT", "I graduated from MIT"),
        ("I'm learning French", "I stopped learning French"),
        ("Estoy aprendiendo alemán", "Dejé de aprender alemán"),
        ("My editor is Vim", "My editor is now Helix"),
        ("I have a gym membership", "I cancelled my gym membership"),
        ("Soy vegetariana", "He vuelto a comer carne"),
        ("Me gusta el fútbol", "Ya no me gusta el fútbol"),
        ("Odio las aceitunas", "Ahora me encantan las aceitunas"),
        ("Tengo un perro llamado Toby", "Mi perro Toby murió"),
        ("Tengo coche", "Vendí mi coche"),
        ("I live with my parents in Leeds", "I moved to Manchester"),
        ("My best friend Tom lives in Oslo", "My best friend Tom moved to Bergen"),
        ("We use Postgres for the database", "We switched to SQLite for the database"),
        ("My daughter is 4 years old", "My daughter just turned 5"),
        ("I wake up at 6", "I no longer wake up at 6"),
        ("The user works at Acme", "The user left Acme"),
        ("El usuario trabaja en Acme", "El usuario dejó Acme"),
        ("El usuario está casado", "El usuario se divorció"),
        ("trabajo: profesor", "trabajo: director de escuela"),
        ("residencia: Lima", "ciudad: Cusco"),
        ("My timezone is CET", "My timezone is PST now"),
        ("I'm engaged to Sam", "Sam and I got married"),
        ("Mi dirección es Calle Mayor 5", "Mi nueva dirección es Avenida del Sol 12"),
        ("I take the bus to work", "I don't take the bus to work anymore"),
    ],
)
def test_a_change_retires_what_it_changes(old: str, new: str) -> None:
    assert replaces(old, new)


@pytest.mark.ledger("X3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Portland", "My sister lives in Seattle"),
        ("I live in Portland", "I'm visiting Seattle this week"),
        ("I live in Portland", "I live in Portland, Oregon"),
        ("I live in Spain", "I live in Madrid"),
        ("I live in Portland", "I used to live in Boston"),
        ("I live in Portland", "I might move to Seattle"),
        ("I work at Google", "I also volunteer at a shelter"),
        ("I have a dog named Rex", "I have a dog named Luna"),
        ("My flight is on Tuesday", "My flight is at 7am"),
        ("I love coffee", "I love tea"),
        ("I'm allergic to peanuts", "I'm allergic to shellfish"),
        ("My favorite color is blue", "My favorite food is pizza"),
        ("My favorite color is blue", "My wife's favorite color is green"),
        ("Mi hermana vive en Madrid", "Vivo en Sevilla"),
        ("Mi hermana Ana vive en Madrid", "Mi hermana Lucía vive en Sevilla"),
        ("I speak English", "I speak Spanish"),
        ("The meeting with Ana is at 10", "The meeting with Luis is at 11"),
        ("I work at Google", "I work as a designer"),
        ("My dog Rex is 5", "My dog Luna is 3"),
        ("I used to work at Acme", "I work at Google"),
        ("I moved to Lisbon", "I love Porto"),
        ("Trabajo en Acme", "Trabajaba en Initech"),
        ("Me gusta el café", "Me gusta el té"),
        ("I live in Portland", "My company moved to Seattle"),
        ("I like hiking", "I don't like crowds"),
        ("I live in Portland", "Sam told me he moved to Seattle"),
        ("I work at a startup", "I work at Stripe"),
        ("I work at Acme", "I work at a bank"),
        ("Trabajo en Acme", "Trabajo en un banco"),
        ("I visited Rome", "I visited Paris"),
        ("Quiero mudarme a Berlín", "Vivo en Madrid"),
        ("Vivo en Madrid", "Quiero mudarme a Berlín"),
        ("I quit smoking", "I quit sugar"),
        ("I eat sugar-free chocolate", "I no longer eat sugar"),
        ("My dentist appointment is on Tuesday", "My doctor appointment is on Thursday"),
        ("Mi hijo tiene 5 años", "Tengo 40 años"),
        ("I drive a Honda", "I drive to work"),
        ("I use Vim for coding", "I use Emacs for notes"),
        ("I'm a teacher", "My husband retired last month"),
        ("My flight to Rome is on the 3rd", "My flight back from Rome is on the 10th"),
        ("I have a gym membership", "I have a library membership"),
        ("My daughter Ana is 4 years old", "My daughter Eva just turned 7"),
        ("Mi jefe se llama Luis", "Mi vecino se llama Pedro"),
        ("The project deadline is Friday", "The report deadline is Monday"),
        ("I work at Acme", "I worked at Acme's London office in 2015"),
        ("I like running", "I like swimming"),
        ("Mi cita con el dentista es el martes", "Mi cita con el oculista es el jueves"),
        ("I'm based in Denver", "I grew up in Austin"),
        ("I live in Denver", "My parents moved to Austin"),
        ("My favorite movie is Alien", "My favorite movie director is Scott"),
        ("I'm learning French", "I'm learning German"),
        ("I'm a vegetarian", "My wife is vegan"),
        ("I have two kids", "I have two cats"),
        ("Mi hermano trabaja en Acme", "Trabajo en Initech"),
        ("I run every Monday", "I run every Thursday"),
        ("I have a meeting with Ana at 10", "I have a meeting with Bob at 11"),
        ("I use Python for data analysis", "I use Rust for services"),
        ("I drive a Honda", "My brother drives a BMW"),
        ("Vivo en Madrid", "Viví en París dos años"),
        ("Vivo en Madrid", "Estuve en París la semana pasada"),
        ("I play the guitar", "I play the piano too"),
        ("My favorite band is Radiohead", "I saw Radiohead live"),
        ("I'm allergic to nuts", "I'm not allergic to eggs"),
        ("I don't eat pork", "I don't eat beef"),
        ("I live in Madrid", "I live near the Retiro park in Madrid"),
        ("I work at Google in the Ads team", "I work at Google"),
        ("I love my job at Acme", "I love my new bike"),
        ("I moved from Portland to Seattle", "I live in Seattle"),
        ("We decided to use Postgres", "We decided to use Redis for the cache"),
        ("My sister is a nurse", "I'm a doctor"),
        ("I'm 35", "My car is 12 years old"),
        ("I sold my bike", "I sold my guitar"),
        ("I own a house", "I sold my boat"),
        ("La reunión es el lunes", "La reunión es a las 10"),
        ("My mom lives in Ohio", "My mom's sister lives in Texas"),
        ("I'm moving to Berlin next month", "I live in Paris"),
        ("I was born in Cali", "I live in Bogotá"),
        ("I gave up coffee", "I gave up alcohol"),
        ("Quit my job is the title of my favorite song", "I work at Acme"),
    ],
)
def test_a_look_alike_retires_nothing(old: str, new: str) -> None:
    assert not replaces(old, new)


@pytest.mark.parametrize("pair", PAIRS["apart"], ids=lambda pair: pair[0])
def test_an_unrelated_statement_retires_nothing(pair: list[str]) -> None:
    assert not replaces(*pair)
    assert not replaces(*reversed(pair))


@pytest.mark.ledger("X3", "A12")
def test_a_move_replaces_the_old_home_and_gives_the_reason() -> None:
    old = _auto("I live in Portland")
    (stored,) = _told(old, _put("I moved to Seattle"))
    assert stored.replaces == (old.id,)
    assert stored.reason == "moved, as of 2026-03-10"


def test_all_old_values_of_a_slot_are_retired() -> None:
    old = [_auto("I live in Portland"), _auto("The user lives in Portland"), _auto("I love Portland")]
    (stored,) = _told(old, _put("I moved to Seattle"))
    assert stored.replaces == (old[0].id, old[1].id)


@pytest.mark.parametrize(
    "more",
    [
        {"pinned": True},
        {"scope": BOB},
        {"kind": "summary"},
        {"status": "forgotten"},
    ],
    ids=["pinned", "another scope", "another kind", "not live"],
)
def test_a_memory_outside_the_scope_is_not_replaced(more: dict[str, object]) -> None:
    (stored,) = _told(_auto("I live in Portland", **more), _put("I moved to Seattle"))
    assert stored.replaces == ()


def test_a_new_value_with_less_trust_retires_nothing() -> None:
    (stored,) = _told(_auto("I live in Portland"), _put("I moved to Seattle", trust=0.2))
    assert stored.replaces == ()


def test_a_clear_change_supersedes_an_explicit_memory() -> None:
    old = a_memory("I live in Portland", origin="explicit")
    (stored,) = _told(old, _put("I moved to Seattle"))
    assert stored.replaces == (old.id,)


def test_an_explicit_memory_is_not_replaced_because_of_similarity() -> None:
    old = a_memory("I love mountain hiking", origin="explicit")
    (stored,) = _told(old, _put("I enjoy hiking in the mountains"), cosine=NEAR, merge_same="replace")
    assert (stored.replaces, stored.text) == ((), old.text)


def _read(old: Memory, new: Put, *, message: str = "") -> list[Put]:
    """Reconcile a new memory with the nearest known one, with the included sentence reader."""
    return reconcile(
        [new],
        [[Neighbor(memory=old, cosine=0.6, nearest=True)]],
        ReconcileRules(),
        calibration=None,
        reader=make_sentence_reader(DEFAULT_READER),
        said={"msg_new": message or new.text},
    )


def test_a_rule_that_misreads_whose_statement_it_is_ends_nothing() -> None:
    new = _put("se jubiló de maestra hace dos años", language="es")
    message = "mi suegra está insoportable. se jubiló de maestra hace dos años y le sobra tiempo"
    assert [put.replaces for put in _read(_auto("es desarrolladora en una fintech"), new, message=message)] == [()]


def test_what_the_user_asked_to_remember_is_not_ended_by_what_hardly_concerns_it() -> None:
    old = a_memory("mi cumple es el 3 de marzo, el año pasado hasta mi madre se lo olvidó", origin="explicit", language="es")
    assert [put.replaces for put in _read(old, _put("una galga que adoptamos el año pasado", language="es"))] == [()]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the boiler gets serviced in March.", "the oven broke and the repair man comes on Thursday"),
        ("la caldera se revisa en marzo de 2027", "se ha estropeado el horno y el jueves viene el técnico"),
    ],
)
def test_the_reader_alone_ends_an_explicit_memory_only_if_it_is_certain_and_a_word_is_shared(old: str, new: str) -> None:
    assert [put.replaces for put in _read(a_memory(old, origin="explicit"), _put(new))] == [()]
    assert [bool(put.replaces) for put in _read(_auto(old), _put(new))] == [True], "the reader takes it for a change"


def test_a_certain_change_that_names_the_thing_ends_an_explicit_memory() -> None:
    old = a_memory("the ladder hangs behind the boiler.", origin="explicit")
    (stored,) = _read(old, _put("The ladder is in the barn now, not behind the boiler anymore."))
    assert stored.replaces == (old.id,)


def test_a_change_that_the_rules_are_unsure_of_ends_the_memory_that_the_reader_is_surest_of() -> None:
    house, phone = (
        _auto("My house is number 512, Elm Road.", id="mem_house"),
        _auto("My phone number is 555 0134.", id="mem_phone"),
    )
    new = _put("I changed carriers and my number is 555 0288 now, the old one is dead.")
    related = [Neighbor(memory=house, close=True, nearest=True), Neighbor(memory=phone, close=True)]
    (put,) = reconcile([new], [related], ReconcileRules(), calibration=None, reader=make_sentence_reader(DEFAULT_READER), said={})
    assert put.replaces == ("mem_phone",)


@pytest.mark.parametrize(("cosine", "ended"), [(0.45, ("mem_tariff",)), (0.5, ())])
def test_of_two_doubtful_endings_the_far_more_similar_memory_ends(cosine: float, ended: tuple[str, ...]) -> None:
    tariff = _auto(
        "We're on a fixed tariff with British Gas till next spring (2027), three bed semi in Kettering.", id="mem_tariff"
    )
    dryer = _auto("My wife Parveen thinks it's the tumble dryer.", id="mem_dryer")
    new = _put(
        "Parveen made us switch, so we're with Octopus now, on that agile whatsit where the price changes every half hour."
    )
    related = [
        Neighbor(memory=tariff, close=True, nearest=True, cosine=0.54),
        Neighbor(memory=dryer, close=True, nearest=True, cosine=cosine),
    ]
    said = {"msg_new": f"{new.text} When should I run the dishwasher?"}
    put = reconcile([new], [related], ReconcileRules(), calibration=None, reader=make_sentence_reader(DEFAULT_READER), said=said)[
        -1
    ]
    assert put.replaces == ended


def test_the_rest_of_a_changed_memory_leads_to_the_message_that_changed_it() -> None:
    rest, new = _read(_auto("Vivo en Valparaíso con mi pareja.", language="es"), _put("Me mudé a Concepción.", language="es"))
    assert (rest.metadata, new.metadata) == ({SAID_LATER: [["msg_new", 0]]}, {})


def test_a_preset_can_switch_off_replacing() -> None:
    (stored,) = _told(_auto("I live in Portland"), _put("I moved to Seattle"), supersede=False)
    assert stored.replaces == ()


@pytest.mark.ledger("U8")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trabaja en Google", "es empleado de Google"),
        ("I live in Lyon", "The user lives in Lyon"),
        ("Vivo en Lyon", "I live in Lyon"),
        ("Mi color favorito es el azul", "El azul es mi color favorito"),
    ],
)
def test_a_paraphrase_refreshes_the_old_memory(old: str, new: str) -> None:
    memory = _auto(old, sources=("msg_old",))
    (stored,) = _told(memory, _put(new))
    assert content_hash(stored.kind, stored.key, stored.text) == content_hash(memory.kind, memory.key, memory.text)
    assert stored.sources == ("msg_new",)


@pytest.mark.ledger("U8")
def test_the_same_meaning_refreshes_only_when_it_is_near() -> None:
    memory = _auto("I love hiking in the mountains")
    new = _put("I really enjoy mountain hiking")
    assert _told(memory, new, cosine=NEAR)[0].text == memory.text
    assert _told(memory, new, cosine=0.80)[0].text == new.text
    assert _told(memory, new, cosine=NEAR, same_distance=None)[0].text == new.text


@pytest.mark.ledger("L5")
def test_a_similar_fact_replaces_the_old_one_if_the_preset_says_so() -> None:
    memory = _auto("I love hiking in the mountains")
    (stored,) = _told(memory, _put("I really enjoy mountain hiking"), cosine=NEAR, merge_same="replace")
    assert (stored.replaces, stored.text) == ((memory.id,), "I really enjoy mountain hiking")


@pytest.mark.parametrize("merge_same", ["refresh", "replace"])
@pytest.mark.parametrize("pair", PAIRS["alike"], ids=lambda pair: pair[1])
def test_a_look_alike_never_counts_as_the_same(pair: list[str], merge_same: str) -> None:
    memory = _auto(pair[0])
    (stored,) = _told(memory, _put(pair[1]), cosine=NEAR, merge_same=merge_same, supersede=False)
    assert (stored.text, stored.replaces) == (pair[1], ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I love tea", "She loves tea"),
        ("I have a horse", "I had a horse"),
        ("I know that Ana helps Luis", "I know that Luis helps Ana"),
        ("I eat bread", "I would eat bread"),
        ("Me gusta el pan", "Le gustaba el pan a ella"),
        ("I run before breakfast", "I run after breakfast"),
        ("I swim", "I never swim"),
    ],
)
def test_different_function_words_make_a_different_statement(old: str, new: str) -> None:
    (stored,) = _told(_auto(old), _put(new), cosine=NEAR)
    assert stored.text == new


def test_a_fuller_value_replaces_a_shorter_one() -> None:
    memory = _auto("I live in Portland")
    (stored,) = _told(memory, _put("I live in Portland Oregon"))
    assert stored.replaces == (memory.id,)
    assert stored.reason is not None
    assert stored.reason.startswith("stated again, with more detail")


def test_the_unchanged_part_of_a_double_statement_stays() -> None:
    memory = _auto("I live in Portland and work at Google", sources=("msg_old",))
    rest, moved = _told(memory, _put("I moved to Seattle"))
    assert (rest.text, rest.sources, rest.valid_from) == ("I work at Google", ("msg_old",), memory.valid_from)
    assert moved.replaces == (memory.id,)


@pytest.mark.parametrize(
    ("old", "new", "amended"),
    [
        (
            "My dentist appointment is on the 12th",
            "Actually it's the 14th, not the 12th",
            "My dentist appointment is on the 14th",
        ),
        ("La reunión con Ana es el lunes", "Perdón, es el martes, no el lunes", "La reunión con Ana es el martes"),
    ],
)
def test_a_bare_correction_amends_the_old_statement(old: str, new: str, amended: str) -> None:
    memory = _auto(old)
    (stored,) = _told(memory, _put(new))
    assert (stored.text, stored.replaces) == (amended, (memory.id,))


def test_a_correction_without_the_old_value_applies_only_to_a_recent_statement() -> None:
    memory = _auto("La reunión es el lunes")
    soon = _put("No, me equivoqué, es el martes", valid_from=AT + timedelta(minutes=1))
    assert _told(memory, soon)[0].replaces == (memory.id,)
    assert _told(memory, _put("No, me equivoqué, es el martes"))[0].replaces == ()


def test_an_appointment_without_a_name_is_replaced_only_if_there_is_just_one() -> None:
    ana, luis = _auto("The meeting with Ana is on Monday"), _auto("The meeting with Luis is on Tuesday")
    new = _put("The meeting was moved to Friday")
    assert _told(ana, new)[0].replaces == (ana.id,)
    assert _told([ana, luis], new)[0].replaces == ()


@pytest.mark.ledger("U8")
def test_a_key_is_spelled_as_the_scope_spells_it() -> None:
    old = _auto("Google", key="trabajo")
    (stored,) = _told(old, _put("guitarra", key="Empleo"), normalize_keys=True)
    assert stored.key == "trabajo"


def test_keys_stay_as_given_unless_a_preset_asks() -> None:
    (stored,) = _told(_auto("Google", key="trabajo"), _put("Acme", key="empleo"))
    assert stored.key == "empleo"


def test_a_new_value_under_a_synonym_of_the_key_retires_the_old() -> None:
    old = _auto("Lyon", key="ubicacion")
    (stored,) = _told(old, _put("París", key="ciudad"), normalize_keys=True)
    assert (stored.key, stored.replaces) == ("ubicacion", (old.id,))


def test_duplicates_in_a_batch_become_one_memory_with_both_sources() -> None:
    (stored,) = _told([], _put("I love tea", sources=("a",)), _put("i love tea!", sources=("b",)))
    assert stored.sources == ("a", "b")


def test_of_two_values_in_one_batch_the_later_one_is_stored() -> None:
    (stored,) = _told([], _put("I live in Portland"), _put("I moved to Seattle"))
    assert stored.text == "I moved to Seattle"
    assert stored.reason == "changed in the same batch"


def test_a_revision_of_a_memory_passes_unchanged() -> None:
    put = _put("I moved to Seattle", id="mem_9")
    assert _told(_auto("I live in Portland"), put) == [put]


def test_a_new_fact_passes_unchanged() -> None:
    put = _put("I play the cello")
    assert _told(_auto("I live in Portland"), put) == [put]


def test_a_calibration_maps_the_sources_scale_to_an_embedder() -> None:
    calibration = DocumentCalibration(near=0.90)
    assert calibration.nearest(0.15) == pytest.approx(0.90)
    assert calibration.nearest(0.0) == pytest.approx(1.0)
    assert not is_near(0.88, 0.15, calibration)
    assert is_near(0.88, 0.15, None)


@pytest.mark.long
@pytest.mark.weights
def test_the_default_embedder_is_calibrated_on_real_pairs(tmp_path: Path) -> None:
    memory = holdfast.open(tmp_path / "memory.db", worker="none")
    try:
        embedder = services(memory).embedding.embedder()
        assert embedder is not None
        cosines = {
            sort: [float(one @ other) for one, other in (embedder.embed(pair, role="document") for pair in pairs)]
            for sort, pairs in PAIRS.items()
        }
    except ModelError as error:
        pytest.skip(f"needs real weights: {error}")
    finally:
        memory.close()
    calibration = CALIBRATIONS[embedder.name]
    near = {sort: [is_near(cosine, 0.15, calibration) for cosine in found] for sort, found in cosines.items()}
    assert sum(near["same"]) >= 0.75 * len(near["same"])
    assert not any(near["apart"])
    merged = [
        pair
        for pair, is_close in zip(PAIRS["alike"], near["alike"], strict=True)
        if is_close and adds_nothing(pair[0], pair[1], detect_language(pair[0]))
    ]
    assert merged == []


@pytest.mark.ledger("X24")
def test_a_memory_that_a_model_replaces_keeps_the_part_that_still_holds() -> None:
    memory = _auto("The user lives in York with their aunt Ada")
    put = _put("The user moved to Leeds", replaces=(memory.id,))
    assert [each.text for each in _told(memory, put)] == ["The user lives with their aunt Ada", "The user moved to Leeds"]


def test_a_part_that_the_model_restates_is_not_added_again() -> None:
    memory = _auto("The user lives in York with their aunt Ada")
    put = _put("The user lives in Leeds with their aunt Ada", replaces=(memory.id,))
    assert [each.text for each in _told(memory, put)] == ["The user lives in Leeds with their aunt Ada"]
