"""The words around a name show whether it is a person or a place."""

import pytest

from holdfast.text.name_kinds.classify import kind_of_name


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Tindra", "His niece Tindra plays handball", "person"),
        ("Vilhelm", "Had lunch with Vilhelm", "person"),
        ("Adeyemi", "Dr. Adeyemi is the dentist", "person"),
        ("Itziar", "Su vecina Itziar tiene dos gatos", "person"),
        ("Tromsø", "Moved to Tromsø last year", "place"),
        ("Cuenca", "Nació en Cuenca", "place"),
        ("Gdynia", "Has a flat near Gdynia", "place"),
        ("Voltmeyer", "Works at Voltmeyer", "other"),
        ("Salamanca", "Two cousins visited Salamanca", "place"),
        ("Salamanca", "Sus primos visitaron Salamanca", "place"),
        ("Hvolsvöllur", "Mis tíos visitaron Hvolsvöllur", "place"),
        ("Benedikta", "Mis tíos visitaron a Benedikta", "person"),
        ("Benedikta", "Ate with Torvald and Benedikta", "person"),
        ("Ruritania", "We drove from Ruritania to Elbonia", "place"),
        ("Elbonia", "We drove from Ruritania to Elbonia", "place"),
        ("Novabank", "My bank is Novabank", "other"),
        ("Novabank", "Trabaja en Novabank", "other"),
        ("Kolmarski", "Her aunts visited Kolmarski", "other"),
        ("Kwame", "Got a letter from Kwame", "other"),
    ],
)
def test_the_words_around_a_name_show_its_kind(name: str, text: str, kind: str) -> None:
    assert kind_of_name(name, [text]) == kind


def test_all_texts_with_a_name_count_together() -> None:
    assert kind_of_name("Bergen", ["Letter from Bergen", "Drove to Bergen"]) == "place"
