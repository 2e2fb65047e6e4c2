"""Find out if the user is playing a role: the assistant's turn before begins with a stage direction, such as "*pours a drink*"."""

from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold

__all__ = ["is_staged"]

_STAGE_DIRECTION: Final = regex(r"\s*[*_](?![*_\s])[a-z][^*_\n]{6,160}[*_](?![*_])")
_OUT_OF_CHARACTER: Final = regex(
    r"\b(?:ooc|out of character|out of the game|paus(?:e|ing)|(?:stop|end|quit|leave) (?:playing|the (?:game|scene|story|role ?play))|irl|in real life|for real|seriously|scene over"
    r"|fuera de (?:personaje|papel|juego)|(?:dejemos|deja|paremos|para) (?:de jugar|el juego|la partida)|en serio|en la vida real|pausa|ya en serio)\b|\(\("
)
"""Matches words with which the user leaves the role, in lower case and without accents."""


def is_staged(text: str, *, before: str) -> bool:
    """Return True if a message belongs to a role play, so that the user states nothing about themselves.

    ``before`` is the assistant's turn before the message.
    """
    return _STAGE_DIRECTION.match(fold(before)) is not None and _OUT_OF_CHARACTER.search(fold(text)) is None
