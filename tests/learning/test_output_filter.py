"""A model's text that is no proper memory is rejected, so it replaces no memories. Valid merged texts pass, however short."""

import time

import pytest

from holdfast.learning.ask_model import load_prompt
from holdfast.learning.output_filter import rejection_reason

TWO = ["Ana moved to Lisbon in March 2024 for her new job at the port.", "Ana's flat in Lisbon costs 900 euros a month."]
DOS = ["Ana se mudó a Lisboa en marzo de 2024 por su trabajo en el puerto.", "El piso de Ana en Lisboa cuesta 900 euros al mes."]

REFUSED = [
    ("", TWO, "empty"),
    (" \n\t", TWO, "empty"),
    ("...", TWO, "empty"),
    ("Lisbon", TWO, "one word"),
    ("Lisboa.", DOS, "one word"),
    ("Ana in Lisbon", TWO, "far shorter"),
    ("Ana en Lisboa", DOS, "far shorter"),
    ("Ana moved to Lisbon. " * 30, TWO, "characters"),
    ("Ana works as a doctor in Rome and has many other plans for her new life there. " * 3, ["Ana."], "times longer"),
    ("I'm sorry, but I can't help with merging these personal memories about Ana.", TWO, "refusal"),
    ("I’m sorry, I cannot merge memories about Ana and Lisbon for you.", TWO, "refusal"),
    ("I am unable to assist with this request about Ana, Lisbon and money.", TWO, "refusal"),
    ("As an AI language model, I have no access to Ana or Lisbon.", TWO, "refusal"),
    ("Lo siento, no puedo unir estos recuerdos de Ana en Lisboa.", DOS, "refusal"),
    ("Lo siento, pero no puedo ayudarte con los recuerdos de Ana.", DOS, "refusal"),
    ("Como modelo de lenguaje, no guardo datos de Ana ni de Lisboa.", DOS, "refusal"),
    ("Here is the merged memory: Ana lives in Lisbon and pays 900 euros.", TWO, "addresses"),
    ("Sure! Here's your updated text: Ana lives in Lisbon, 900 euros.", TWO, "addresses"),
    ("Claro, aquí tienes el texto unido: Ana vive en Lisboa, 900 euros.", DOS, "addresses"),
    ("<p>Ana lives in Lisbon</p><p>Flat: 900 euros a month</p>", TWO, "HTML"),
    ("<!DOCTYPE html><title>Ana lives in Lisbon, flat 900 euros</title>", TWO, "HTML"),
    ("<memories> Ana moved to Lisbon, flat 900 euros </memories>", TWO, "placeholders"),
    ("{memories} Ana moved to Lisbon, flat 900 euros", TWO, "placeholders"),
    ('{"text": "Ana lives in Lisbon, flat 900 euros"}', TWO, "JSON"),
    ("```\nAna lives in Lisbon, flat 900 euros\n```", TWO, "JSON"),
    (f"Ana lives in Lisbon. {load_prompt('repair', 'en').user.splitlines()[1]}", TWO, "repeats the prompt"),
    ("Ana vive en Lisboa y paga 900 euros al mes por el piso.", TWO, "another language"),
    ("Ana lives in Lisbon, where she pays 900 euros for the flat.", DOS, "another language"),
    ("安娜住在里斯本，公寓每月九百欧元。", TWO, "another language"),
    ("Анна живёт в Лиссабоне и платит 900 евро за квартиру.", DOS, "another language"),
    ("Ana lives in Lisbon Lisbon Lisbon Lisbon Lisbon", TWO, "repeats itself"),
    ("Ana likes the port. Ana likes the port. Ana likes the port. Ana likes the port.", TWO, "repeats itself"),
    ("Ana moved to Lisbon, 900 euros aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", TWO, "repeats itself"),
]

