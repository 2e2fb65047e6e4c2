"""What happens to one person or thing does not change another one of the same sort."""

import pytest

from holdfast.learning.changes.end_reason import replaces
from holdfast.learning.changes.things.other_things import are_different


@pytest.mark.ledger("X24")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My travel insurance is with Axa.", "I've switched the pet insurance to Petplan."),
        ("My vet appointment is on 4 May.", "My physio appointment is on 6 May now."),
        ("The train to York leaves at 8.", "My train to Hull has been moved to 9."),
        ("My call with Ines is on Monday.", "I cancelled my call with Sven."),
        ("My night class is on Mondays.", "I've given up the sewing class."),
        ("Tengo cita con el podólogo el 4 de mayo.", "Me han cambiado la cita del ginecólogo al 6 de mayo."),
        ("El tren a Soria sale el 3 de mayo.", "Cancelé el tren a Huesca."),
        ("Tengo una clase con Irene el lunes.", "Se ha cambiado la clase con Bruno."),
        ("My niece Uma swims on Fridays.", "My nephew has given up swimming."),
        ("My big brother lives in Leeds.", "My little brother has moved to York."),
        ("Mi tía Eva juega al tenis.", "Mi tío ha dejado el tenis."),
        ("Mi hermana mayor vive en Lugo.", "Mi hermana menor se ha mudado a Vigo."),
    ],
)
def test_another_person_or_thing_of_the_same_sort_is_different(old: str, new: str) -> None:
    assert are_different(old, new)


@pytest.mark.ledger("X24")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The train to York leaves at 8.", "The train to York has been moved to 9."),
        ("The train to York leaves at 8.", "I moved the train to 9."),
        ("My call with Ines is on Monday.", "I moved my call to Friday."),
        ("I work in the Lyon office.", "I moved from the Lyon office to the Porto office."),
        ("I'm on the night shift.", "I've moved to the day shift."),
        ("I drink oat milk.", "I've switched to almond milk."),
        ("My favorite tea is rooibos.", "Rooibos is out, my fav tea is mint now."),
        ("My old car is a Golf.", "My new car is a Polo."),
        ("My vet appointment is on 4 May.", "My appointment has been cancelled."),
        ("Mi cita con el podólogo es el lunes.", "He cambiado la cita al martes."),
        ("Mi tren a Soria sale a las 8.", "Mi tren a Soria sale ahora a las 9."),
        ("El tren sale a las 7.", "El tren sale ahora a las 9."),
        ("El perro duerme en la cocina.", "El Rulo ahora duerme en el sofá."),
        ("My kid Tom plays hockey.", "My son has given up hockey."),
        ("My mother lives in Leeds.", "My mum has moved to York."),
        ("My older sister lives in Leeds.", "My older sister has moved to York."),
    ],
)
def test_a_new_value_and_the_same_thing_are_not_different(old: str, new: str) -> None:
    assert not are_different(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My older sister Pia lives in Leeds.", "My younger sister has moved to York."),
        ("My afternoon class is on Mondays.", "My evening class has been moved to Fridays."),
        ("I swim on Tuesdays.", "I didn't swim yesterday."),
        ("I play squash on Fridays.", "I didn't play squash last week."),
        ("I have yoga on Mondays at 2.", "Yoga next Monday is at 4 instead, just this once."),
        ("Juego al pádel los martes.", "No juego al pádel este martes."),
        ("La clase de yoga es los lunes a las 7.", "La clase de yoga pasa al martes, solo por esta vez."),
    ],
)
def test_another_relative_and_a_single_occasion_end_nothing_by_rules(old: str, new: str) -> None:
    assert not replaces(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I swim on Tuesdays.", "I stopped swimming yesterday."),
        ("Bebo café cada mañana.", "Desde hoy ya no bebo café."),
        ("My husband Theo is a vet.", "Theo and I have separated."),
        ("My wife Nora is a judge.", "My wife and I got divorced."),
        ("Mi mujer Clara es jueza.", "Clara y yo nos hemos divorciado."),
        ("I work at Greggs in Wigan.", "I got sacked from Greggs."),
        ("I work at Greggs.", "I was given the boot."),
        ("Trabajo en una panadería.", "Me han echado de la panadería."),
    ],
)
def test_a_parting_and_a_dismissal_end_a_statement_by_rules(old: str, new: str) -> None:
    assert replaces(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My husband Theo is a vet.", "Tom and Ann have separated."),
        ("My husband Theo is a vet.", "Ann and I have separated."),
        ("Trabajo en una panadería.", "Me han echado del coro."),
        ("Trabajo en una panadería.", "Me han echado de menos."),
    ],
)
def test_a_parting_or_a_dismissal_of_somebody_else_ends_nothing(old: str, new: str) -> None:
    assert not replaces(old, new)
