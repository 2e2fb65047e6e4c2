"""Extract the details of a text: names, numbers, dates, times, amounts of money, addresses and titles.

A summary must keep the details. Two spellings of one thing yield the same detail: "14 March", "March 14th" and
"el 14 de marzo" are one detail, and so are "€42", "42 euros" and "42,00 €".
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS
from holdfast.text.names import find_names
from holdfast.text.wordlists import DAYS, MONTHS, NUMBERS, UNITS

_STOP_WORDS = STOP_WORDS["en"] | STOP_WORDS["es"]
_CODE = regex(r"```.*?(?:```|\Z)", re.DOTALL)
_NUM = r"\d{1,3}(?:[.,\u00a0 ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?"
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_PM_PHRASES = {"pm", "p.m", "de la tarde", "de la noche", "in the afternoon", "in the evening", "at night"}
_PART = r"[ap]\.?m\b|de la (?:tarde|noche|mañana)|in the (?:morning|afternoon|evening)|at night"
_MAGNITUDES = {
    "k": "k",
    "mil": "k",
    "thousand": "k",
    "m": "m",
    "million": "m",
    "millon": "m",
    "millones": "m",
    "mm": "m",
    "bn": "bn",
    "billion": "bn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One detail of a text, such as a name, a number or a date, in three forms.

    ``key`` is the normalized form, ``short`` the detail as written, and ``full`` the detail with its context. The context is
    the noun that a number counts: in "12 guests", ``short`` is "12" and ``full`` is "12 guests". For other details, such as
    dates, ``full`` equals ``short``.
    """

    key: str
    short: str
    full: str


def details(text: str) -> frozenset[str]:
    """Return the details of a text, such as names, numbers and dates, in normalized form.

    The normalized form is in lower case and without accents, and months are in English.
    """
    return frozenset(find_details(text))


def find_details(text: str) -> dict[str, Detail]:
    """Return the details of a text, keyed by their normalized form. If a detail has several spellings, the first one is kept.

    The order of the details has no meaning.
    """
    rest = _CODE.sub(" ", text)
    found: dict[str, Detail] = {}
    for pattern, key_of in _PATTERNS:
        pieces: list[str] = []
        last = 0
        for match in pattern.finditer(rest):
            key = key_of(match)
            if not key:
                continue
            short = match[0].strip(" ,.;:")
            found.setdefault(key, Detail(key=key, short=short, full=_in_context(rest, match, short)))
            pieces += (rest[last : match.start()], "\x00" * len(match[0]))
            last = match.end()
        rest = "".join([*pieces, rest[last:]])
    for name in find_names(rest):
        key = fold(name)
        found.setdefault(key, Detail(key=key, short=name, full=name))
    return found


def missing(wanted: Iterable[str], text: str) -> set[str]:
    """Return the wanted details that a text lacks. A name is not missing if its words occur anywhere in the text."""
    have = details(text)
    words = f" {_words(text)} "
    return {key for key in wanted if key not in have and (any(c.isdigit() for c in key) or f" {_words(key)} " not in words)}


def kept(source: str, summary: str) -> float:
    """Return the share of a text's details that its summary keeps, from 0 to 1. The share is 1 if the text has no details."""
    wanted = details(source)
    return 1.0 - len(missing(wanted, summary)) / len(wanted) if wanted else 1.0


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text)))


def _in_context(text: str, match: re.Match[str], short: str) -> str:
    """Return a number with the noun next to it: "12 guests", "gate 14". Other details are returned unchanged.

    ``short`` is the detail as written, and ``match`` shows its position in the text.
    """
    if not short.isdigit():
        return short
    after = re.match(r"[ -]([^\W\d_]{3,})", text[match.end() : match.end() + 30])
    if after and fold(after[1]) not in _STOP_WORDS and after[1].islower():
        return f"{short} {after[1]}"
    before = re.search(r"([^\W\d_]{3,}) $", text[max(0, match.start() - 30) : match.start()])
    if before and fold(before[1]) not in _STOP_WORDS and before[1].islower():
        return f"{before[1]} {short}"
    return short


def _address(match: re.Match[str]) -> str:
    return fold(match[0]).rstrip("./")


def _title(match: re.Match[str]) -> str:
    inner = next(group for group in match.groups() if group)
    return fold(inner) if len(inner.split()) <= 8 and inner[-1] not in ".!,;:…" else ""