FINE = [
    ("Ana moved to Lisbon in March 2024 for a job at the port; her flat costs 900 euros a month.", TWO),
    ("Ana lives in Lisbon; port job; 900 €.", TWO),
    ("Ana vive en Lisboa desde marzo de 2024 y paga 900 euros al mes.", DOS),
    ("Likes tea.", ["The user likes tea.", "User likes tea", "She really likes tea a lot."]),
    ("Le gusta el té.", ["Le gusta el té", "A la usuaria le gusta el té."]),
    ("Vegan", ["Vegan", "Vegana, vegan"]),
    ("Lives in Madrid", ["Lives in Paris"]),
    ("Uses Neovim.", ["Editor: Neovim"]),
    ("No longer vegan", ["Ana is vegan and eats no eggs."]),
    ("I cannot eat gluten or nuts.", ["I can't eat gluten.", "I cannot eat nuts."]),
    ("No puedo comer gluten ni nueces.", ["No puedo comer gluten.", "Tampoco como nueces."]),
    ("I'm sorry, I cannot come on Friday, she said.", ["She said: I'm sorry, I cannot come on Friday."]),
    ("Here is the key place: under the mat at 5 Elm Road.", ["The key is under the mat.", "Address: 5 Elm Road."]),
    ("Reads <b>bold</b> HTML mail from Bob.", ["Bob's mail was <b>bold</b>.", "Bob sends HTML mail."]),
    ("Trabaja en Google como ingeniera de datos.", ["Works at Google", "Trabaja de ingeniera de datos en Google"]),
    ("Ana prefers 'Los Angeles' over 'Las Vegas'.", ["Ana likes Los Angeles.", "Ana dislikes Las Vegas."]),
    ("住在里斯本，在港口工作。", ["安娜住在里斯本。", "她在港口工作。"]),
    (
        "Her sister Mía, her brother Leo and her dog Kira live in Lisbon, Porto and Faro.",
        ["Her sister Mía lives in Lisbon.", "Leo: Porto. Kira: Faro."],
    ),
    ("Ana's phone is 555 555 555 555.", ["Ana's phone: 555 555 555 555"]),
    ("Likes x < y puzzles and {sets}.", ["Likes x < y puzzles.", "Likes {sets}"]),
    (
        "La Paz and Los Cabos are her places to be.",
        ["Her places to be are La Paz and Los Cabos.", "She likes places by the sea."],
    ),
    ("Se dejó el Mac en The Hub, de Soho.", ["El Mac se quedó en The Hub.", "The Hub está en Soho."]),
    ("Anything", []),
    ("Tea.", ["Tea.", "Likes green tea"]),
]


@pytest.mark.parametrize(("text", "replaces", "why"), REFUSED)
def test_a_text_that_is_not_a_memory_is_refused(text: str, replaces: list[str], why: str) -> None:
    reason = rejection_reason(text, replaces=replaces, max_characters=400)
    assert reason is not None
    assert why in reason


@pytest.mark.parametrize(("text", "replaces"), FINE)
def test_an_honest_merge_passes(text: str, replaces: list[str]) -> None:
    assert rejection_reason(text, replaces=replaces, max_characters=400) is None


def test_a_short_overview_of_very_much_passes() -> None:
    many = [
        f"On day {n} the user met {name} and talked about {topic} at the {place}." for n, (name, topic, place) in enumerate(_DAYS)
    ]
    overview = "The user meets many friends every day in cafés, parks and shops, mostly about work, music, food and travel plans."
    assert rejection_reason(overview, replaces=many, max_characters=300) is None


_DAYS = [(f"friend{n}", f"topic{n}", f"place{n}") for n in range(200)]


def test_any_text_is_judged_in_bounded_time() -> None:
    began = time.thread_time()
    for text in ("<" * 200_000, "I'm sorry " * 20_000, "{" * 200_000, "a " * 100_000, "here is " * 20_000, "\ud800 x" * 50_000):
        rejection_reason(text, replaces=[text[:1000], "Ana."], max_characters=1_000_000)
    assert time.thread_time() - began < 10