def _iso_date(match: re.Match[str]) -> str:
    return _date(int(match[3]), int(match[2]), match[1])


def _slash_date(match: re.Match[str]) -> str:
    first, second, year = int(match[1]), int(match[2]), match[3] or ""
    year = f"20{year}" if len(year) == 2 else year
    if first > 12 >= second:
        return _date(first, second, year)
    if second > 12 >= first:
        return _date(second, first, year)
    return match[0]


def _date(day: int, month: int, year: str) -> str:
    names = list(dict.fromkeys(MONTHS.values()))
    return f"{day} {names[month - 1]} {year}".strip() if 1 <= month <= 12 and 1 <= day <= 31 else ""


def _worded_date(match: re.Match[str]) -> str:
    month = MONTHS.get(fold(match["month"]))
    day = int(match["day"])
    return f"{day} {month} {match['year'] or ''}".strip() if month and 1 <= day <= 31 else ""


def _month(match: re.Match[str]) -> str:
    word, year = match["month"], match["year"]
    plain = fold(word)
    if not year and (plain in ("may", "march") or len(plain) <= 4) and (plain != "mayo") and not _is_monthly(match):
        return ""
    return f"{MONTHS[plain]} {year or ''}".strip()


def _is_monthly(match: re.Match[str]) -> bool:
    """Return True if the match is a month ("in May", "June"), False if it is another word ("you may", "march on")."""
    word = match["month"]
    if not word[0].isupper():
        return False
    before = match.string[max(0, match.start() - 12) : match.start()].casefold()
    in_list = before.endswith((", ", ": ")) and match.string[match.end() : match.end() + 1] in (",", ".", "")
    dated = re.search(r"\b(?:in|of|by|since|until|next|last|this|early|late|mid|till)[ -]$", before) is not None
    return dated or in_list or fold(word) in ("june", "july")


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if (match["part"] or "").casefold() in _PM_PHRASES and hour < 12:
        hour += 12
    return f"{hour}:{minute:02}" if hour <= 24 and minute < 60 else ""


def _at_hour(match: re.Match[str]) -> str:
    word = fold(match["hour"])
    hour = int(word) if word.isdigit() else 1 if word == "una" else NUMBERS.get(word, 99)
    past = {"media": 30, "cuarto": 15}.get(fold(match["past"] or ""), 0)
    if (match["part"] or "").casefold() in _PM_PHRASES and hour < 12:
        hour += 12
    return f"{hour}:{past:02}" if hour <= 24 else ""


def _phone(match: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", match[0])
    return digits if 7 <= len(digits) <= 15 else ""


def _money(match: re.Match[str]) -> str:
    return f"{_number(match['num'])}{_MAGNITUDES.get(fold(match['many'] or ''), '')} {match['sign']}"


def _measure(match: re.Match[str]) -> str:
    unit = "%" if "cient" in match["unit"] else UNITS.get(fold(match["unit"]))
    many = _MAGNITUDES.get(fold(match["many"] or ""), "")
    return f"{_number(match['num'])}{many} {unit}" if unit else ""


def _worded_measure(match: re.Match[str]) -> str:
    number, unit = NUMBERS.get(fold(match[1])), UNITS.get(fold(match[2]))
    return f"{number} {unit}" if number and unit else ""


def _plain(match: re.Match[str]) -> str:
    many = _MAGNITUDES.get(fold(match["many"] or ""), "")
    return f"{_number(match['num'])}{many}"


def _number(spelled: str) -> str:
    """Return a number without thousands separators or trailing zeros, with a decimal point."""
    plain = re.sub(r"\s", "", spelled)
    if re.fullmatch(r"[1-9]\d{0,2}(?:[.,]\d{3})+", plain):
        return re.sub(r"[.,]", "", plain)
    whole, _, decimals = re.sub(r"[.,](?=.*[.,])", "", plain).replace(",", ".").partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _folded(match: re.Match[str]) -> str:
    return fold(match[0])


def _day(match: re.Match[str]) -> str:
    return DAYS.get(fold(match[0]), "")


def _patterns() -> Iterator[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    many = r"(?P<many>k|mil|thousand|M|millones|mill[oó]n|million|bn|billion)"
    year = rf"(?:\.?(?:,| de| del)? (?P<year>{_YEAR}))?\b"
    days = "|".join((*DAYS, "miércoles", "sábado", "sábados"))
    for source, key_of in (
        (r"https?://[^\s<>\"'«»)\]]+(?<![.,;:!?])|\bwww\.[^\s<>\"')\]]+(?<![.,;:!?])", _address),
        (r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", _address),
        (
            r"(?<![\w/.-])[\w/-]{1,120}(?:\.[\w-]{1,40}){0,4}\.(?:pdf|docx?|xlsx?|pptx?|csv|txt|md|py|js|ts|json|toml|ya?ml|html|png|jpe?g|zip|sql|db|mp[34])\b",
            _folded,
        ),
        (r"(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,6}(?:com|org|net|io|es|dev|ai|eu|mx|ar|uk|edu|gov|app)\b(?:/\S*\w)?", _address),
        (r"\"([A-ZÁÉÍÓÚÑ¿¡\d][^\"\n]{1,60})\"|“([A-ZÁÉÍÓÚÑ¿¡\d][^”\n]{1,60})”|«([A-ZÁÉÍÓÚÑ¿¡\d][^»\n]{1,60})»", _title),
        (r"\b(\d{4})-(\d{2})-(\d{2})\b", _iso_date),
        (r"\b(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})\b(?![.,]?\d)", _slash_date),
        (r"\b(\d{1,2})/(\d{1,2})()\b(?!/)", _slash_date),
        (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|º|\.º)?(?: of| de)? (?P<month>{_MONTH})\b{year}", _worded_date),
        (rf"\b(?P<month>{_MONTH})\b\.? (?:the )?(?P<day>\d{{1,2}})(?!:|\d| ?[ap]\.?m)(?:st|nd|rd|th)?\b{year}", _worded_date),
        (rf"\b(?P<month>{_MONTH})\b{year}", _month),
        (rf"\b(?:{days})\b", _day),
        (rf"\b(?P<hour>\d{{1,2}})[:.](?P<minute>[0-5]\d)(?: ?h(?:rs?)?\b)? ?(?P<part>{_PART})", _clock),
        (r"\b(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?: ?h(?:rs?)?\b)?(?P<part>)", _clock),
        (rf"\b(?P<hour>\d{{1,2}})(?P<minute>) ?(?P<part>{_PART})", _clock),
        (r"\b(?P<hour>\d{1,2})(?P<minute>) (?:o'clock|o’clock)(?P<part>)", _clock),
        (
            rf"\ba las? (?P<hour>\d{{1,2}}|una|{'|'.join(NUMBERS)})\b(?![.,]?\d)(?: y (?P<past>media|cuarto))?(?: (?P<part>de la (?:tarde|noche|mañana)))?",
            _at_hour,
        ),
        (r"(?<![\w.,])\+?\(?\d(?:[ ()-]?\d){6,14}\b(?![.,]\d)", _phone),
        (rf"(?P<sign>[€$£]) ?(?P<num>{_NUM}) ?{many}?\b", _money),
        (
            rf"(?<![\w.])(?P<num>{_NUM}) ?(?:{many}\b(?: de)?)?[ -]?(?P<unit>€|\$|£|%|°[CF]?|por ciento|m²|[^\W\d_]+2?)(?!\w)",
            _measure,
        ),
        (r"\bv(\d+(?:\.\d+)+)\b", lambda match: match[1]),
        (r"(?<![\w.])\d+(?:\.\d+){2,}\b", _folded),
        (r"\b(?=[^\W_]*\d)(?=[^\W_]*[^\W\d_])[^\W_]+(?:-[^\W_]*\d[^\W_]*)*\b", _folded),
        (r"\b[A-Z]{2,}-\d+\b", _folded),
        (rf"(?<![\w.])(?P<num>{_NUM})(?: ?{many}\b)?", _plain),
        (rf"\b({'|'.join(NUMBERS)})[ -]([^\W\d_]+)\b", _worded_measure),
    ):
        # Patterns where case matters ("Title", "3M") require it themselves.
        exact = key_of is _title or r"[A-Z]{2,}" in source
        yield regex(source, 0 if exact else re.IGNORECASE), key_of


_PATTERNS = tuple(_patterns())
